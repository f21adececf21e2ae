"""The Beings of one store: created, found, opened; how much each may hold, and be called.

What would be too much is refused before it is kept, and whole: nothing that is there goes for it,
and nothing is half there. Who forgets something may always do so.
"""

from __future__ import annotations

import logging
import time
import unicodedata
import uuid
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import BeingError, QuotaError, StoreError
from clawkit.memory.model_keys import LentKeys
from clawkit.memory.records import Being
from clawkit.memory.store import beings, jobs
from clawkit.text.counts import counted

if TYPE_CHECKING:
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.memory.job_worker import JobWorker
    from clawkit.memory.memory import Memory
    from clawkit.store.database import Connection, Database, Unit

DEFAULT_BEING = "assistant"
"""The Being that the assistant and the commands use where none is named."""


def _is_plain(name: str) -> bool:
    """Whether a name is letters and digits of any language, and what stands between them."""
    return name[:1].isalnum() and all(
        one in " .'’_-" or unicodedata.category(one)[0] in "LMN" for one in name
    )


class BeingStore:
    """Everything that one process needs to serve the Beings of a store."""

    def __init__(
        self,
        database: Database,
        embedding: str = "",
        *,
        embedding_key: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.database = database
        self.clock = clock
        self._embedding = embedding
        self._embedding_key = embedding_key
        self.lent = LentKeys()
        self.limited = LimitedWrites(database)
        self.calls = CallCounter(database, clock)

    @cached_property
    def embedder(self) -> Embedder | None:
        """What turns texts into vectors here; None where only keywords are wanted."""
        from clawkit.memory.embed.embedder import DEFAULT
        from clawkit.memory.embed.factory import embedder

        return embedder(self._embedding or DEFAULT, key=self._embedding_key)

    @cached_property
    def worker(self) -> JobWorker:
        """Does the jobs of this store that nobody else does, in threads of its own."""
        from clawkit.memory.job_worker import JobWorker

        return JobWorker(self)

    def create(self, name: str, being_id: str | None = None) -> Being:
        """A new Being that remembers nothing yet."""
        being_id = being_id or str(uuid.uuid4())
        if not name.strip():
            raise BeingError("a Being needs a name").of_usage()
        if not _is_plain(name.strip()):
            raise BeingError(
                f"{name!r:.80} cannot name a Being: take letters and digits, and between them "
                "spaces, '-', '_', '.' or an apostrophe"
            ).of_usage()
        with self.database.registry(write=True) as connection:
            if beings.by_id(connection, being_id) is not None:
                raise BeingError(f"there is a Being with the id {being_id} already")
            return beings.create(connection, being_id, name.strip(), self.clock())

    def called(self, name: str) -> Being:
        """The Being of that name, made if there is none."""
        with self.database.registry() as connection:
            found = beings.by_name(connection, name)
        if found is not None:
            return found
        try:
            return self.create(name)
        except BeingError:  # another process may have made it just now
            with self.database.registry() as connection:
                found = beings.by_name(connection, name)
            if found is None:
                raise
            return found

    def every(self) -> list[Being]:
        with self.database.registry() as connection:
            return beings.every(connection)

    def by_id(self, being_id: str) -> Being | None:
        with self.database.registry() as connection:
            return beings.by_id(connection, being_id)

    def find(self, called: str) -> Being:
        """The Being of that id or name."""
        with self.database.registry() as connection:
            found = beings.by_id(connection, called) or beings.by_name(connection, called)
        if found is None:
            raise BeingError(
                f"there is no Being called {called!r} in {self.database.address}: "
                "`claw being list` shows those that are there, `claw being create` makes one"
            )
        return found

    def default(self) -> Being:
        """The person's own Being, made when first needed."""
        return self.called(DEFAULT_BEING)

    def delete(self, being: Being) -> None:
        """Forget a Being and all that belongs to it; nothing brings it back but an export."""
        with self.database.registry(write=True) as connection:
            beings.delete(connection, being.n)

    def open(self, being: Being) -> Memory:
        from clawkit.memory.memory import Memory

        return Memory(self, being)

    def want(self, being: Being, kind: str, llm_key: str = "") -> None:
        """Ask for a job; it is done by this process's worker if that runs, or by another's.

        A model key serves that one job. Other processes leave it to this one for a while, as they
        do not have the key; where no worker runs here, the key is not kept.
        """
        now = self.clock()
        claimant, until = "", 0.0
        if llm_key and "worker" in self.__dict__:
            claimant, until = self.worker.reservation(now)
        if claimant:
            self.lent.lend(being.n, llm_key)
        with self.database.registry(write=True) as connection:
            jobs.want(connection, being.n, kind, now, claimant, until)
        if "worker" in self.__dict__:
            self.worker.wake()

    def close(self) -> None:
        if "worker" in self.__dict__:
            self.worker.stop()
        self.database.close()


KNOWN_FOR = 5.0
"""For how many seconds a process goes on with the number of calls that it has read."""

_DAY = 86_400
_MOST_KNOWN = 10_000
_log = logging.getLogger("clawkit.memory")


class Quota(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a Being may have: memories, bytes of text, calls a day (UTC); None sets no limit."""

    memories: int | None = None
    bytes: int | None = None
    calls: int | None = None


class Used(msgspec.Struct, frozen=True):
    """What a Being has: current memories with what waits to be one, and the bytes of all text."""

    memories: int
    bytes: int


def quota_of(connection: Connection, being: int) -> Quota:
    return _quota(beings.quota(connection, being))


def _quota(text: str) -> Quota:
    return msgspec.json.decode(text, type=Quota) if text else Quota()


def set_quota(connection: Connection, being: int, quota: Quota) -> None:
    beings.set_quota(connection, being, msgspec.json.encode(quota).decode())


def used(unit: Unit) -> Used:
    """All text counts, also of memories that were replaced; what is made from it does not."""
    memories = unit.row("SELECT count(*) FROM nodes WHERE being = $being AND ended IS NULL")
    waiting = unit.row(
        "SELECT count(*) FROM notes WHERE being = $being AND kind = 'scene' "
        "AND taken IS NULL AND node IS NULL"
    )
    size = 0
    for table, column, which in _TEXTS:
        row = unit.row(
            f"SELECT coalesce(sum(length(CAST({column} AS BLOB))), 0) FROM {table} "
            f"WHERE being = $being{which}"
        )
        size += int(row[0]) if row else 0
    return Used((memories or (0,))[0] + (waiting or (0,))[0], size)


_TEXTS = (
    ("nodes", "scene", ""),
    ("notes", "body", " AND taken IS NULL AND node IS NULL"),
    ("messages", "content", ""),
    ("entries", "content", ""),
)


class LimitedWrites:
    """The store as callers write to it: they can give no Being more than it may have."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, being: int) -> AbstractContextManager[Unit]:
        return self._database.read(being)

    @contextmanager
    def write(self, being: int) -> Generator[Unit]:
        with self._database.write(being) as unit:
            name, text = beings.named(unit)
            quota = _quota(text)
            if quota.memories is None and quota.bytes is None:
                yield unit
                return
            before = used(unit)
            yield unit
            _check(name, quota, before, used(unit))


def _check(name: str, quota: Quota, before: Used, after: Used) -> None:
    """Refuse what makes more of what is too much already; less of it is always right."""
    for what, limit, had, has in (
        ("memory", quota.memories, before.memories, after.memories),
        ("byte", quota.bytes, before.bytes, after.bytes),
    ):
        if limit is not None and has > limit and has > had:
            raise QuotaError(
                f"{name} may hold {counted(limit, what)}, and with this it would be {has:,}: this "
                "was not kept, and all that was there still is. Forget something, or let whoever "
                "runs this memory allow more (`claw being quota`)"
            )


class CallCounter:
    """Counts the calls of Beings that may not be called without end, in the store."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float],
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._clock = clock
        self._elapsed = elapsed
        self._limits: dict[int, tuple[int | None, float]] = {}

    def count(self, being: Being) -> None:
        """One more call; QuotaError if the calls of today are used up.

        Where calls cannot be counted, because nothing can be written, they are still answered.
        """
        try:
            self._count(being)
        except StoreError as error:
            _log.warning("a call cannot be counted: %s", error)

    def _count(self, being: Being) -> None:
        limit = self._limit(being.n)
        if limit is None:
            return
        now = self._clock()
        day = int(now // _DAY)
        with self._database.read(being.n) as unit:
            made = beings.calls_made(unit, day)
        if made >= limit:
            raise QuotaError(
                f"{being.name} may be called {limit:,} times a day, and was today: nothing was "
                f"done. It goes on at 00:00 UTC, in {_span(_DAY - now % _DAY)}"
            )
        with self._database.write_counters(being.n) as unit:
            beings.count_call(unit, day)

    def _limit(self, being: int) -> int | None:
        limit, until = self._limits.get(being, (None, 0.0))
        if self._elapsed() >= until:
            with self._database.registry() as connection:
                limit = quota_of(connection, being).calls
            if len(self._limits) >= _MOST_KNOWN:
                self._limits.clear()
            self._limits[being] = limit, self._elapsed() + KNOWN_FOR
        return limit


def _span(seconds: float) -> str:
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{max(1, minutes)} min"
