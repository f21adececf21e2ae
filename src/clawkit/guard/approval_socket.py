"""The socket of a guard: its questions go to every window there, and answers come back.

A call waits here, so here it is decided whether an answer counts. Until one does, a no wins over
any yes, whoever says it. What has arrived is read before a yes counts, so that a no which was sent
earlier is never missed. A yes ends with the window that sent it; a no is one wherever it was said.
Whatever goes wrong on the way allows nothing.
"""

from __future__ import annotations

import atexit
import os
import select
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from clawkit.errors import UNREADABLE_JSON, PolicyError
from clawkit.guard.approvals import (
    EACH_CALL,
    LONGEST_ASK,
    AnswerLine,
    Ask,
    Decide,
    EndNote,
    GuardLine,
    Outcome,
    RefusedAnswer,
    has_other_version,
    has_window,
    place_of,
    private_folder,
    socket_at,
    unusable,
)
from clawkit.system.peer_process import PeerProcess
from clawkit.system.watchdog import in_guarded_server, running_guards

if TYPE_CHECKING:
    from clawkit.guard.pending_approvals import Heard, Wait

_TICK = 0.1
_LAST_SECONDS = 0.5
_CONNECTIONS = 64
_LONGEST_LINE = 2 * LONGEST_ASK
"""Of a window: an answer, at most with a rule."""
_PART = 64 * 1024
_MOST_UNSENT = 64 * 1024 * 1024
_REMEMBERED = 32

GUARDED = "a guarded server may not answer for a person: use a terminal of your own"


def ask_windows(
    folder: Path, ask: Ask, wait: Wait | None = None, decide: Decide | None = None
) -> Outcome | None:
    """Wait for a person's answer, from whichever window there is; None when there is none to ask.

    `decide` gets an answer at once, and every window is told what it says. "closed" is that the
    last window went without an answer, "unclear" that the question cannot be asked, "version" that
    there are only windows of another version, "guarded" that this process is of a guarded server,
    for which nobody is asked.
    """
    if in_guarded_server():
        return "guarded"
    if not has_window(folder):
        return "version" if has_other_version(folder) else None
    try:
        if len(msgspec.json.encode(ask)) > LONGEST_ASK:
            return "unclear"
        asking = _socket_of(folder)
    except UnicodeEncodeError:
        return "unclear"
    except PolicyError:  # the folder takes no socket: nobody can be asked
        return None
    if wait is None:
        from clawkit.guard.pending_approvals import Wait

        wait = Wait()
    return asking.ask(ask, wait, decide or _taken)


def _taken(line: AnswerLine) -> EndNote:
    return EndNote(line.id, line.answer, answer=line.answer)


_sockets: dict[Path, ApprovalSocket] = {}
_opening = threading.Lock()


def _socket_of(folder: Path) -> ApprovalSocket:
    """The one socket of this process in a folder, opened by its first question."""
    with _opening:
        found = _sockets.get(folder)
        if found is None:
            found = _sockets[folder] = ApprovalSocket(folder)
        return found


class _Connection:
    """A window, or a script, on the other end."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self.end = end
        self.peer = PeerProcess(end)
        self.received = bytearray()
        self.unsent = bytearray()
        self.is_open = True

    def send(self, line: GuardLine) -> None:
        self.unsent += msgspec.json.encode(line) + b"\n"
        self.flush()

    def flush(self) -> None:
        """Send what can be sent without waiting; who takes nothing for long is let go."""
        try:
            while self.is_open and self.unsent:
                del self.unsent[: self.end.send(self.unsent)]
        except BlockingIOError:
            self.is_open = len(self.unsent) <= _MOST_UNSENT
        except OSError:
            self.unsent.clear()  # what they sent before they hung up is still read

    def lines(self) -> list[bytes]:
        """What has come by now, in whole lines."""
        try:
            while len(self.received) <= _LONGEST_LINE:
                part = self.end.recv(_PART)
                if not part:
                    self.is_open = False
                    break
                self.received += part
        except BlockingIOError:
            pass
        except OSError:
            self.is_open = False
        *lines, rest = self.received.split(b"\n")
        self.received = rest
        self.is_open = self.is_open and len(rest) <= _LONGEST_LINE
        return [bytes(line) for line in lines]


class _Question:
    """A question that waits, and what was said to it, by whom."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.said: list[tuple[AnswerLine, _Connection]] = []
        self.weighed: AnswerLine | None = None
        """The answer that is being decided about, if one is."""

    def denial(self) -> AnswerLine | None:
        return next((line for line, _ in self.said if line.answer == "deny"), None)

    def approval(self) -> AnswerLine | None:
        """The first yes whose window is still there."""
        return next((line for line, window in self.said if window.is_open), None)

    def heard(self) -> Heard:
        if self.denial() is not None:
            return "deny"
        if self.weighed is None:
            return "allow" if self.approval() else ""
        stands = any(line is self.weighed and window.is_open for line, window in self.said)
        return "allow" if stands else ""


