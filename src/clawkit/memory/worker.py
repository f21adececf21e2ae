"""The thread behind the Beings: patrols that are due, and vectors that are missing.

Jobs stand in the store. Any number of processes look for them, and each is done by one: whoever
claims it holds the claim while it works, and if it dies another takes over when the claim runs out.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from typing import TYPE_CHECKING

from clawkit.errors import ClawError
from clawkit.memory.store import beings, jobs

if TYPE_CHECKING:
    from clawkit.memory.keeper import Keeper

PATROL = "patrol"
EMBED = "embed"

_HELD = 60.0
_LOOK_EVERY = 5.0
_GROW_EVERY = 600.0
_AGAIN_AFTER = (5.0, 30.0, 300.0)
_log = logging.getLogger("clawkit.memory")


class Worker:
    """Claims jobs one after the other and does them."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._next_growth = 0.0

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="being-worker", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        self._wanted.set()

    def stop(self, patience: float = 10.0) -> None:
        """Finish the job at hand and end."""
        self._stopping.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(patience)
            self._thread = None

    def work_off(self) -> int:
        """Do all jobs that are due, here and now; gives how many there were."""
        done = 0
        while not self._stopping.is_set() and self._one():
            done += 1
        return done

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wanted.clear()
            try:
                self.work_off()
                self._grow()
            except ClawError as error:  # the store is away: it may come back
                _log.warning("jobs cannot be looked for: %s", error)
            except Exception:  # noqa: BLE001 - no job may end the thread
                _log.exception("jobs cannot be looked for")
            self._wanted.wait(_LOOK_EVERY)

    def _grow(self) -> None:
        """Let the store build what large Beings need, now and then."""
        now = time.monotonic()
        if now >= self._next_growth:
            self._next_growth = now + _GROW_EVERY
            self._keeper.database.grow()

    def _one(self) -> bool:
        keeper, now = self._keeper, self._keeper.clock()
        with keeper.database.registry(write=True) as connection:
            claimed = jobs.claim(connection, self._owner, now, now + _HELD)
        if claimed is None:
            return False
        being, kind, wanted, tries = claimed
        with _Held(self, being, kind):
            problem = self._do(being, kind)
        with keeper.database.registry(write=True) as connection:
            if problem:
                again = keeper.clock() + _AGAIN_AFTER[min(tries, len(_AGAIN_AFTER)) - 1]
                jobs.failed(connection, being, kind, self._owner, problem, again)
            else:
                jobs.done(connection, being, kind, self._owner, wanted)
        return True

    def _do(self, n: int, kind: str) -> str:
        """Do one job; gives what went wrong, if anything."""
        keeper = self._keeper
        try:
            with keeper.database.registry() as connection:
                being = beings.by_number(connection, n)
            if being is None:
                return ""
            memory = keeper.open(being)
            if kind == PATROL:
                memory.patrol_due()
            elif kind == EMBED:
                memory.embed_missing()
        except Exception as error:  # noqa: BLE001 - it is kept with the job
            _log.exception("%s of being %d failed", kind, n)
            return f"{type(error).__name__}: {error}"[:500]
        return ""

    def hold(self, being: int, kind: str) -> None:
        """Go on holding the claim."""
        until = self._keeper.clock() + _HELD
        with self._keeper.database.registry(write=True) as connection:
            jobs.extend(connection, being, kind, self._owner, until)


class _Held:
    """Renews a claim in the background while its job is done."""

    def __init__(self, worker: Worker, being: int, kind: str) -> None:
        self._worker = worker
        self._job = being, kind
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="being-claim", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._over.wait(_HELD / 3):
            try:
                self._worker.hold(*self._job)
            except ClawError as error:
                _log.warning("a claim cannot be renewed: %s", error)
            except Exception:  # noqa: BLE001 - another try comes in time
                _log.exception("a claim cannot be renewed")
