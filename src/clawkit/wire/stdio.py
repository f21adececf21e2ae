"""The stdio door: one JSON message a line on file descriptors that nothing else can write to.

It starts as a plain blocking loop. The event loop is imported and started by the first request that
has to wait for something; until then a server costs no more than a script.
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
        """Deliver by whatever is in charge now: this loop, or the event loop that took over."""
        with self._lock:
            if self._successor is None:
                data = jsonrpc.encode_reply(message) + b"\n"
                self.unsent = self.unsent + data if self.unsent else write_ready(self.sink, data)
                return
        self._successor(message)

    def hand_over(self, successor: Send) -> bytes:
        """Let `successor` deliver from now on; gives what could not be written yet."""
        with self._lock:
            self._successor = successor
            return self.unsent

    def receive(self, line: bytes | None) -> Reply:
        """What one line leads to: a reply, nothing, or work."""
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
        """Answer what needs no waiting; slow work or a slow client starts the event loop."""
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
    """Serve stdin and stdout until end of input; then the process is done, with all it started.

    `fds` are descriptors already claimed; `on_end` is the last thing that is sure to be done.
    Raises LoadError, after all that, if stdout could not be written to.
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
    _leave_threads_behind(0 if broken is None else 1)
    if broken is not None:
        raise LoadError(f"cannot write to stdout: {broken.strerror}") from broken


def _leave_threads_behind(code: int) -> None:
    """A thread that somebody left running would keep the process alive long after its client."""
    if any(not t.daemon and t is not threading.main_thread() for t in threading.enumerate()):
        # What was left to be done at the end, locks and folders of this process, is done even so.
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
        sys.stderr.flush()
        os._exit(code)