class ApprovalSocket:
    """Where windows come to the questions of this process. Every method is for any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._questions: dict[str, _Question] = {}
        self._ended: deque[EndNote] = deque(maxlen=_REMEMBERED)
        self._connections: list[_Connection] = []
        self._changed = threading.Condition()
        if problem := unusable(folder):
            raise PolicyError(os.fspath(folder), 0, problem)
        self._path = socket_at(folder, os.urandom(4).hex())
        self._door = _listen_at(self._path)
        self._place = place_of(self._path)
        self._wake, self._woken = socket.socketpair()
        self._wake.setblocking(False)
        self._woken.setblocking(False)
        self._closing = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def close(self) -> None:
        """Leave no socket behind, and windows with the ends of what waited, if those are near."""
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._questions, _LAST_SECONDS)
            self._closing = True
            self._wake_up()
        self._thread.join()
        self._path.unlink(missing_ok=True)
        with self._changed:
            ends = (one.end for one in self._connections)
            for end in (self._door, self._wake, self._woken, *ends):
                end.close()

    def ask(self, ask: Ask, wait: Wait, decide: Decide) -> Outcome:
        """Put a question to every window until it is decided."""
        question = _Question(ask)
        with self._changed:
            if ask.id in self._questions:
                return "unclear"
            self._questions[ask.id] = question
            self._tell(GuardLine(asks=(ask,)))
        wait.heard = partial(self._heard, question)
        try:
            end, outcome = self._decided(question, wait, decide)
        except BaseException:
            self._finish(question, EndNote(ask.id, "unknown"))
            raise
        finally:
            wait.heard = lambda: ""
        self._finish(question, end)
        return outcome

    def _decided(self, question: _Question, wait: Wait, decide: Decide) -> tuple[EndNote, Outcome]:
        id = question.ask.id
        while True:
            if wait.is_set():
                return EndNote(id, wait.why), "withdrawn"
            # A process that was stopped in between finds an answer for which it is too late.
            if time.time() >= question.ask.deadline:
                return EndNote(id, "expired"), "timeout"
            has_one = has_window(self._folder)  # if not, all that windows have said is read below
            with self._changed:
                self._stay_in_place()
                self._take_in()
                line = question.weighed = question.denial() or question.approval()
            if line is None and not has_one:
                return EndNote(id, "closed"), "closed"
            if line is not None and (end := decide(line)) is not None:
                is_it = end.answer == line.answer
                mark, source = (line.mark, line.source) if is_it else ("", None)
                return replace(end, mark=mark, source=source), line.answer
            with self._changed:
                question.weighed = None
                self._changed.wait(_TICK)

    def _heard(self, question: _Question) -> Heard:
        """What was said to a question, once all was read that windows have sent."""
        with self._changed:
            self._take_in()
            return question.heard()

    def _finish(self, question: _Question, end: EndNote) -> None:
        with self._changed:
            del self._questions[question.ask.id]
            self._ended.append(end)
            self._changed.notify_all()
            self._tell(GuardLine(ended=(end,)))

    def _tell(self, line: GuardLine) -> None:
        for connection in self._connections:
            connection.send(line)
        self._wake_up()

    def _wake_up(self) -> None:
        with suppress(OSError):  # it has been woken up already, or is closed
            self._wake.send(b"x")

    def _serve(self) -> None:
        """Read what comes, and send what could not be sent at once."""
        while not self._closing:
            ready = select.poll()
            ready.register(self._woken, select.POLLIN)
            with self._changed:
                self._take_in()
                ready.register(self._door, select.POLLIN)
                for one in self._connections:
                    one.flush()
                    if one.is_open:
                        unsent = select.POLLOUT if one.unsent else 0
                        ready.register(one.end, select.POLLIN | unsent)
            ready.poll()
            with suppress(BlockingIOError):
                self._woken.recv(1024)
            self._accept()

    def _take_in(self) -> None:
        """Read whatever windows have sent."""
        if self._closing:
            return
        for connection in self._connections:
            for line in connection.lines():
                self._read(connection, line)
        there = [one for one in self._connections if one.is_open]
        kept = there[-_CONNECTIONS:]  # a window that is sent away comes back
        for connection in self._connections:
            if connection not in kept:
                connection.is_open = False
                connection.end.close()
                self._changed.notify_all()
        self._connections = kept

    def _accept(self) -> None:
        """Let one in that has come. Nobody waits meanwhile: whoever comes has said nothing yet."""
        try:
            connection = _Connection(self._door.accept()[0])
        except BlockingIOError:
            return
        except OSError:  # as many files are open as can be, or the door has just been replaced
            time.sleep(_TICK)
            return
        if not connection.peer.is_same_user() or _may_be_guarded(connection.peer):
            connection.end.close()
            return
        with self._changed:
            asks = tuple(one.ask for one in self._questions.values())
            connection.send(GuardLine(asks, tuple(self._ended)))
            self._connections.append(connection)

    def _stay_in_place(self) -> None:
        """Listen anew where windows no longer find this; those that are there stay connected."""
        if self._closing or place_of(self._path) == self._place:
            return
        with suppress(PolicyError):
            door, self._door = self._door, _listen_at(self._path)
            self._place = place_of(self._path)
            door.close()
            self._wake_up()

    def _read(self, connection: _Connection, text: bytes) -> None:
        try:
            line = msgspec.json.decode(text, type=AnswerLine)
        except UNREADABLE_JSON:
            connection.is_open = False
            return
        question = self._questions.get(line.id)
        if problem := self._problem(connection, line, question):
            connection.send(GuardLine(refused=(RefusedAnswer(line.mark, problem),)))
        elif question is not None:
            question.said.append((line, connection))
            self._changed.notify_all()

    def _problem(
        self, connection: _Connection, line: AnswerLine, question: _Question | None
    ) -> str:
        """Why an answer is none."""
        if question is None or question.ask.digest != line.digest:
            return f"no question {line.id!r} waits: `claw approvals list` shows those that do"
        if line.answer == "always" and (line.source == "script" or not line.rule):
            return "a rule for always is reviewed in the view: press w there"
        if question.ask.each_call and line.answer not in ("once", "deny"):
            return f"{EACH_CALL}: answer once or deny"
        # Its process may be gone by now, or not what it was: then it allows nothing.
        if line.answer != "deny" and _may_be_guarded(connection.peer):
            return GUARDED
        return ""


def _listen_at(path: Path) -> socket.socket:
    """A socket in a private folder, where nobody finds it before it listens."""
    private_folder(path.parent)
    made = path.with_name(f"{os.urandom(4).hex()}.new")
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        door.bind(os.fspath(made))
        made.chmod(0o600)
        door.listen(_CONNECTIONS)
        door.setblocking(False)
        made.rename(path)
    except OSError as error:
        door.close()
        raise PolicyError(os.fspath(path.parent), 0, f"cannot listen there: {error}") from error
    return door


def _may_be_guarded(peer: PeerProcess) -> bool:
    try:
        # Who is known at once costs no look at all processes, however often it comes.
        return peer.is_guarded() or peer.is_guarded(running_guards())
    except OSError:  # as many files are open as can be
        return True
