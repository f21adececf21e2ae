"""A dry run: everything is done in one transaction, and then nothing of it has happened."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType

from clawkit.memory.store.database import Connection, Database, Unit


class _Over(Exception):
    """Ends the transaction so that it is undone."""


class Trial:
    """A database on which one Being can be changed, until it is left."""

    def __init__(self, database: Database, being: int) -> None:
        self._database = database
        self._transaction = database.write(being)
        self._unit: Unit | None = None

    @property
    def address(self) -> str:
        return self._database.address

    def __enter__(self) -> Database:
        self._unit = self._transaction.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._unit = None
        if error is not None:
            self._transaction.__exit__(kind, error, trace)
            return
        over = _Over()
        try:
            self._transaction.__exit__(_Over, over, None)
        except _Over:
            return

    @contextmanager
    def read(self, being: int) -> Generator[Unit]:
        assert self._unit is not None
        assert self._unit.being == being
        yield self._unit

    def write(self, being: int) -> AbstractContextManager[Unit]:
        return self.read(being)

    def jot(self, being: int) -> AbstractContextManager[Unit]:
        return self.read(being)

    def registry(self, *, write: bool = False) -> AbstractContextManager[Connection]:
        return self._database.registry(write=write)

    @contextmanager
    def patrolling(self, being: int) -> Generator[bool]:  # noqa: ARG002 - no other writes now
        yield True

    def probe(self) -> None:
        self._database.probe()

    def grow(self) -> None:
        """Nothing stays that could grow."""

    def scrub(self) -> str:
        """Nothing is deleted here."""
        return ""

    def close(self) -> None:
        """The database belongs to somebody else."""
