"""Worker threads for sync functions: daemons, so that a stuck one never keeps the process alive."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

Job = Callable[[], None]


class Workers:
    """Up to `limit` threads, started when needed and kept for reuse; further jobs wait in order."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    async def run(self, function: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        """Call `function` in a thread; being cancelled stops the waiting, not the thread."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def job() -> None:
            if outcome.cancelled():
                return
            try:
                value, error = context.run(function, **kwargs), None
            except BaseException as caught:  # noqa: BLE001 - handed to the waiting coroutine
                value, error = None, caught
            _settle(loop, outcome, value, error)

        self._submit(job)
        return await outcome

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
            self._jobs.get()()
            with self._lock:
                self._idle += 1


def _settle(
    loop: asyncio.AbstractEventLoop,
    outcome: asyncio.Future[Any],
    value: Any,
    error: BaseException | None,
) -> None:
    def settle() -> None:
        if outcome.done():
            return
        if isinstance(error, StopIteration | SystemExit | KeyboardInterrupt):
            # Meant for the thread; in the event loop they would end more than this call.
            outcome.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
        elif error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(value)

    if not loop.is_closed():
        loop.call_soon_threadsafe(settle)
