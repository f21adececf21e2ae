"""The stdio transport once something has to wait: an event loop, a reader and a writer thread."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from clawkit.system.processes import end_children
from clawkit.wire import jsonrpc
from clawkit.wire.calls import Interruption
from clawkit.wire.jsonrpc import Message
from clawkit.wire.line_io import write_all

if TYPE_CHECKING:
    from clawkit.wire.stdio import StdioConnection

GRACE_SECONDS = 5.0
LAST_SECONDS = 0.3
BACKLOG_BYTES = 32 * 1024 * 1024
HELD_BYTES = 256 * 1024 * 1024
_AT_ONCE = 64
_AT_MOST_BUFFERED = 256 * 1024

Work = Coroutine[Any, Any, Message | None]


def serve_loop(
    connection: StdioConnection, first: Work | None, rest: list[bytes | None], *, ended: bool
) -> None:
    """Carry on where the blocking loop stopped, until end of input and the grace after it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # This is not the main thread.
            signal.signal(signal.SIGINT, _interrupt)
    loop.run_until_complete(_LoopDoor(connection, loop).serve(first, rest, ended=ended))


def _interrupt(number: int, frame: object) -> None:  # noqa: ARG001 - the signal's
    raise Interruption


class _Writer:
    """Writes in a thread of its own, so that a client that does not read blocks nothing else."""

    def __init__(self, sink: int, on_room: Any, on_broken: Any) -> None:
        self._sink = sink
        self._on_room = on_room
        self._on_broken = on_broken
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._backlog = 0
        self._thread = threading.Thread(target=self._run, name="claw-writer", daemon=True)
        self._thread.start()

    @property
    def full(self) -> bool:
        return self._backlog > BACKLOG_BYTES

    def put(self, data: bytes) -> None:
        with self._lock:
            self._backlog += len(data)
        self._lines.put(data)

    def finish(self, seconds: float) -> None:
        self._lines.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        while (data := self._lines.get()) is not None:
            try:
                write_all(self._sink, data)
            except OSError as error:
                self._on_broken(error)
                return
            with self._lock:
                was_full = self.full
                self._backlog -= len(data)
                has_room = was_full and not self.full
            if has_room:
                self._on_room()


class _LoopDoor:
    def __init__(self, connection: StdioConnection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._session = connection.session
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._tasks: set[asyncio.Task[None]] = set()
        self._outgoing: list[bytes] = []
        self._outgoing_size = 0
        self._held = 0
        self._lines: deque[bytes | None] = deque()
        self._input_ended = False
        self._may_read = threading.Event()
        self._may_read.set()
        self._ended = asyncio.Event()
        self._gone = False
        self._writer = _Writer(connection.sink, self._resume_from_thread, self._broken_from_thread)
        self._out_lock = threading.Lock()

    async def serve(self, first: Work | None, rest: list[bytes | None], *, ended: bool) -> None:
        with contextlib.suppress(NotImplementedError, ValueError):
            self._loop.add_signal_handler(signal.SIGTERM, self._break)
        unsent = self._connection.hand_over(self.send)
        if unsent:
            self._writer.put(unsent)
        if first is not None:
            self._start(first, 0)
        self._lines.extend(rest)
        self._input_ended = ended
        self._take()
        reader = _leave_in_time if ended else self._read
        threading.Thread(target=reader, name="claw-reader", daemon=True).start()
        await self._ended.wait()
        await self._finish_all(time.monotonic() + GRACE_SECONDS)

    async def _finish_all(self, deadline: float) -> None:
        """What ends within the grace is answered; the rest is cancelled."""
        await asyncio.sleep(0)
        self._connection.server.hub.close()
        work = {*self._tasks, *self._connection.server.running_tasks()}
        if work and not self._gone:
            await asyncio.wait(work, timeout=GRACE_SECONDS)
        self._session.close()
        rest = {*self._tasks, *self._connection.server.end_tasks()}
        if rest:
            await asyncio.wait(rest, timeout=LAST_SECONDS)
        self._flush()
        patience = 0 if self._gone else deadline - time.monotonic()
        self._writer.finish(max(patience, LAST_SECONDS))

    def send(self, message: Message) -> None:
        """Queue a message. Progress and log messages are dropped when the client does not read."""
        if self._writer.full and message.get("method") in jsonrpc.ADVISORY:
            return
        data = jsonrpc.encode_reply(message) + b"\n"
        with self._out_lock:
            self._outgoing.append(data)
            self._outgoing_size += len(data)
            first, full = len(self._outgoing) == 1, self._outgoing_size > _AT_MOST_BUFFERED
        if full or threading.get_ident() != self._loop_thread:
            self._drain()
        elif first:
            self._loop.call_soon(self._flush)

    def _drain(self) -> None:
        """Give the writer what was said so far, in the order in which it was said."""
        with self._out_lock:
            if self._outgoing:
                self._writer.put(b"".join(self._outgoing))
                self._outgoing.clear()
                self._outgoing_size = 0

    def _flush(self) -> None:
        self._drain()
        self._adjust()

    def _read(self) -> None:
        """The reader thread. It stops while there is too much to do, but sees the client leave."""
        lines = self._connection.lines
        leaving = threading.Thread(target=_leave_in_time, daemon=True)
        while True:
            if not self._may_read.wait(1):
                if lines.hung_up() and not leaving.is_alive():
                    leaving.start()
                continue
            batch = lines.read()
            self._loop.call_soon_threadsafe(self._hear, batch)
            if batch is None:
                break
        if not leaving.is_alive():
            leaving.start()

    def _hear(self, batch: list[bytes | None] | None) -> None:
        if batch is None:
            self._input_ended = True
            batch = self._connection.lines.rest()
        busy = bool(self._lines)
        self._lines.extend(batch)
        if not busy:
            self._take()

    def _take(self) -> None:
        """A few lines at a time, so that the answers of the first can stop the reading of more."""
        for _ in range(min(len(self._lines), _AT_ONCE)):
            line = self._lines.popleft()
            reply = self._connection.receive(line)
            if isinstance(reply, Coroutine):
                self._start(reply, len(line or b""))
            elif reply is not None:
                self.send(reply)
        if self._lines and self._congested:
            self._may_read.clear()
            self._loop.call_soon(self._adjust)
        elif self._lines:
            self._loop.call_soon(self._take)
        elif self._input_ended:
            self._ended.set()

    def _adjust(self) -> None:
        """Take no more input while the client does not read or too much is held."""
        if self._congested:
            self._may_read.clear()
        elif not self._may_read.is_set():
            self._may_read.set()
            self._take()

    @property
    def _congested(self) -> bool:
        return self._writer.full or self._held > HELD_BYTES

    def _start(self, work: Work, size: int) -> None:
        self._held += size
        task = self._loop.create_task(self._finish(work, size))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, work: Work, size: int) -> None:
        try:
            reply = await work
            if reply is not None:
                self.send(reply)
        finally:
            self._held -= size
            if self._held + size > HELD_BYTES:
                self._adjust()

    def _resume_from_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._adjust)

    def _broken_from_thread(self, error: OSError) -> None:
        self._connection.broken = error
        self._loop.call_soon_threadsafe(self._break)

    def _break(self) -> None:
        self._gone = True
        self._ended.set()


def _leave_in_time() -> None:
    """The last resort: a tool that blocks the event loop does not keep the process alive."""
    time.sleep(GRACE_SECONDS + 3 * LAST_SECONDS)
    end_children()
    os._exit(0)
