"""The stdio transport with an event loop, a reader thread and a writer thread."""

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
CANCEL_SECONDS = 0.3
MAX_UNWRITTEN_BYTES = 32 * 1024 * 1024
MAX_RUNNING_BYTES = 256 * 1024 * 1024
_LINES_AT_ONCE = 64
_MAX_BUFFERED = 256 * 1024

Work = Coroutine[Any, Any, Message | None]


def serve_loop(
    connection: StdioConnection, first: Work | None, rest: list[bytes | None], *, ended: bool
) -> None:
    """Continue where the blocking loop stopped, until end of input and the grace period."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # This is not the main thread.
            signal.signal(signal.SIGINT, _interrupt)
    loop.run_until_complete(_AsyncServer(connection, loop).serve(first, rest, ended=ended))


def _interrupt(number: int, frame: object) -> None:  # noqa: ARG001 - the signal's
    raise Interruption


class _Writer:
    """Writes in its own thread, so that a client that does not read blocks nothing else."""

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
        return self._backlog > MAX_UNWRITTEN_BYTES

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


class _AsyncServer:
    def __init__(self, connection: StdioConnection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._session = connection.session
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._tasks: set[asyncio.Task[None]] = set()
        self._outgoing: list[bytes] = []
        self._outgoing_size = 0
        self._running_bytes = 0
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
        self._handle_lines()
        reader = _exit_after_grace if ended else self._read
        threading.Thread(target=reader, name="claw-reader", daemon=True).start()
        await self._ended.wait()
        await self._finish_all(time.monotonic() + GRACE_SECONDS)

    async def _finish_all(self, deadline: float) -> None:
        """Finish what ends within the grace period; cancel the rest."""
        await asyncio.sleep(0)
        self._connection.server.hub.close()
        work = {*self._tasks, *self._connection.server.running_tasks()}
        if work and not self._gone:
            await asyncio.wait(work, timeout=GRACE_SECONDS)
        self._session.close()
        rest = {*self._tasks, *self._connection.server.end_tasks()}
        if rest:
            await asyncio.wait(rest, timeout=CANCEL_SECONDS)
        self._flush()
        patience = 0 if self._gone else deadline - time.monotonic()
        self._writer.finish(max(patience, CANCEL_SECONDS))

    def send(self, message: Message) -> None:
        """Queue a message; progress and log messages are dropped if the client does not read."""
        if self._writer.full and message.get("method") in jsonrpc.ADVISORY:
            return
        data = jsonrpc.encode_reply(message) + b"\n"
        with self._out_lock:
            self._outgoing.append(data)
            self._outgoing_size += len(data)
            first, full = len(self._outgoing) == 1, self._outgoing_size > _MAX_BUFFERED
        if full or threading.get_ident() != self._loop_thread:
            self._drain()
        elif first:
            self._loop.call_soon(self._flush)

    def _drain(self) -> None:
        """Pass all queued messages to the writer, in order."""
        with self._out_lock:
            if self._outgoing:
                self._writer.put(b"".join(self._outgoing))
                self._outgoing.clear()
                self._outgoing_size = 0

    def _flush(self) -> None:
        self._drain()
        self._update_reading()

    def _read(self) -> None:
        """The reader thread: pauses while congested, but notices when the client hangs up."""
        lines = self._connection.lines
        leaving = threading.Thread(target=_exit_after_grace, daemon=True)
        while True:
            if not self._may_read.wait(1):
                if lines.hung_up() and not leaving.is_alive():
                    leaving.start()
                continue
            batch = lines.read()
            self._loop.call_soon_threadsafe(self._on_lines, batch)
            if batch is None:
                break
        if not leaving.is_alive():
            leaving.start()

    def _on_lines(self, batch: list[bytes | None] | None) -> None:
        if batch is None:
            self._input_ended = True
            batch = self._connection.lines.rest()
        busy = bool(self._lines)
        self._lines.extend(batch)
        if not busy:
            self._handle_lines()

    def _handle_lines(self) -> None:
        """Handle a few lines at a time, so that congestion can stop the reading of more."""
        for _ in range(min(len(self._lines), _LINES_AT_ONCE)):
            line = self._lines.popleft()
            reply = self._connection.receive(line)
            if isinstance(reply, Coroutine):
                self._start(reply, len(line or b""))
            elif reply is not None:
                self.send(reply)
        if self._lines and self._congested:
            self._may_read.clear()
            self._loop.call_soon(self._update_reading)
        elif self._lines:
            self._loop.call_soon(self._handle_lines)
        elif self._input_ended:
            self._ended.set()

    def _update_reading(self) -> None:
        """Pause or resume reading."""
        if self._congested:
            self._may_read.clear()
        elif not self._may_read.is_set():
            self._may_read.set()
            self._handle_lines()

    @property
    def _congested(self) -> bool:
        return self._writer.full or self._running_bytes > MAX_RUNNING_BYTES

    def _start(self, work: Work, size: int) -> None:
        self._running_bytes += size
        task = self._loop.create_task(self._finish(work, size))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, work: Work, size: int) -> None:
        try:
            reply = await work
            if reply is not None:
                self.send(reply)
        finally:
            self._running_bytes -= size
            if self._running_bytes + size > MAX_RUNNING_BYTES:
                self._update_reading()

    def _resume_from_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._update_reading)

    def _broken_from_thread(self, error: OSError) -> None:
        self._connection.broken = error
        self._loop.call_soon_threadsafe(self._break)

    def _break(self) -> None:
        self._gone = True
        self._ended.set()


def _exit_after_grace() -> None:
    """Exit even if a tool blocks the event loop."""
    time.sleep(GRACE_SECONDS + 3 * CANCEL_SECONDS)
    end_children()
    os._exit(0)
