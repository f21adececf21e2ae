"""The stdio transport: one JSON message a line on file descriptors that nothing else can write to.

It starts as a blocking loop. The first request that has to wait starts the event loop.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from clawkit.errors import InvalidRequestError, LoadError
from clawkit.system.processes import end_children
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message
from clawkit.wire.line_io import MAX_LINE, LineReader, claim_stdio, write_ready
from clawkit.wire.session import Send, Session

if TYPE_CHECKING:
    from clawkit.wire.server import Reply, ServerCore


class StdioConnection:
    """The client at the other end of the pipes."""

    def __init__(self, server: ServerCore, source: int, sink: int, max_line: int) -> None:
        self.server = server
        self.sink = sink
        self.lines = LineReader(source, max_line)
        self.unsent = b""
        self.broken: OSError | None = None
        self.session = Session(self.send)
        self._lock = threading.Lock()
        self._successor: Send | None = None
        self._max_line = max_line

    def send(self, message: Message) -> None:
        """Send by this loop, or by the event loop once that has taken over."""
        with self._lock:
            if self._successor is None:
                data = jsonrpc.encode_reply(message) + b"\n"
                self.unsent = self.unsent + data if self.unsent else write_ready(self.sink, data)
                return
        self._successor(message)

    def hand_over(self, successor: Send) -> bytes:
        """Let `successor` send from now on; returns what could not be written yet."""
        with self._lock:
            self._successor = successor
            return self.unsent

    def receive(self, line: bytes | None) -> Reply:
        """Handle one line; None is one that was too long."""
        if line is None:
            reason = f"Invalid request: a message may have at most {self._max_line} bytes"
            return jsonrpc.failure(None, InvalidRequestError(reason))
        if not line.strip():
            return None
        message, problem = jsonrpc.decode_or_error(line)
        if message is None:
            return problem
        return self.server.begin(message, self.session, self.send)

    def serve(self) -> None:
        """Serve without an event loop until a request or the client makes us wait."""
        ended = False
        while not ended:
            batch = self.lines.read()
            ended = batch is None
            lines = self.lines.rest() if batch is None else batch
            for position, line in enumerate(lines):
                reply = self.receive(line)
                if reply is not None and not isinstance(reply, Coroutine):
                    self.send(reply)
                    reply = None
                if reply is not None or self.unsent:
                    from clawkit.wire.stdio_async import serve_loop

                    serve_loop(self, reply, lines[position + 1 :], ended=ended)
                    return


def serve_stdio(
    server: ServerCore,
    *,
    fds: tuple[int, int] | None = None,
    max_line: int = MAX_LINE,
    on_end: Callable[[], None] | None = None,
) -> None:
    """Serve stdin and stdout until end of input, then end all child processes.

    `fds` are descriptors already claimed; `on_end` is called last. Raises LoadError, after all
    that, if stdout could not be written to.
    """
    source, sink = fds or claim_stdio()
    connection = StdioConnection(server, source, sink, max_line)
    try:
        connection.serve()
    except OSError as error:
        connection.broken = error
    end_children()
    if on_end is not None:
        on_end()
    broken = connection.broken
    if isinstance(broken, ConnectionError):  # a client may leave
        broken = None
    _exit_despite_threads(0 if broken is None else 1)
    if broken is not None:
        raise LoadError(f"cannot write to stdout: {broken.strerror}") from broken


def _exit_despite_threads(code: int) -> None:
    """Exit if a thread that a tool left running would keep the process alive."""
    if any(not t.daemon and t is not threading.main_thread() for t in threading.enumerate()):
        # The locks and folders of this process are still released.
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
        sys.stderr.flush()
        os._exit(code)
