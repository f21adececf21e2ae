"""The thread that runs database jobs one after the other, so that no event loop waits.

It is a daemon: a process may end at any moment, and a transaction that was not committed is none.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from clawkit.assistant.sessions.database import SessionDatabase
from clawkit.errors import StoreError

T = TypeVar("T")
Job = Callable[[SessionDatabase], T]
Chore = Callable[[SessionDatabase], Iterator[object]]
"""Work of no hurry, in small steps."""

_AGAIN = 1.0
_LEISURE = 0.03
"""Between two steps of a chore, so that other processes get the store, too."""
_LAST_STEPS = 5
"""Of a chore, when the thread ends: programs that live for one turn do their part."""

log = logging.getLogger("clawkit.assistant")


class DatabaseThread:
    """Runs jobs in the order in which they come. The thread starts with the first."""

    def __init__(self, database: SessionDatabase) -> None:
        self._database = database
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._owed: list[Job[object]] = []
        self._tried = 0.0
        self._chores: list[Iterator[object]] = []
        self._thread: threading.Thread | None = None
        self._closed = False
        self._starting = threading.Lock()

    async def do(self, job: Job[T]) -> T:
        """The outcome of a job. It is done even if nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            settle: Callable[[Any], None] = outcome.set_result
            value: Any = None
            try:
                value = job(self._database)
            except Exception as error:  # noqa: BLE001 - handed to the waiting coroutine
                settle, value = outcome.set_exception, error
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(_settle, outcome, settle, value)

        self._put(run)
        return await outcome

    def do_at_leisure(self, chore: Chore) -> None:
        """Do a chore step by step, whenever nobody waits for anything; if it fails, it ends."""
        with suppress(StoreError):  # the store may be closed by now
            self._put(lambda: self._chores.append(chore(self._database)))

    def owe(self, job: Job[object], done: Callable[[], None] | None = None) -> None:
        """Do a job that must be done: while the store cannot be written it is tried again."""

        def run() -> None:
            if not self._attempt(job):
                self._owed.append(job)
                self._tried = time.monotonic()
            if done is not None:
                done()

        self._put(run)

    async def done(self, job: Job[object]) -> None:
        """Wait until an owed job was tried for the first time."""
        loop = asyncio.get_running_loop()
        tried = asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(tried.set)

        self.owe(job, tell)
        await tried.wait()

    def stop(self) -> threading.Thread | None:
        """Let the thread end after what is still to be done; gives it, if it ever started."""
        with self._starting:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
            return self._thread

    async def close(self) -> None:
        """End the thread and the connection, when everything is done."""
        thread = self.stop()
        if thread is not None:
            await asyncio.to_thread(thread.join)

    def _put(self, run: Callable[[], object]) -> None:
        with self._starting:
            if self._closed:
                raise StoreError(f"{self._database.file}: the store of sessions was closed")
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="claw-sessions", daemon=True
                )
                self._thread.start()
            self._jobs.put(run)

    def _work(self) -> None:
        try:
            while True:
                try:
                    run = self._jobs.get(timeout=self._pause())
                    if run is None:
                        break
                    run()
                except queue.Empty:
                    self._step()
                if self._owed and time.monotonic() - self._tried >= _AGAIN:
                    self._pay()
            self._pay()
            for _ in range(_LAST_STEPS):
                self._step()
        finally:
            self._database.close()

    def _pause(self) -> float | None:
        """How long to wait for a job before there is something else to do."""
        if self._chores:
            return _LEISURE
        return _AGAIN if self._owed else None

    def _step(self) -> None:
        """Go on with the first chore; one that has come to its end, or failed, is done with."""
        if self._chores:
            chore, done = self._chores[0], list[object]()
            self._attempt(lambda _: done.extend(islice(chore, 1)))
            if not done:
                del self._chores[0]

    def _pay(self) -> None:
        self._tried = time.monotonic()
        self._owed = [job for job in self._owed if not self._attempt(job)]

    def _attempt(self, job: Job[object]) -> bool:
        try:
            job(self._database)
        except StoreError as error:
            log.warning("%s", error)
            return False
        except Exception:
            log.exception("a job of the store of sessions failed")
        return True


def _settle(outcome: asyncio.Future[Any], settle: Callable[[Any], None], value: Any) -> None:
    if not outcome.done():
        settle(value)
