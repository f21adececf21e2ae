"""Event streams that a client opens with GET, also of the old HTTP+SSE transport.

In HTTP+SSE the server's first event names the address for messages. The client gets one of ours
instead, so that what it posts there is judged first.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from clawkit.errors import InvalidRequestError
from clawkit.guard.http.async_judge import head_of, judged
from clawkit.guard.http.client_request import Incoming, onward, passed_back
from clawkit.guard.http.relay import Relay
from clawkit.guard.http.upstream import (
    EVENT_STREAM,
    Upstream,
    UpstreamError,
    events_of,
    kind_of,
    refusal,
)
from clawkit.text.sse import SseEvent, message_event
from clawkit.wire import jsonrpc
from clawkit.wire.http.response import HeaderList

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
        """Nobody listens any more."""
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
        passage = await judged(self.conversation, "client", body, self._relay.later)
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
    return jsonrpc.encode(jsonrpc.failure(None, InvalidRequestError(reason)))
