"""Reads and writes lines on pipes; claims stdin and stdout for the protocol."""

from __future__ import annotations

import os
import select
import sys

from clawkit.errors import LoadError

MAX_LINE = 64 * 1024 * 1024
BUFFER_BYTES = 256 * 1024
"""How much is read at once: more than a pipe usually holds."""
_PATIENCE_MS = 200
_WRITE_BYTES = 4096
"""How much a pipe that is ready takes without blocking; by POSIX at least 512 bytes."""


class LineReader:
    """Lines from a file descriptor, each at most `limit` bytes; a longer one comes out as None."""

    def __init__(self, fd: int, limit: int = MAX_LINE) -> None:
        self._fd = fd
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)

    def read(self) -> list[bytes | None] | None:
        """Read once: the lines this completes, maybe none; None at the end of input."""
        try:
            size = _read_into(self._fd, self._view)
        except OSError:
            return None
        if not size:
            return None
        end = self._buffer.find(b"\n", 0, size)
        if end < 0:
            self._add(bytes(self._view[:size]))
            return []
        if end == size - 1 and not self._size and size <= self._limit:
            return [bytes(self._view[:end])]
        *ended, rest = bytes(self._view[:size]).split(b"\n")
        lines: list[bytes | None] = []
        for piece in ended:
            self._add(piece)
            lines.append(self._take())
        self._add(rest)
        return lines

    def is_ready(self, seconds: float | None) -> bool:
        """Whether there is something to read, at once or so long after; None waits for it."""
        if not hasattr(select, "poll"):
            return False
        state = select.poll()
        state.register(self._fd, select.POLLIN)
        found = state.poll(None if seconds is None else 1000 * seconds)
        return any(event & select.POLLIN for _, event in found)

    def hung_up(self) -> bool:
        """Whether the other end has closed the pipe, even if there is more to read."""
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


def _read_into(fd: int, buffer: memoryview) -> int:
    """Read into a buffer, which costs no new memory."""
    if hasattr(os, "readv"):
        return os.readv(fd, [buffer])
    data = os.read(fd, len(buffer))
    buffer[: len(data)] = data
    return len(data)


_closed: set[int] = set()
"""Standard streams that were closed when this process started."""


def open_closed_streams() -> None:
    """Open closed standard streams to nothing; else the next opened file would become one."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if _is_open(fd):
            continue
        _closed.add(fd)
        nothing = os.open(os.devnull, os.O_RDWR)
        if nothing != fd:
            os.dup2(nothing, fd)
            os.close(nothing)
        setattr(sys, name, open(fd, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it stays


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return fd not in _closed


def claim_stdio() -> tuple[int, int]:
    """Private copies of stdin and stdout; file descriptor 0 now reads nothing, 1 writes to stderr.

    So neither a tool's `print` nor a child process can disturb the protocol. Raises LoadError if
    one of them is closed.
    """
    closed = [name for fd, name in enumerate(("stdin", "stdout")) if not _is_open(fd)]
    if closed:
        which = f"{' and '.join(closed)} {'are' if closed[1:] else 'is'} closed"
        raise LoadError(f"{which}: an MCP client starts this command with pipes for both")
    open_closed_streams()
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return source, sink


def write_ready(fd: int, data: bytes) -> bytes:
    """Write as long as the other end reads; returns the rest."""
    if not hasattr(select, "poll"):
        write_all(fd, data)
        return b""
    ready = select.poll()
    ready.register(fd, select.POLLOUT)
    view = memoryview(data)
    while view and ready.poll(_PATIENCE_MS):
        view = view[os.write(fd, view[:_WRITE_BYTES]) :]
    return bytes(view)


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
