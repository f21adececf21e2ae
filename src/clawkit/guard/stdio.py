"""The guard in front of a server that is a process: two blocking threads between four pipes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence

from clawkit.errors import AuditError, ClawError
from clawkit.guard.conversation import Conversation
from clawkit.guard.journal import host_id
from clawkit.guard.prompts import Passage, Side
from clawkit.guard.warden import Warden
from clawkit.wire.children import descendants, end_all, end_children
from clawkit.wire.lines import Lines, write_all

_GRACE = 8.0
"""How long a server may go on after its input has ended; it is to be done in six seconds."""
_LAST_GRACE = 2.0
_MOMENT = 0.1
_ENDING = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
_OTHERS = ("SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT")


class Pipes:
    """The client's ends and the server's, each written by one thread at a time."""

    def __init__(self, to_client: int, to_server: int) -> None:
        self._client, self._client_turn = to_client, threading.Lock()
        self._server, self._server_turn = to_server, threading.Lock()

    def deliver(self, passage: Passage) -> None:
        # An end that is closed is noticed where it is read.
        try:
            if passage.to_server is not None:
                with self._server_turn:
                    write_all(self._server, passage.to_server + b"\n")
            if passage.to_client is not None:
                with self._client_turn:
                    write_all(self._client, passage.to_client + b"\n")
        except OSError:
            return

    def close_server(self) -> None:
        with self._server_turn, contextlib.suppress(OSError):
            os.close(self._server)


class Scribe:
    """Writes answers down a moment after they were passed on, many at a time.

    The thread that passes them on would make the next call wait, and each alone costs more.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._wanted = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def wake(self) -> None:
        if not self._wanted.is_set():
            self._wanted.set()

    def _run(self) -> None:
        while self._wanted.wait():
            time.sleep(_MOMENT)
            self._wanted.clear()
            with contextlib.suppress(AuditError):
                # If the log cannot be written, the next call is refused and says why.
                self._conversation.write_down()


class Proxy:
    """One run: a client on two descriptors, a server as a child, and a conversation between."""

    def __init__(
        self, warden: Warden, fds: tuple[int, int], server: subprocess.Popen[bytes]
    ) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self._source = fds[0]
        self._server = server
        self._replies = server.stdout.fileno()
        self._pipes = Pipes(fds[1], server.stdin.fileno())
        self._warden = warden
        self._conversation = Conversation(warden, host_id(), self._pipes.deliver, defers=True)
        self._scribe = Scribe(self._conversation)

    def run(self, command: Sequence[str]) -> int:
        """Until the server has ended; gives its exit status."""
        self._pass_signals()
        with contextlib.suppress(AuditError):
            # A log that cannot be written denies the calls; the server may still say so.
            self._conversation.journal.started(command[0])
        threading.Thread(target=self._from_client, daemon=True).start()
        self._from_server()
        status = self._reap()
        for error in self._conversation.end(f"The server ended (status {status})"):
            self._pipes.deliver(Passage(to_client=error))
        with contextlib.suppress(AuditError):
            self._conversation.write_down()
            self._conversation.journal.ended(f"status {status}")
        return status

    def _from_client(self) -> None:
        lines = Lines(self._source, self._warden.policy.current().limits.message)
        while (batch := lines.read()) is not None:
            self._receive("client", batch)
        self._receive("client", lines.rest())
        self._pipes.close_server()
        self._end_after_grace()

    def _from_server(self) -> None:
        lines = Lines(self._replies, self._warden.policy.current().limits.message)
        while (batch := lines.read()) is not None:
            self._receive("server", batch)
        self._receive("server", lines.rest())

    def _receive(self, side: Side, batch: list[bytes | None]) -> None:
        for line in batch:
            if line is not None and not line.strip():
                continue
            self._pipes.deliver(self._conversation.receive(side, line))
            self._scribe.wake()

    def _pass_signals(self) -> None:
        for name in (*_ENDING, *_OTHERS):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._pass_signal)

    def _pass_signal(self, number: int, _frame: object) -> None:
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


def run_proxy(
    warden: Warden, command: Sequence[str], environment: Mapping[str, str], fds: tuple[int, int]
) -> int:
    """Start the server behind the guard and serve until it ends; gives its exit status."""
    try:
        server = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(environment),
            bufsize=0,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise ClawError(f"cannot start {command[0]}: {reason}") from None
    try:
        return Proxy(warden, fds, server).run(command)
    finally:
        sys.stderr.flush()
        end_children()
