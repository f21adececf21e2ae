"""The guard in front of a stdio server: starts it, relays its pipes, ends all its processes."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from clawkit.errors import AuditError, ClawError
from clawkit.guard.conversation import GuardConversation
from clawkit.guard.journal import host_id
from clawkit.guard.judge import Judge
from clawkit.guard.passages import Passage
from clawkit.system.processes import (
    adopt_orphans,
    close_to_others,
    descendants,
    end_all,
    end_children,
    keep_freed_memory,
)
from clawkit.system.watchdog import Watchdog, name_as_guard
from clawkit.wire.line_io import BUFFER_BYTES, LineReader, write_all


class PipeWriter:
    """A thread-safe, non-blocking writer that buffers what the other end does not take at once."""

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
        """Write as much as the other end takes, and buffer the rest."""
        with self._turn:
            written = 0 if self._parts else self._write_once(data)
            if written == len(data):
                return
            self._parts.append(memoryview(data)[written:])
            self.waiting += len(data) - written
        self._on_wait()

    def flush(self) -> None:
        """Write more of the buffer."""
        with self._turn:
            self._write()
            if self._closing and not self._parts:
                self._close()

    def close(self) -> None:
        """Close it as soon as the buffer is written."""
        with self._turn:
            self._closing = True
            if not self._parts:
                self._close()

    def finish(self) -> None:
        """Write the whole buffer, however long that takes."""
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


class PipeReader:
    """A reader of lines that pauses while the writers are full."""

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
        self._is_over = False
        self._lines = LineReader(fd, limit)
        self._receive = receive
        self._on_end = on_end

    def read(self) -> bool:
        """Read once; whether there can be more."""
        batch = self._lines.read()
        for line in self._lines.rest() if batch is None else batch:
            if line is None or line.strip():
                self._receive(line)
        if batch is None:
            self._is_over = True
            self.hang_up()
        return batch is not None

    def has_input(self) -> bool:
        """Whether there is something to read."""
        return not self._is_over and self._lines.is_ready(0)

    def hang_up(self) -> None:
        """The other end is closed, even if there is more to read."""
        if not self.has_hung_up:
            self.has_hung_up = True
            self._on_end()


class Pump:
    """One event loop for both directions, by `poll`.

    A thread for each direction would be simpler, but the two would exchange Python's global lock
    for every message, which costs more than the messages do.
    """

    def __init__(self) -> None:
        self._poll = select.poll()
        self._watched: dict[int, int] = {}
        self.is_busy = True
        """Whether something is being handled that has come."""
        self._stopped = False
        self._calm = False
        """Whether nothing waits, and what is watched says so."""
        self._alarm, self._bell = os.pipe()
        os.set_blocking(self._bell, False)
        self._poll.register(self._alarm, select.POLLIN)

    def wake(self) -> None:
        """Wake the loop, from another thread."""
        try:
            os.write(self._bell, b"!")
        except BlockingIOError:
            return  # The pipe is full: it will wake up anyway.

    def stop(self) -> None:
        """End the loop after this turn, from another thread."""
        self._stopped = True
        self.wake()

    def run(
        self,
        readers: dict[int, PipeReader],
        writers: tuple[PipeWriter, ...],
        last: PipeReader,
        on_turn: Callable[[bool], float | None],
    ) -> None:
        """Run until `last` ends. `on_turn` is told whether the loop was idle, and returns the
        milliseconds after which it wants to be called again."""
        events: list[tuple[int, int]] = []
        while last.fd in readers and not self._stopped:
            patience = on_turn(not events)
            self._watch(readers, writers)
            self.is_busy = False
            events = self._poll.poll(patience)
            self.is_busy = True
            for fd, event in events:
                self._handle(fd, event, readers, writers)

    def _handle(
        self, fd: int, event: int, readers: dict[int, PipeReader], writers: tuple[PipeWriter, ...]
    ) -> None:
        if fd in readers:
            if not event & select.POLLIN and not readers[fd].has_room():
                readers[fd].hang_up()
            elif not readers[fd].read():
                del readers[fd]
                self._calm = False
        elif fd == self._alarm:
            os.read(fd, 4096)
        else:
            for writer in writers:
                if writer.fd == fd:
                    writer.flush()

    def _watch(self, readers: dict[int, PipeReader], writers: tuple[PipeWriter, ...]) -> None:
        if self._calm and not any(writer.waiting for writer in writers):
            return
        # Without room only a hang-up is of interest, and only once.
        wanted = {
            fd: select.POLLIN if reader.has_room() else 0
            for fd, reader in readers.items()
            if reader.has_room() or not reader.has_hung_up
        }
        wanted |= {writer.fd: select.POLLOUT for writer in writers if writer.waiting}
        self._calm = not any(writer.waiting for writer in writers)
        if wanted == self._watched:
            return
        for fd in self._watched.keys() - wanted.keys():
            self._poll.unregister(fd)
        for fd, event in wanted.items():
            self._poll.register(fd, event)
        self._watched = wanted


def widen(*fds: int) -> None:
    """Enlarge pipes, where the system allows it, so that most messages fit in whole."""
    if not sys.platform.startswith("linux"):
        return
    import fcntl

    for fd in fds:
        with contextlib.suppress(OSError):  # no pipe, or no more of them for this user
            if fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) < BUFFER_BYTES:
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, BUFFER_BYTES)


def _is_our_own(fd: int) -> bool:
    """Whether no one else writes to it: non-blocking mode would be theirs as well."""
    end, errors = os.fstat(fd), os.fstat(2)
    if (end.st_dev, end.st_ino) == (errors.st_dev, errors.st_ino):
        return False
    return stat.S_ISFIFO(end.st_mode) or stat.S_ISSOCK(end.st_mode)


_GRACE = 8.0
"""How long a server may go on after its input has ended; it is to be done in six seconds."""
_LAST_GRACE = 2.0
_MOMENT = 0.1
_LAST_WORDS = 0.3
_FULL = 1024 * 1024
"""How much may wait for one end before the other is no longer read."""
_OVERFULL = 16 * _FULL
_ENDING = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
_OTHERS = ("SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT")


class Signals:
    """Catches signals and keeps them until there is a handler.

    They are caught before the server starts: else a signal right after that would end the guard
    and leave the server behind.
    """

    def __init__(self) -> None:
        self._kept: list[int] = []
        self._hear: Callable[[int], None] = self._kept.append
        for name in (*_ENDING, *_OTHERS):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda number, _frame: self._hear(number))

    def pass_to(self, hear: Callable[[int], None]) -> None:
        self._hear = hear
        for number in self._kept:
            hear(number)


class Proxy:
    """One run: a client on two descriptors, a server as a child, and a conversation between."""

    def __init__(self, judge: Judge, fds: tuple[int, int], server: subprocess.Popen[bytes]) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self._server = server
        self._pump = Pump()
        widen(fds[0], fds[1], server.stdin.fileno(), server.stdout.fileno())
        self._conversation = GuardConversation(
            judge, host_id(), self._deliver, defers=True, caught_up=self._is_caught_up
        )
        self._to_client = PipeWriter(fds[1], self._pump.wake)
        self._to_server = PipeWriter(os.dup(server.stdin.fileno()), self._pump.wake)
        server.stdin.close()
        limit = judge.policy.current().limits.message
        self._from_client = PipeReader(
            fds[0],
            limit,
            lambda line: self._deliver(self._conversation.receive("client", line)),
            self._client_may_speak,
            self._client_left,
        )
        self._from_server = PipeReader(
            server.stdout.fileno(),
            limit,
            lambda line: self._deliver(self._conversation.receive("server", line)),
            self._server_may_speak,
            lambda: None,
        )
        self._written = time.monotonic()
        self._has_left = False

    def run(self, command: Sequence[str], signals: Signals) -> int:
        """Run until the server has ended; returns its exit status."""
        signals.pass_to(self._pass_signal)
        with contextlib.suppress(AuditError):
            # A log that cannot be written denies the calls; the server may still say so.
            self._conversation.journal.started(command[0])
        threading.Thread(target=self._await_exit, daemon=True).start()
        readers = {reader.fd: reader for reader in (self._from_client, self._from_server)}
        writers = (self._to_client, self._to_server)
        self._pump.run(readers, writers, self._from_server, self._turn)
        status = self._reap()
        for error in self._conversation.end(f"The server ended (status {status})"):
            self._to_client.send(error + b"\n")
        self._to_client.finish()
        with contextlib.suppress(AuditError):
            self._conversation.deferred_audit.write_down()
            self._conversation.journal.ended(f"status {status}")
        return status

    def _deliver(self, passage: Passage) -> None:
        if passage.to_server is not None:
            self._to_server.send(passage.to_server + b"\n")
        if passage.to_client is not None:
            self._to_client.send(passage.to_client + b"\n")
        if self._has_left:
            self._pump.wake()

    def _is_caught_up(self) -> bool:
        """Whether all that the client has said was received; for other threads than the loop's."""
        # In this order: what is not there to be read any more is being handled until it rests.
        return not (self._from_client.has_input() or self._pump.is_busy)

    def _client_may_speak(self) -> bool:
        return self._to_server.waiting < _FULL and self._to_client.waiting < _FULL

    def _server_may_speak(self) -> bool:
        # One that does not read what we answer need not be listened to either.
        return self._to_client.waiting < _FULL and self._to_server.waiting < _OVERFULL

    def _client_left(self) -> None:
        self._has_left = True
        self._close_input()
        self._end_after_grace()

    def _close_input(self) -> None:
        """Close the server's input after the client's has ended and all queued calls are sent."""
        if not self._conversation.waits:
            self._to_server.close()

    def _await_exit(self) -> None:
        """Stop when the server has ended, even if a child of its keeps its output open."""
        self._server.wait()
        time.sleep(_LAST_WORDS)
        self._pump.stop()

    def _turn(self, idle: bool) -> float | None:
        """Write deferred audit records when idle, or after a moment."""
        if self._has_left:
            self._close_input()
        deferred = self._conversation.deferred_audit
        if not deferred:
            return None
        now = time.monotonic()
        if idle or deferred.is_much or now - self._written > _MOMENT:
            self._written = now
            with contextlib.suppress(AuditError):
                # If the log cannot be written, the next call is refused and says why.
                deferred.write_down()
            return None
        return _MOMENT * 1000

    def _pass_signal(self, number: int) -> None:
        if signal.Signals(number).name in _ENDING:
            self._end_after_grace()
        self._server.send_signal(number)

    def _end_after_grace(self) -> None:
        """End the server and its children after the grace period."""
        started = descendants(self._server.pid)
        threading.Thread(target=self._end, args=(started,), daemon=True).start()

    def _end(self, started: list[int], grace: float = _GRACE) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._server.wait(grace)
        if self._server.poll() is None:
            self._server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.wait(_LAST_GRACE)
        self._server.kill()
        end_all(started, _LAST_GRACE)

    def _reap(self) -> int:
        """End the server; returns its status as a shell reports it."""
        self._end(descendants(self._server.pid))
        status = self._server.wait()
        return status if status >= 0 else 128 - status


def run_proxy(
    judge: Judge, command: Sequence[str], environment: Mapping[str, str], fds: tuple[int, int]
) -> int:
    """Start the server behind the guard and serve until it ends; returns its exit status."""
    signals = Signals()
    watch = Watchdog()
    name_as_guard()
    close_to_others()
    adopt_orphans()  # before there are any: none of them leaves the guard's sight
    try:
        server = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=watch.marked(environment),
            bufsize=0,
            # The terminal that the client runs in would take what the server types there.
            start_new_session=True,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise ClawError(f"cannot start {command[0]}: {reason}") from None
    try:
        # These cost a little, while the server starts on its own.
        watch.begin(server.pid)
        keep_freed_memory()
        return Proxy(judge, fds, server).run(command, signals)
    finally:
        sys.stderr.flush()
        watch.stop()
        end_children()
