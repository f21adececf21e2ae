"""What a server is told without an answer being waited for: in order, and beside the requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from clawkit.wire.jsonrpc import Message

READY = "notifications/initialized"
_READY_SECONDS = 2.0
_MOST = 1000

Post = Callable[[Message, bytes], Awaitable[None]]
Drop = Callable[[str, bytes], None]
Report = Callable[[Exception], None]


class UpstreamOutbox:
    """Two lanes, so that a slow notice does not keep the answer to a server's question back."""

    def __init__(self, post: Post, drop: Drop, report: Report) -> None:
        self._notices = _Lane(self._post, drop, report)
        self._answers = _Lane(post, drop, report)
        self._told = post
        self._ready = asyncio.Event()
        self._ready.set()

    def put(self, message: Message, line: bytes) -> None:
        """Send a notice, or the answer to a question, as soon as it is its turn."""
        if message.get("method") == READY:
            self._ready.clear()
        lane = self._notices if "method" in message else self._answers
        lane.put(message, line)

    async def wait_until_ready(self, method: str) -> None:
        """Servers refuse what comes before they know that the client is ready; not for long."""
        if method == "ping":
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_READY_SECONDS):
                await self._ready.wait()

    async def flush(self) -> None:
        await self._notices.flush()
        await self._answers.flush()

    async def close(self) -> None:
        await self._notices.close()
        await self._answers.close()

    async def _post(self, message: Message, line: bytes) -> None:
        try:
            await self._told(message, line)
        finally:
            if message["method"] == READY:
                self._ready.set()


class _Lane:
    def __init__(self, post: Post, drop: Drop, report: Report) -> None:
        self._post = post
        self._drop = drop
        self._report = report
        self._waiting: asyncio.Queue[tuple[Message, bytes]] = asyncio.Queue(_MOST)
        self._task: asyncio.Task[None] | None = None

    def put(self, message: Message, line: bytes) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())
        try:
            self._waiting.put_nowait((message, line))
        except asyncio.QueueFull:
            self._drop(f"{_MOST} messages wait for the server already", line)

    async def flush(self) -> None:
        await self._waiting.join()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            message, line = await self._waiting.get()
            try:
                await self._post(message, line)
            except Exception as error:  # noqa: BLE001 - what comes after it is sent all the same
                self._report(error)
                self._drop(f"could not be sent: {type(error).__name__}", line)
            finally:
                self._waiting.task_done()
