"""A client for the old HTTP+SSE transport: one stream to read, one address to post to."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from clawkit.errors import InternalError
from clawkit.guard.http.outbox import UpstreamOutbox
from clawkit.guard.http.upstream import (
    ANSWER_SECONDS,
    BOTH,
    BROKEN,
    EVENT_STREAM,
    Response,
    UpstreamError,
    events_of,
    kind_of,
    refusal,
)
from clawkit.text.sse import SseEvent
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message, RequestId

if TYPE_CHECKING:
    from clawkit.guard.http.stdio_bridge import StdioBridge

_OPENING_SECONDS = 30.0


class OldSse:
    """One connection; the stream is opened by the first message."""

    def __init__(self, bridge: StdioBridge) -> None:
        self._bridge = bridge
        self._upstream = bridge.upstream
        self._address = ""
        self._opened: asyncio.Future[str] | None = None
        self._answered = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._outbox = UpstreamOutbox(self._tell, bridge.dropped, bridge.report)

    async def send(self, line: bytes) -> None:
        """Send a message. The next one may be sent before this one, a request, has arrived."""
        message = jsonrpc.decode(line)
        request_id = jsonrpc.reply_id(message) if "method" in message else None
        problem = await self.open()
        if problem:
            await self._not_sent(line, request_id, problem)
            return
        if request_id is None:
            self._outbox.put(message, line)
            return
        task = self._start(self._request(message, line, request_id))
        if message["method"] == "initialize":
            await asyncio.wait((task,))

    async def open(self) -> str:
        """Listen to the server, if nobody does yet; why that is not possible."""
        if self._address:
            return ""
        self._opened = asyncio.get_running_loop().create_future()
        self._start(self._hear_all(self._opened))
        try:
            async with asyncio.timeout(_OPENING_SECONDS):
                return await self._opened
        except TimeoutError:
            return f"{self._upstream.target.origin} names no address for messages"

    async def finish(self) -> None:
        while self._bridge.in_flight():
            self._answered.clear()
            await self._answered.wait()
        await self._outbox.flush()

    async def close(self) -> None:
        await self._outbox.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _hear_all(self, opened: asyncio.Future[str]) -> None:
        problem = ""
        try:
            async with self._upstream.ask("GET", {"accept": EVENT_STREAM}) as response:
                problem = await self._follow(response, opened)
        except UpstreamError as error:
            problem = error.reason
        except Exception as error:  # noqa: BLE001 - without this stream nothing is ever answered
            self._bridge.report(error)
            problem = BROKEN
        if not opened.done():
            opened.set_result(problem)
        else:
            await self._bridge.lost(problem)

    async def _follow(self, response: Response, opened: asyncio.Future[str]) -> str:
        """Pass on the events of the stream; why it ended."""
        if response.status_code != 200 or kind_of(response) != EVENT_STREAM:
            return refusal(response, self._upstream.target)
        async for event in events_of(response, self._bridge.limit):
            if event.kind == b"endpoint":
                problem = self._meet(event)
                if problem:
                    return problem
                if not opened.done():
                    opened.set_result("")
            elif event.is_message:
                await self._bridge.hear(event.data)
                self._answered.set()
            elif event.data:
                self._bridge.dropped("an event that is no message", event.data)
        return "The server ended the stream"

    def _meet(self, event: SseEvent) -> str:
        """Where messages go, once and for all, and only to the server itself."""
        address = self._upstream.target.at_home((event.data or b"").decode(errors="replace"))
        if address is None or self._address:
            return "The server names an address for messages that is not its own"
        self._address = address
        return ""

    async def _request(self, message: Message, line: bytes, request_id: RequestId) -> None:
        try:
            await self._outbox.wait_until_ready(message["method"])
            problem = await self._upstream.tell(
                BOTH, line, url=self._address, patience=ANSWER_SECONDS
            )
        except Exception as error:  # noqa: BLE001 - a client that gets no answer waits for ever
            self._bridge.report(error)
            problem = BROKEN
        if problem:
            await self._not_sent(line, request_id, problem)

    async def _tell(self, _: Message, line: bytes) -> None:
        problem = await self._upstream.tell(BOTH, line, url=self._address)
        if problem:
            await self._not_sent(line, None, problem)

    async def _not_sent(self, line: bytes, request_id: RequestId | None, problem: str) -> None:
        if request_id is None:
            self._bridge.dropped(problem, line)
        else:
            await self._bridge.fail(request_id, InternalError(problem))
            self._answered.set()
