"""The HTTP response to one message: JSON when the reply comes first, else a stream of events."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message

Asgi = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Asgi]]
SendAsgi = Callable[[Asgi], Awaitable[None]]
HeaderList = list[tuple[bytes, bytes]]

WATCH_AFTER = 0.05
KEEP_ALIVE = 15.0
STREAM_AFTER = 10.0
_BACKLOG = 1000
_EVENTS: HeaderList = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


async def respond(
    send: SendAsgi, status: int, body: bytes = b"", headers: HeaderList | None = None
) -> None:
    """One whole response, JSON if it has a body."""
    fields = list(headers or ())
    fields.append((b"content-length", str(len(body)).encode()))
    if body:
        fields.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


class Outbox:
    """Messages on their way to one client; `put` may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._messages: deque[Message] = deque()
        self._changed = self._loop.create_future()
        self.closed = False

    def put(self, message: Message) -> None:
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.put, message)
        elif len(self._messages) < _BACKLOG or "id" in message:
            self._messages.append(message)
            self.wake()

    def close(self) -> None:
        self.closed = True
        self.wake()

    def wake(self) -> None:
        if not self._changed.done():
            self._changed.set_result(None)

    async def wait(self, seconds: float | None = None) -> None:
        """Until there is a message, the end, or `seconds` have passed."""
        if seconds is None:
            await self._changed
            return
        timer = self._loop.call_later(seconds, self.wake)
        try:
            await self._changed
        finally:
            timer.cancel()

    def take(self) -> list[Message]:
        taken = list(self._messages)
        self._messages.clear()
        if self._changed.done():
            self._changed = self._loop.create_future()
        return taken

    @property
    def empty(self) -> bool:
        return not self._messages


class Answer:
    """Runs the work behind one POST and writes whatever it says."""

    def __init__(
        self,
        receive: Receive,
        send: SendAsgi,
        outbox: Outbox,
        *,
        may_stream: bool,
        on_leave: Callable[[], None],
    ) -> None:
        self._on_leave = on_leave
        self._receive = receive
        self._send = send
        self._outbox = outbox
        self._may_stream = may_stream
        self._watcher: asyncio.Task[None] | None = None

    async def give(
        self,
        work: asyncio.Task[Message | None],
        request_id: Any,
        status: Callable[[Message], int],
        headers: HeaderList,
    ) -> None:
        work.add_done_callback(lambda _: self._outbox.wake())
        loop = asyncio.get_running_loop()
        watch = loop.call_later(WATCH_AFTER, self._watch)
        try:
            await self._outbox.wait(STREAM_AFTER if self._may_stream else None)
            if not work.done() and self._may_stream:
                await self._stream(work, headers)
                return
            reply = await work or jsonrpc.cancelled(request_id)
            if not self._outbox.empty and self._may_stream:
                await self._stream(work, headers)
                return
            await respond(self._send, status(reply), jsonrpc.encode_reply(reply), headers)
        finally:
            watch.cancel()
            if self._watcher is not None:
                self._watcher.cancel()

    async def _stream(self, work: asyncio.Task[Message | None], headers: HeaderList) -> None:
        await open_stream(self._send, headers)
        while True:
            for message in self._outbox.take():
                await send_event(self._send, message)
            if work.done():
                break
            await self._outbox.wait(KEEP_ALIVE)
            if self._outbox.empty and not work.done():
                await keep_alive(self._send)
        for message in self._outbox.take():
            await send_event(self._send, message)
        reply = None if work.cancelled() else work.result()
        if reply is not None:
            await send_event(self._send, reply)
        await close_stream(self._send)

    def _watch(self) -> None:
        """Slow work is worth a look at the connection: the client may leave."""
        self._watcher = asyncio.get_running_loop().create_task(self._until_gone())

    async def _until_gone(self) -> None:
        await disconnected(self._receive)
        self._on_leave()


async def disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def open_stream(send: SendAsgi, headers: HeaderList) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": _EVENTS + headers})


async def send_event(send: SendAsgi, message: Message) -> None:
    body = b"event: message\ndata: " + jsonrpc.encode_reply(message) + b"\n\n"
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def keep_alive(send: SendAsgi) -> None:
    await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})


async def close_stream(send: SendAsgi) -> None:
    await send({"type": "http.response.body", "body": b""})


async def stream_outbox(receive: Receive, send: SendAsgi, outbox: Outbox) -> None:
    """Send what arrives in an outbox until it is closed or the client leaves."""
    await open_stream(send, [])
    gone = asyncio.get_running_loop().create_task(disconnected(receive))
    gone.add_done_callback(lambda _: outbox.close())
    try:
        while not outbox.closed:
            for message in outbox.take():
                await send_event(send, message)
            await outbox.wait(KEEP_ALIVE)
            if outbox.empty and not outbox.closed:
                await keep_alive(send)
        if not gone.done():
            await close_stream(send)
    finally:
        gone.cancel()
