"""Pipes that carry one message a line: read in lines, written whole, touched by nothing else."""

from __future__ import annotations

import os
import select
import sys

MAX_LINE = 64 * 1024 * 1024
_CHUNK = 64 * 1024
_BIG_CHUNK = 1024 * 1024
"""For what comes after a full chunk. The memory for it costs more than most messages do."""
_PATIENCE_MS = 200
_NEVER_BLOCKS = 4096
"""As much as a pipe that is ready takes without blocking, by POSIX at least 512 bytes."""


class Lines:
    """Lines from a file descriptor, each at most `limit` bytes; a longer one comes out as None."""

    def __init__(self, fd: int, limit: int = MAX_LINE) -> None:
        self._fd = fd
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._chunk = _CHUNK

    def read(self) -> list[bytes | None] | None:
        """The lines that one read completes, maybe none of them; None at the end of input."""
        try:
            chunk = os.read(self._fd, self._chunk)
        except OSError:
            return None
        self._chunk = _BIG_CHUNK if len(chunk) >= _CHUNK else _CHUNK
        if not chunk:
            return None
        if not self._size and len(chunk) <= self._limit and chunk.find(b"\n") == len(chunk) - 1:
            return [chunk[:-1]]
        *ended, rest = chunk.split(b"\n")
        lines: list[bytes | None] = []
        for piece in ended:
            self._add(piece)
            lines.append(self._take())
        self._add(rest)
        return lines

    def hung_up(self) -> bool:
        """Whether the other end has closed the pipe, whatever there is still to read."""
        if not hasattr(select, "poll"):
            return False
        state = select.poll()
        state.register(self._fd, getattr(select, "POLLRDHUP", 0))
        return bool(state.poll(0))

    def rest(self) -> list[bytes | None]:
        """A last line without a newline, if there is one."""
        return [self._take()] if self._size else []

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._parts.append(piece)
        else:
            self._parts.clear()

    def _take(self) -> bytes | None:
        line = b"".join(self._parts) if self._size <= self._limit else None
        self._parts = []
        self._size = 0
        return line


def claim_stdio() -> tuple[int, int]:
    """Private copies of stdin and stdout; the usual ones now read nothing and write to stderr.

    So neither a tool's `print` nor a child process can touch the protocol.
    """
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return source, sink


def write_ready(fd: int, data: bytes) -> bytes:
    """Write for as long as the other end reads; gives what is left when it does not."""
    if not hasattr(select, "poll"):
        write_all(fd, data)
        return b""
    ready = select.poll()
    ready.register(fd, select.POLLOUT)
    view = memoryview(data)
    while view and ready.poll(_PATIENCE_MS):
        view = view[os.write(fd, view[:_NEVER_BLOCKS]) :]
    return bytes(view)


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
