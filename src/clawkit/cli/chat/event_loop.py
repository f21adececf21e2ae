"""The event loop of `claw chat`, in a thread: the main thread keeps the terminal."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """An event loop that lives on between messages, with the servers and connections in it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> BackgroundLoop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the work; Ctrl-C cancels it, and waits until it has put things in order."""
        task = self._soon(_started(work))
        try:
            self._soon(_ended(task))
        except BaseException:
            self._loop.call_soon_threadsafe(task.cancel)
            self._soon(_ended(task))
            raise
        return task.result()

    def _soon(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _started(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    return asyncio.ensure_future(work)


async def _ended(task: asyncio.Task[Any]) -> None:
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # whoever wants it asks the task; nobody needs to be warned


@contextmanager
def ended_by_signals() -> Generator[None]:
    """These signals end the chat through its `finally` blocks: servers stopped, turn recorded."""
    if sys.platform == "win32":
        yield
        return

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    wanted = (signal.SIGTERM, signal.SIGHUP)
    before = [(number, signal.signal(number, end)) for number in wanted]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
