"""HTTP responses: JSON, or an event stream if something has to be sent before the reply."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message, RequestId

Asgi = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Asgi]]
SendAsgi = Callable[[Asgi], Awaitable[None]]
HeaderList = list[tuple[bytes, bytes]]

WATCH_AFTER = 0.05
KEEP_ALIVE = 15.0
STREAM_AFTER = 10.0
_BACKLOG = 1000
EVENT_HEADERS: HeaderList = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
_BAD_REQUEST = (-32700, -32600, -32020, -32021, -32022)


def status_of(answer: Message) -> int:
    """The HTTP status of a reply in the modern era."""
    error = answer.get("error")
    if error is None:
        return 200
    if error["code"] == -32601:
        return 404
    return 400 if error["code"] in _BAD_REQUEST else 200


async def respond(
    send: SendAsgi, status: int, body: bytes = b"", headers: HeaderList | None = None
) -> None:
    """Send a whole response; a body is JSON."""
    fields = list(headers or ())
    fields.append((b"content-length", str(len(body)).encode()))
    if body:
        fields.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


def encode_event(message: Message) -> bytes:
    return b"event: message\ndata: " + jsonrpc.encode_reply(message) + b"\n\n"


class EventOutbox:
    """A queue of events for one client."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: deque[bytes] = deque()
        self._changed = self._loop.create_future()
        self.closed = False

    def put(self, event: bytes, *, needed: bool = False) -> None:
        """Queue an event; one that is not needed is dropped when the client does not read."""
        if needed or len(self._events) < _BACKLOG:
            self._events.append(event)
            self._wake()

    def close(self) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        if not self._changed.done():
            self._changed.set_result(None)

    async def wait(self, seconds: float) -> None:
        """Wait for an event or the end, at most `seconds`."""
        timer = self._loop.call_later(seconds, self._wake)
        try:
            await self._changed
        finally:
            timer.cancel()

    def take(self) -> list[bytes]:
        taken = list(self._events)
        self._events.clear()
        if self._changed.done():
            self._changed = self._loop.create_future()
        return taken

    @property
    def empty(self) -> bool:
        return not self._events


class PostResponse:
    """The response to one POST: a stream as soon as something else than the reply is sent.

    The work runs in the task of the HTTP request itself; a second task exists only for a stream.
    """

    def __init__(
        self,
        receive: Receive,
        send: SendAsgi,
        headers: HeaderList,
        *,
        streams: bool,
        plain: bool,
        modern: bool,
        on_disconnect: Callable[[], None],
    ) -> None:
        self._receive = receive
        self._send = send
        self._headers = headers
        self._streams = streams
        self._plain = plain
        self._modern = modern
        self._on_disconnect = on_disconnect
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._outbox: EventOutbox | None = None
        self._writing: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    def put(self, message: Message) -> None:
        """Send a message before the reply; safe to call from any thread."""
        event = encode_event(message)
        needed = message.get("method") not in jsonrpc.ADVISORY
        if threading.get_ident() == self._thread:
            self._stream().put(event, needed=needed)
        else:
            self._loop.call_soon_threadsafe(lambda: self._stream().put(event, needed=needed))

    async def wait_for(self, work: Awaitable[Message | None], request_id: RequestId) -> None:
        """Wait for the work and send its reply."""
        timer = self._loop.call_later(WATCH_AFTER, self._watch)
        try:
            await self.finish(await work or jsonrpc.cancelled(request_id))
        finally:
            timer.cancel()
            for task in (self._watching, self._writing):
                if task is not None:
                    task.cancel()

    async def finish(self, reply: Message) -> None:
        """Send the reply: as JSON, unless a stream has begun or the client accepts no JSON."""
        if self._outbox is None and self._plain:
            body = jsonrpc.encode_reply(reply)
            status = status_of(reply) if self._modern else 200
            await respond(self._send, status, body, self._headers)
            return
        outbox = self._stream()
        outbox.put(encode_event(reply), needed=True)
        outbox.close()
        if self._writing is not None:
            await self._writing

    def _stream(self) -> EventOutbox:
        if self._outbox is None:
            self._outbox = EventOutbox()
            writing = write_stream(self._send, self._outbox, self._headers)
            self._writing = self._loop.create_task(writing)
        return self._outbox

    def _watch(self) -> None:
        """While work is slow, watch for a disconnect and keep the connection alive."""
        self._watching = self._loop.create_task(self._watch_client())

    async def _watch_client(self) -> None:
        timer = self._loop.call_later(STREAM_AFTER, self._stream) if self._streams else None
        try:
            await disconnected(self._receive)
            self._on_disconnect()
        finally:
            if timer is not None:
                timer.cancel()


async def disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def write_stream(send: SendAsgi, outbox: EventOutbox, headers: HeaderList) -> None:
    """Send the events of an outbox until it is closed."""
    await send({"type": "http.response.start", "status": 200, "headers": EVENT_HEADERS + headers})
    while True:
        for event in outbox.take():
            await send({"type": "http.response.body", "body": event, "more_body": True})
        if outbox.closed and outbox.empty:
            break
        await outbox.wait(KEEP_ALIVE)
        if outbox.empty and not outbox.closed:
            await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class NoticeStream(EventOutbox):
    """A stream of notices, open until the client disconnects or it is closed."""

    def tell(self, message: Message) -> None:
        """Send a notice; safe to call from any thread."""
        self._loop.call_soon_threadsafe(self.put, encode_event(message))

    async def write(self, receive: Receive, send: SendAsgi) -> None:
        gone = self._loop.create_task(disconnected(receive))
        gone.add_done_callback(lambda _: self.close())
        try:
            await write_stream(send, self, [])
        finally:
            gone.cancel()
            self.close()
