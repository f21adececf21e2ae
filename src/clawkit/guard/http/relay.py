"""Relays a client's requests and event streams to the server, and what the server says back.

In the old HTTP+SSE transport the server's first event names the address for messages. The client
gets one of ours instead, so that what it posts there is judged first.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping

from clawkit.errors import InternalError, InvalidRequestError
from clawkit.guard.conversation import Flights, GuardConversation
from clawkit.guard.http.client_request import HttpReply, Incoming, onward, passed_back
from clawkit.guard.http.mirrored_headers import METHOD, NAME, PARAMETER, modern_version
from clawkit.guard.http.upstream import (
    BOTH,
    EVENT_STREAM,
    NOTICE_SECONDS,
    Response,
    Upstream,
    UpstreamError,
    answer_in,
    events_of,
    kind_of,
    refusal,
    whole,
)
from clawkit.guard.passages import Passage, answers, failure, head_of
from clawkit.guard.strict_parser import is_readable
from clawkit.text.sse import SseEvent, encode, message_event
from clawkit.wire import jsonrpc
from clawkit.wire.http.response import HeaderList, status_of
from clawkit.wire.jsonrpc import Message, RequestId

_OF_ONE_REQUEST = ("last-event-id", METHOD, NAME)

Then = Callable[[Passage], None]
Questions = dict[str, Then]
"""The ids of questions that a client is to answer, and who waits for what that leads to."""


class Relay:
    """The way from a server to a client, for as long as one stream or one request lasts."""

    def __init__(
        self,
        upstream: Upstream,
        conversation: GuardConversation,
        reply: HttpReply,
        headers: Mapping[str, str],
        questions: Questions,
        depth: int,
    ) -> None:
        self.conversation = conversation
        self.reply = reply
        self.address: str | None = None
        """Where the server takes messages, if not where it is asked."""
        self._upstream = upstream
        self._headers = headers
        self._questions = questions
        self._depth = depth
        self._expected: list[str] = []
        self._loop = asyncio.get_running_loop()
        self._running: set[asyncio.Task[None]] = set()

    async def pass_event(self, event: SseEvent, *, awaited: bool) -> Passage:
        """Write an event of the server to the client, as far as it may see it.

        `awaited` says whether it may have been meant as the answer to a request.
        """
        passage = Passage()
        if event.is_message and not awaited and not is_readable(event.data, self._depth):
            self.conversation.journal.dropped("server", "", "no message", event.data)
        elif event.is_message:
            passage = await self.receive(event.data)
        elif event.data:
            reason = "an event that is no message"
            self.conversation.journal.dropped("server", "", reason, event.data)
        if passage.to_client is not None or event.id or event.retry or event.comments:
            await self.reply.event(encode(event, passage.to_client or b""))
        return passage

    async def receive(self, line: bytes | None) -> Passage:
        """What a message of the server leads to; what goes back to it is sent already."""
        passage = await self.conversation.receive_async("server", line, self.later)
        if passage.to_server is not None:
            self.start(passage)
        elif passage.to_client is not None and line is not None:
            self._expect_if_ours(passage.to_client, line)
        return passage

    async def fail(self, request_id: RequestId, reason: str) -> bytes:
        """The error for a request that the server will not answer any more."""
        line = failure(request_id, InternalError(reason))
        passage = await self.conversation.receive_async("server", line)
        return passage.to_client or line

    def expect(self, question: bytes, then: Then) -> None:
        """The answer to a question of ours comes with another request."""
        token = str(head_of(question).id)
        self._questions[token] = then
        self._expected.append(token)

    def _expect_if_ours(self, said: bytes, line: bytes) -> None:
        """A person may have to be asked before the server's own question goes on."""
        head = head_of(said)
        if head.method is not None and head.id != head_of(line).id:
            self.expect(said, self.start)

    def later(self, passage: Passage) -> None:
        """Take what became ready in another thread."""
        with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
            self._loop.call_soon_threadsafe(self.start, passage)

    def close(self) -> None:
        for token in self._expected:
            self._questions.pop(token, None)

    def start(self, passage: Passage) -> None:
        """Bring a passage where it belongs, while others go on."""
        task = self._loop.create_task(self._deliver(passage))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _deliver(self, passage: Passage) -> None:
        if passage.to_client is not None and self.reply.streaming:
            await self.reply.event(message_event(passage.to_client))
        if passage.to_server is not None:
            await self.post(passage.to_server)

    async def post(self, line: bytes) -> None:
        """Send the server what nobody waits for an answer to."""
        kept = {
            name: value
            for name, value in onward(self._headers).items()
            if name not in _OF_ONE_REQUEST and not name.startswith(PARAMETER)
        }
        try:
            async with self._upstream.ask(
                "POST", kept | BOTH, line, url=self.address, patience=NOTICE_SECONDS
            ):
                pass
        except UpstreamError as error:
            reason = f"could not be sent: {error}"
            self.conversation.journal.dropped("client", "", reason, line)


_KEEP_ALIVE = 15.0

Met = Callable[[Response], None]


