"""The guard in front of a server that is a process: started, served, ended with all it began."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from clawkit.errors import AuditError, ClawError
from clawkit.guard.conversation import GuardConversation
from clawkit.guard.journal import host_id
from clawkit.guard.judge import Judge
from clawkit.guard.passages import Passage
from clawkit.guard.pipes import Inlet, Outlet, Pump, widen
from clawkit.system.processes import (
    adopt_orphans,
    close_to_others,
    descendants,
    end_all,
    end_children,
    keep_freed_memory,
)
from clawkit.system.watchdog import Watchdog

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
    """What the guard is told by signals; kept until there is somebody to hear it.

    They are caught before the server starts: a guard that ended between its server's start and
    its own readiness would leave the server behind.
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
        self._conversation = GuardConversation(judge, host_id(), self._deliver, defers=True)
        self._to_client = Outlet(fds[1], self._pump.wake)
        self._to_server = Outlet(os.dup(server.stdin.fileno()), self._pump.wake)
        server.stdin.close()
        limit = judge.policy.current().limits.message
        self._from_client = Inlet(
            fds[0], limit, self._client_says, self._client_may_speak, self._client_left
        )
        self._from_server = Inlet(
            server.stdout.fileno(), limit, self._server_says, self._server_may_speak, _nothing
        )
        self._written = time.monotonic()
        self._has_left = False

    def run(self, command: Sequence[str], signals: Signals) -> int:
        """Until the server has ended; gives its exit status."""
        signals.pass_to(self._pass_signal)
        with contextlib.suppress(AuditError):
            # A log that cannot be written denies the calls; the server may still say so.
            self._conversation.journal.started(command[0])
        threading.Thread(target=self._await_exit, daemon=True).start()
        inlets = {inlet.fd: inlet for inlet in (self._from_client, self._from_server)}
        outlets = (self._to_client, self._to_server)
        self._pump.run(inlets, outlets, self._from_server, self._turn)
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

    def _client_says(self, line: bytes | None) -> None:
        self._deliver(self._conversation.receive("client", line))

    def _server_says(self, line: bytes | None) -> None:
        self._deliver(self._conversation.receive("server", line))

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
        """The server's input ends with the client's, once it has everything that still waited."""
        if not self._conversation.waits:
            self._to_server.close()

    def _await_exit(self) -> None:
        """A server that has ended is over, even if something it started still has its output."""
        self._server.wait()
        time.sleep(_LAST_WORDS)
        self._pump.stop()

    def _turn(self, idle: bool) -> float | None:
        """Answers are written down when there is nothing else to do, or after a moment."""
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
        """The server and what it started have this long to end by themselves."""
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
        """The server's status, as a shell would say it; one that has closed its output may go."""
        self._end(descendants(self._server.pid))
        status = self._server.wait()
        return status if status >= 0 else 128 - status


def _nothing() -> None:
    return None


def run_proxy(
    judge: Judge, command: Sequence[str], environment: Mapping[str, str], fds: tuple[int, int]
) -> int:
    """Start the server behind the guard and serve until it ends; gives its exit status."""
    signals = Signals()
    watch = Watchdog()
    close_to_others()
    try:
        server = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=watch.marked(environment),
            bufsize=0,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise ClawError(f"cannot start {command[0]}: {reason}") from None
    try:
        # These cost a little, while the server starts on its own.
        watch.begin(server.pid)
        adopt_orphans()
        keep_freed_memory()
        return Proxy(judge, fds, server).run(command, signals)
    finally:
        sys.stderr.flush()
        watch.stop()
        end_children()
