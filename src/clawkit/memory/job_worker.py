"""Background threads that run the jobs of a store: patrols, and vectors that are missing.

Jobs stand in the store. Any number of processes look for them, and each is done by one: whoever
claims it holds the claim while it works, and if it dies another takes over when the claim runs out.
One thread looks; each job has a thread of its own, so that a model that is slow for one Being, or
for many, keeps no other waiting. A Being has one job at a time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clawkit.errors import ClawError
from clawkit.memory.store import beings, jobs

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore

PATROL = "patrol"
EMBED = "embed"

AT_ONCE = 8
"""Jobs that one process begins at the same time."""

SLOW = 10.0
"""Seconds after which a job counts no more for that: it waits for a model, and others need not."""

MOST = 100
"""Jobs that one process has in hand, however slow they are."""

_HELD = 60.0
_RESERVED = 30.0
_LOOK_EVERY = 5.0
_GROW_EVERY = 600.0
_AGAIN_AFTER = (5.0, 30.0, 300.0)
_log = logging.getLogger("clawkit.memory")

_Job = tuple[int, str, float, int]


class JobWorker:
    """Claims jobs and does them, several at once."""

    def __init__(self, store: BeingStore, at_once: int = AT_ONCE) -> None:
        self._store = store
        self._at_once = at_once
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._claiming = threading.Lock()
        self._busy: set[int] = set()
        self._working: dict[threading.Thread, float] = {}
        self._next_growth = 0.0

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="being-worker", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        self._wanted.set()

    def reservation(self, now: float) -> tuple[str, float]:
        """For whom a job is kept, and until when, that only this process can do as it should be."""
        return (self._owner, now + _RESERVED) if self._thread is not None else ("", 0.0)

    def stop(self, patience: float = 10.0) -> None:
        """Finish the jobs at hand and end; what takes longer is given back for others to do."""
        self._stopping.set()
        self._wanted.set()
        if self._thread is None:
            return
        until = time.monotonic() + patience
        self._thread.join(patience)
        for thread in tuple(self._working):
            thread.join(max(0.0, until - time.monotonic()))
        self._thread = None
        if self._working:
            self._give_back()

    def work_off(self) -> int:
        """Do all jobs that are due, here and now; gives how many there were."""
        done = 0
        while not self._stopping.is_set() and (job := self._claimed()) is not None:
            self._work(job)
            done += 1
        return done

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wanted.clear()
            with _logged("jobs cannot be looked for"):
                self._start_due()
                self._grow()
                self._store.lent.forget_old()
            self._wanted.wait(_LOOK_EVERY)

    def _start_due(self) -> None:
        """Give each job that is due a thread, as long as there may be one more."""
        while self._has_room() and not self._stopping.is_set():
            job = self._claimed()
            if job is None:
                return
            work, args = self._work_apart, (job,)
            thread = threading.Thread(target=work, args=args, name="being-job", daemon=True)
            self._working[thread] = time.monotonic()
            thread.start()

    def _has_room(self) -> bool:
        began = tuple(self._working.values())
        slow = time.monotonic() - SLOW
        return len(began) < MOST and sum(at > slow for at in began) < self._at_once

    def _work_apart(self, job: _Job) -> None:
        # Where that fails, its claim runs out, and it is done again.
        with _logged("how a job ended cannot be noted"):
            self._work(job)
        self._working.pop(threading.current_thread(), None)
        self.wake()

    def _give_back(self) -> None:
        try:
            with self._store.database.registry(write=True) as connection:
                jobs.give_back(connection, self._owner)
        except ClawError as error:
            _log.warning(
                "jobs cannot be given back, and wait until their claims run out: %s", error
            )

    def _grow(self) -> None:
        """Let the store build what large Beings need, now and then."""
        now = time.monotonic()
        if now >= self._next_growth:
            self._next_growth = now + _GROW_EVERY
            self._store.database.grow()

    def _claimed(self) -> _Job | None:
        """A job that is ours from now on, of a Being that has none at work."""
        now = self._store.clock()
        with self._claiming:
            with self._store.database.registry(write=True) as connection:
                job = jobs.claim(connection, self._owner, now, now + _HELD, sorted(self._busy))
            if job is not None:
                self._busy.add(job[0])
            return job

    def _work(self, job: _Job) -> None:
        store = self._store
        being, kind, wanted, tries = job
        try:
            with self._held(being, kind):
                problem = self._do(being, kind)
            with store.database.registry(write=True) as connection:
                if problem:
                    again = store.clock() + _AGAIN_AFTER[min(tries, len(_AGAIN_AFTER)) - 1]
                    jobs.failed(connection, being, kind, self._owner, problem, again)
                else:
                    jobs.done(connection, being, kind, self._owner, wanted)
        finally:
            with self._claiming:
                self._busy.discard(being)

    def _do(self, n: int, kind: str) -> str:
        """Do one job; gives what went wrong, if anything."""
        store = self._store
        try:
            with store.database.registry() as connection:
                being = beings.by_number(connection, n)
            if being is None:
                return ""
            memory = store.open(being)
            if kind == PATROL:
                memory.patrol_due()
            elif kind == EMBED:
                memory.embed_due()
        except Exception as error:  # noqa: BLE001 - it is kept with the job
            _log.exception("%s of being %d failed", kind, n)
            return f"{type(error).__name__}: {error}"[:500]
        return ""

    @contextmanager
    def _held(self, being: int, kind: str) -> Generator[None]:
        """Renew a claim in the background while its job is done."""
        over = threading.Event()

        def renew() -> None:
            while not over.wait(_HELD / 3):
                with _logged("a claim cannot be renewed"):  # another try comes in time
                    until = self._store.clock() + _HELD
                    with self._store.database.registry(write=True) as connection:
                        jobs.extend(connection, being, kind, self._owner, until)

        thread = threading.Thread(target=renew, name="being-claim", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def _logged(what: str) -> Generator[None]:
    """Log an error and go on: none may end a thread, and a store that is away may come back."""
    try:
        yield
    except ClawError as error:
        _log.warning("%s: %s", what, error)
    except Exception:  # noqa: BLE001 - it is logged
        _log.exception(what)
