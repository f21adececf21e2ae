"""The Beings of one store: created, found, opened."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from clawkit.errors import BeingError
from clawkit.memory.model_keys import LentKeys
from clawkit.memory.quotas import CallCounter, LimitedWrites
from clawkit.memory.records import Being
from clawkit.memory.store import beings, jobs

if TYPE_CHECKING:
    from clawkit.memory.embed import Embedder
    from clawkit.memory.job_worker import JobWorker
    from clawkit.memory.memory import Memory
    from clawkit.memory.store.database import Connection, Database

DEFAULT_BEING = "assistant"
"""The Being that the assistant and the commands use where none is named."""


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
        from clawkit.memory.embed import DEFAULT
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
            raise BeingError("a Being needs a name")
        with self.database.registry(write=True) as connection:
            if beings.by_id(connection, being_id) is not None:
                raise BeingError(f"there is a Being with the id {being_id} already")
            return beings.create(connection, being_id, name.strip(), self.clock())

    def every(self) -> list[Being]:
        with self.database.registry() as connection:
            return beings.every(connection)

    def by_id(self, being_id: str) -> Being | None:
        with self.database.registry() as connection:
            return beings.by_id(connection, being_id)

    def find(self, called: str) -> Being:
        """The Being of that id, or the only one of that name."""
        found = self.by_id(called)
        if found is not None:
            return found
        named = [being for being in self.every() if being.name == called]
        if len(named) > 1:
            ids = ", ".join(being.id for being in named)
            raise BeingError(f"several Beings are called {called!r}: say which by its id: {ids}")
        if not named:
            raise BeingError(
                f"there is no Being called {called!r} in {self.database.address}: "
                "`claw being list` shows those that are there"
            )
        return named[0]

    def default(self) -> Being:
        """The person's own Being, made when first needed."""
        with self.database.registry() as connection:
            found = _default_in(connection)
        if found is not None:
            return found
        with self.database.registry(write=True) as connection:
            found = _default_in(connection)  # another process may have made it just now
            if found is not None:
                return found
            now = self.clock()
            return beings.create(connection, str(uuid.uuid4()), DEFAULT_BEING, now)

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


def _default_in(connection: Connection) -> Being | None:
    return next((one for one in beings.every(connection) if one.name == DEFAULT_BEING), None)
