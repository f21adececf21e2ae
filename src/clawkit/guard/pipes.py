"""One thread between two pairs of pipes: it reads what is there and never waits for a writer.

A thread for each direction would be simpler. But the two would hand Python's lock to and fro for
every message, which costs more than the messages do.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable

from clawkit.wire.line_io import ROOM, LineReader, write_all


class Outlet:
    """An end that is written to, by any thread. What it does not take at once waits here."""

    def __init__(self, fd: int, on_wait: Callable[[], None]) -> None:
        self.fd = fd
        self.waiting = 0
        self._on_wait = on_wait
        self._turn = threading.Lock()
        self._parts: deque[memoryview] = deque()
        self._closing = False
        if _is_our_own(fd):
            os.set_blocking(fd, False)

    def send(self, data: bytes) -> None:
        """Write, as far as the other end takes it; one that has gone is noticed elsewhere."""
        with self._turn:
            written = 0 if self._parts else self._write_once(data)
            if written == len(data):
                return
            self._parts.append(memoryview(data)[written:])
            self.waiting += len(data) - written
        self._on_wait()

    def flush(self) -> None:
        """Go on with what waits."""
        with self._turn:
            self._write()
            if self._closing and not self._parts:
                self._close()

    def close(self) -> None:
        """Close the end, once everything is written."""
        with self._turn:
            self._closing = True
            if not self._parts:
                self._close()

    def finish(self) -> None:
        """Write all that is left, however long the other end takes."""
        with self._turn, contextlib.suppress(OSError):
            os.set_blocking(self.fd, True)
            while self._parts:
                write_all(self.fd, bytes(self._parts.popleft()))

    def _write(self) -> None:
        while self._parts and (written := self._write_once(self._parts[0])):
            part = self._parts.popleft()
            self.waiting -= written
            if written < len(part):
                self._parts.appendleft(part[written:])

    def _write_once(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self.fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)  # Nobody is there any more to miss it.

    def _close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Inlet:
    """An end that is read from, while there is room for what that leads to."""

    def __init__(
        self,
        fd: int,
        limit: int,
        receive: Callable[[bytes | None], None],
        has_room: Callable[[], bool],
        on_end: Callable[[], None],
    ) -> None:
        self.fd = fd
        self.has_room = has_room
        self.has_hung_up = False
        self._lines = LineReader(fd, limit)
        self._receive = receive
        self._on_end = on_end

    def read(self) -> bool:
        """Take in what is there. Whether there can be more."""
        batch = self._lines.read()
        for line in self._lines.rest() if batch is None else batch:
            if line is None or line.strip():
                self._receive(line)
        if batch is None:
            self.hang_up()
        return batch is not None

    def hang_up(self) -> None:
        """The other end has gone, whatever there is still to read."""
        if not self.has_hung_up:
            self.has_hung_up = True
            self._on_end()


class Pump:
    """Reads inlets and writes what waits for outlets, until the last inlet has ended."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._watched: dict[int, int] = {}
        self._stopped = False
        self._calm = False
        """Whether nothing waits, and what is watched says so."""
        self._alarm, self._bell = os.pipe()
        os.set_blocking(self._bell, False)
        self._poll.register(self._alarm, select.POLLIN)

    def wake(self) -> None:
        """Have the loop look again at what waits; for other threads."""
        try:
            os.write(self._bell, b"!")
        except BlockingIOError:
            return  # It has been rung often enough.

    def stop(self) -> None:
        """End the loop after this turn; for other threads."""
        self._stopped = True
        self.wake()

    def run(
        self,
        inlets: dict[int, Inlet],
        outlets: tuple[Outlet, ...],
        last: Inlet,
        on_turn: Callable[[bool], float | None],
    ) -> None:
        """Until `last` ends. `on_turn` hears whether the loop was idle, and says how soon to ask
        again in milliseconds."""
        events: list[tuple[int, int]] = []
        while last.fd in inlets and not self._stopped:
            patience = on_turn(not events)
            self._watch(inlets, outlets)
            events = self._poll.poll(patience)
            for fd, event in events:
                self._handle(fd, event, inlets, outlets)

    def _handle(
        self, fd: int, event: int, inlets: dict[int, Inlet], outlets: tuple[Outlet, ...]
    ) -> None:
        if fd in inlets:
            if not event & select.POLLIN and not inlets[fd].has_room():
                inlets[fd].hang_up()
            elif not inlets[fd].read():
                del inlets[fd]
                self._calm = False
        elif fd == self._alarm:
            os.read(fd, 4096)
        else:
            for outlet in outlets:
                if outlet.fd == fd:
                    outlet.flush()

    def _watch(self, inlets: dict[int, Inlet], outlets: tuple[Outlet, ...]) -> None:
        if self._calm and not any(outlet.waiting for outlet in outlets):
            return
        # Without room only a hang-up is of interest, and only once.
        wanted = {
            fd: select.POLLIN if inlet.has_room() else 0
            for fd, inlet in inlets.items()
            if inlet.has_room() or not inlet.has_hung_up
        }
        wanted |= {outlet.fd: select.POLLOUT for outlet in outlets if outlet.waiting}
        self._calm = not any(outlet.waiting for outlet in outlets)
        if wanted == self._watched:
            return
        for fd in self._watched.keys() - wanted.keys():
            self._poll.unregister(fd)
        for fd, event in wanted.items():
            self._poll.register(fd, event)
        self._watched = wanted


def widen(*fds: int) -> None:
    """Where the system lets us choose, let most messages fit into a pipe as a whole."""
    if not sys.platform.startswith("linux"):
        return
    import fcntl

    for fd in fds:
        with contextlib.suppress(OSError):  # no pipe, or no more of them for this user
            if fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) < ROOM:
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, ROOM)


def _is_our_own(fd: int) -> bool:
    """Whether nobody else writes to it: all who share it would stop waiting with us."""
    end, errors = os.fstat(fd), os.fstat(2)
    if (end.st_dev, end.st_ino) == (errors.st_dev, errors.st_ino):
        return False
    return stat.S_ISFIFO(end.st_mode) or stat.S_ISSOCK(end.st_mode)
