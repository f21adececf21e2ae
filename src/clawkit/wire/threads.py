"""Worker threads for sync functions: daemons, so that a stuck one never keeps the process alive."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any


class Job:
    """A call in a thread: its `outcome`, and when the thread has `ended`, even if cancelled."""

    def __init__(self, function: Callable[..., Any], kwargs: dict[str, Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Any] = self._loop.create_future()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._call = partial(contextvars.copy_context().run, function, **kwargs)

    def run(self) -> None:
        value, error = None, None
        try:
            if not self.outcome.cancelled():
                value = self._call()
        except (StopIteration, SystemExit, KeyboardInterrupt) as caught:
            # Meant for the thread; in the event loop they would end more than this call.
            error = RuntimeError(f"{type(caught).__name__}: {caught}")
        except BaseException as caught:  # noqa: BLE001 - handed to the waiting coroutine
            error = caught
        with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
            self._loop.call_soon_threadsafe(self._settle, value, error)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        self.ended.set_result(None)
        if self.outcome.done():
            return
        if error is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(value)


class Workers:
    """Up to `limit` threads, started when needed and kept for reuse; further jobs wait in order."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def start(self, function: Callable[..., Any], kwargs: dict[str, Any]) -> Job:
        """Call `function` in a thread."""
        job = Job(function, kwargs)
        self._submit(job)
        return job

    def _submit(self, job: Job) -> None:
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._threads < self._limit:
                self._threads += 1
                threading.Thread(target=self._work, name="claw-tool", daemon=True).start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get().run()
            with self._lock:
                self._idle += 1
