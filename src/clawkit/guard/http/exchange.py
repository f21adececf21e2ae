"""One request of a client over HTTP: held if a person is asked, sent on, and answered once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from clawkit.errors import InternalError
from clawkit.guard.conversation import Flights
from clawkit.guard.http.agreement import modern_version
from clawkit.guard.http.heads import answers, head_of
from clawkit.guard.http.incoming import Incoming
from clawkit.guard.http.refusals import error_for
from clawkit.guard.http.relay import Relay
from clawkit.guard.http.reply import onward, passed_back
from clawkit.guard.http.upstream import (
    EVENT_STREAM,
    Response,
    Upstream,
    UpstreamError,
    events_of,
    kind_of,
    whole,
)
from clawkit.guard.prompts import Passage
from clawkit.text.sse import message_event
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message

_KEEP_ALIVE = 15.0
_BAD_REQUEST = (-32700, -32600, -32020, -32021, -32022)

Met = Callable[[Response], None]


class Exchange:
    """From a request that was judged to the end of its response."""

    def __init__(
        self,
        upstream: Upstream,
        relay: Relay,
        incoming: Incoming,
        message: Message,
        *,
        asked: Flights,
        limit: int,
        on_response: Met,
    ) -> None:
        self.conversation = relay.conversation
        self.asked = asked
        """What the server asked on the way, if this request has a conversation of its own."""
        self._upstream = upstream
        self._relay = relay
        self._reply = incoming.reply
        self._headers = onward(incoming.headers)
        self._message = message
        self._id = message["id"]
        self._limit = limit
        self._on_response = on_response
        self._settled: asyncio.Queue[Passage] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._held = False
        self._sent = False
        self._answered = False
        self._resumable = False

    def settle(self, passage: Passage) -> None:
        """Take what a person's word led to; safe to call from any thread."""
        with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
            self._loop.call_soon_threadsafe(self._settled.put_nowait, passage)

    async def run(self, passage: Passage) -> None:
        while passage.to_server is None:
            line = passage.to_client
            if line is not None and head_of(line).method is None:
                await self._answer(_status(line, self._message), line)
                return
            self._held = True
            if line is not None:
                self._relay.expect(line, self._settled.put_nowait)
                await self._reply.begin()
                await self._reply.event(message_event(line))
            passage = await self._settlement()
        self._held = False
        self._sent = True
        await self._forward(passage.to_server)

    def abandon(self) -> None:
        """The client is gone, or the guard is about to be."""
        if self._held:
            params = {"requestId": self._id}
            line = jsonrpc.encode(jsonrpc.notification("notifications/cancelled", params))
            self.conversation.receive("client", line)
        elif self._sent and not self._answered and not self._resumable:
            gone = InternalError("The client left before the answer")
            self.conversation.receive("server", jsonrpc.encode(jsonrpc.failure(self._id, gone)))

    async def _settlement(self) -> Passage:
        while True:
            try:
                async with asyncio.timeout(_KEEP_ALIVE):
                    return await self._settled.get()
            except TimeoutError:
                if self._reply.streaming:
                    await self._reply.event(b":\n\n")

    async def _forward(self, line: bytes) -> None:
        try:
            async with self._upstream.ask("POST", self._headers, line) as response:
                self._on_response(response)
                if response.is_success and kind_of(response) == EVENT_STREAM:
                    await self._stream(response)
                else:
                    await self._document(response)
        except UpstreamError as error:
            await self._end_stream(error.status, error.reason)

    async def _stream(self, response: Response) -> None:
        await self._reply.begin(passed_back(response))
        async for event in events_of(response, self._limit):
            self._resumable = self._resumable or event.id is not None
            passage = await self._relay.pass_event(event, awaited=not self._answered)
            self._answered = self._answered or answers(passage, self._id)
        await self._end_stream(502, "The server ended the stream before the answer")

    async def _end_stream(self, status: int, reason: str) -> None:
        """A stream that can be resumed just ends; else whoever still waits is told."""
        if self._answered or (self._resumable and self._reply.streaming):
            await self._reply.end()
        else:
            await self._fail(status, reason)

    async def _document(self, response: Response) -> None:
        status = response.status_code
        body = await whole(response, self._limit)
        if body is None:
            await self._fail(502, f"The server's answer has more than {self._limit} bytes")
            return
        if status >= 400:
            body = error_for(self._id, body, response, self._upstream.target)
        if not body.strip():
            await self._fail(502, f"The server answered {status} and nothing else")
            return
        passage = await self._relay.hear(body)
        if passage.to_client is None or not answers(passage, self._id):
            await self._fail(502, "The server answered something else than this request")
            return
        await self._answer(max(status, 200), passage.to_client, passed_back(response))

    async def _fail(self, status: int, reason: str) -> None:
        await self._answer(status, await self._relay.fail(self._id, reason))

    async def _answer(
        self, status: int, line: bytes, headers: list[tuple[bytes, bytes]] | None = None
    ) -> None:
        self._answered = True
        if self._reply.streaming:
            await self._reply.event(message_event(line))
            await self._reply.end()
        else:
            await self._reply.whole(status, line, headers)


def _status(line: bytes, message: Message) -> int:
    """The HTTP status of an answer of ours; the handshake era says everything with 200."""
    error = jsonrpc.decode(line).get("error")
    if error is None or modern_version(message) is None:
        return 200
    if error["code"] == -32601:
        return 404
    return 400 if error["code"] in _BAD_REQUEST else 200