class ForwardedRequest:
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
        self.owner = incoming.owner
        self.asked = asked
        """What the server asked on the way, if this request has a conversation of its own."""
        self._upstream = upstream
        self._relay = relay
        self._incoming = incoming
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
            self.conversation.receive("server", failure(self._id, gone))

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
        body = await whole(response, self._limit)
        headers = await self._incoming.refused(response)
        answer = answer_in(body, response, self._id, self._upstream.target)
        passage = await self._relay.receive(answer)
        if passage.to_client is None or not answers(passage, self._id):
            await self._fail(502, "The server answered something else than this request")
            return
        await self._answer(max(response.status_code, 200), passage.to_client, headers)

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
    return 200 if modern_version(message) is None else status_of(jsonrpc.decode(line))


MESSAGES = "/claw-messages/"

SseChannels = dict[str, "SseChannel"]


class EventStream:
    """One stream of the server's, passed on event by event."""

    def __init__(
        self,
        upstream: Upstream,
        relay: Relay,
        incoming: Incoming,
        lines: SseChannels,
        *,
        limit: int,
        on_refusal: Callable[[int], None],
    ) -> None:
        self._upstream = upstream
        self._relay = relay
        self._incoming = incoming
        self._channels = lines
        self._limit = limit
        self._on_refusal = on_refusal
        self._token = ""

    async def run(self) -> None:
        reply = self._incoming.reply
        try:
            async with self._upstream.ask("GET", onward(self._incoming.headers)) as response:
                if response.status_code != 200 or kind_of(response) != EVENT_STREAM:
                    self._on_refusal(response.status_code)
                    status = response.status_code if response.status_code >= 400 else 502
                    headers = await self._incoming.refused(response)
                    body = _error(refusal(response, self._upstream.target))
                    await reply.whole(status, body, headers)
                    return
                await reply.begin(passed_back(response))
                async for event in events_of(response, self._limit):
                    if event.kind == b"endpoint":
                        if not await self._move_endpoint(event):
                            break
                    else:
                        await self._relay.pass_event(event, awaited=self._may_answer())
        except UpstreamError as error:
            if not reply.streaming:
                await reply.whole(error.status, _error(error.reason))
                return
        await self._end()

    def _may_answer(self) -> bool:
        """Whether it goes on with the stream of a request, or is the only one there is."""
        return bool(self._token) or "last-event-id" in self._incoming.headers

    async def _move_endpoint(self, event: SseEvent) -> bool:
        """Whether the address for messages is one that may be used."""
        said = (event.data or b"").decode(errors="replace")
        address = self._upstream.target.at_home(said)
        if address is None or self._incoming.session_id is not None or self._token:
            reason = "the server names an address for messages that is not its own"
            self._relay.conversation.journal.dropped("server", "", reason, event.data)
            await self._incoming.reply.event(b"event: error\ndata: " + _error(reason) + b"\n\n")
            return False
        self._token = os.urandom(16).hex()
        self._relay.address = address
        self._channels[self._token] = SseChannel(self._upstream, self._relay)
        place = (MESSAGES + self._token).encode()
        await self._incoming.reply.event(b"event: endpoint\ndata: " + place + b"\n\n")
        return True

    async def _end(self) -> None:
        if self._token:
            for line in self._relay.conversation.end("The server ended the stream"):
                await self._incoming.reply.event(message_event(line))
        await self._incoming.reply.end()

    def close(self) -> None:
        """Ends the stream: its listener has gone."""
        if self._channels.pop(self._token, None) is not None:
            self._relay.conversation.end("The client left")
        self._relay.close()


class SseChannel:
    """What a client of HTTP+SSE posts; every answer goes over the stream that it listens to."""

    def __init__(self, upstream: Upstream, relay: Relay) -> None:
        self.conversation = relay.conversation
        self._upstream = upstream
        self._relay = relay

    async def post(self, incoming: Incoming, body: bytes) -> None:
        passage = await self.conversation.receive_async("client", body, self._relay.later)
        if passage.to_client is not None:
            await self._relay.reply.event(message_event(passage.to_client))
        status, headers = 202, HeaderList()
        if passage.to_server is not None:
            status, headers = await self._forward(incoming, passage.to_server)
        await incoming.reply.whole(status, headers=headers)

    async def _forward(self, incoming: Incoming, line: bytes) -> tuple[int, HeaderList]:
        """How the server's response begins: the answer itself comes over the stream."""
        headers = HeaderList()
        try:
            async with self._upstream.ask(
                "POST",
                onward(incoming.headers),
                line,
                url=self._relay.address,
            ) as response:
                if response.status_code < 400:
                    return 202, headers
                status, reason = response.status_code, refusal(response, self._upstream.target)
                headers = await incoming.refused(response)
        except UpstreamError as error:
            status, reason = error.status, error.reason
        head = head_of(line)
        if head.method is not None and head.id is not None:
            failed = await self._relay.fail(head.id, reason)
            await self._relay.reply.event(message_event(failed))
        return status, headers


def _error(reason: str) -> bytes:
    return failure(None, InvalidRequestError(reason))
