"""Questions to a person, and the socket on which `claw approvals` answers them.

The view listens on a unix socket; each connection carries JSON lines. To a proxy's question it says
at once what a person has said to it already, be it nothing, and then what they say later. The call
waits in the proxy, so it is the proxy that decides whether an answer counts: in a second line it
says how the question ended, by that answer or otherwise. Until it has said so, a line with a no may
follow one that allows, and it is the no that counts. A view that goes, or whose place another one
takes, is no answer, and neither is a yes that it gave and no proxy has taken: the question is put
to the next one, while a window is open that can become it. A no is one wherever it was said.
Whatever goes wrong on the way allows nothing.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from clawkit.errors import UNREADABLE_JSON, PolicyError
from clawkit.system.watchdog import in_guarded_server, running_guards

if TYPE_CHECKING:
    import socket as sockets

    from clawkit.guard.pending_approvals import Heard, Wait

VERSION = 8
LONGEST_PATH = 100
LONGEST_REQUEST = 256 * 1024
_LONGEST_REPLY = 16 * 1024 * 1024
_PATIENCE = 5.0
_LOOK_SECONDS = 1.5
"""How long a window waits for what another one shows; it is asked again and again."""
ANSWER_SECONDS = 10.0
"""How long a window waits until the proxy has said whether an answer counts."""
_MOST_WINDOWS = 32
_TICK = 0.1
_BACKLOG_TICK = 0.01

Answer = Literal["once", "session", "tool", "always", "deny"]
Outcome = (
    Answer | Literal["timeout", "withdrawn", "closed", "full", "unclear", "guarded", "version"]
)
"""What became of a question: an answer, or why there is none."""
Source = Literal["page", "terminal", "form", "script"]
"""Where an answer was given: the console's page, a terminal, the client's form, or a script."""
_WithoutAnswer = Literal["expired", "withdrawn", "form", "covered", "allowed"]
End = Answer | _WithoutAnswer | Literal["refused", "elsewhere", "unknown", "silent"]
"""How a question ended, as its proxy says.

With an answer, or one that was refused all the same; too late, or without anybody's answer; by its
client's form; because another answer covers it, or the policy allows it by now. The last three are
that the proxy did not say: before an answer, after one was sent to it, or until its time was over.
"""


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question to a person, bound to one call under one version of the policy."""

    id: str
    server: str
    client: str
    method: str
    tool: str
    rule: int
    description: str
    digest: str
    policy: str
    deadline: float
    call: dict[str, Any]
    """All that is asked about: the call's method, tool, arguments, and what else it has."""
    # What a rule for "always" needs besides: every name that the server may have, and the file.
    servers: tuple[str, ...] = ()
    file: str = ""
    asked: float = 0.0
    """When the call came, by which the list is in order."""
    local: bool = False
    """Whether its paths are on this machine."""
    each_call: bool = False
    """Whether an answer may count for this one call only."""
    no_rule: bool = False
    """Whether a rule for it would stand above one that denies, so that none is written."""
    by_server: bool = False
    """Whether it is the server that wants something of the client: then the words are its own."""
    guard: int = 0
    """The process in which the call waits, as the view sees it."""


class ViewRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The line that a connection brings to the view."""

    version: int
    kind: Literal["ask", "ended", "pending", "answer"]
    ask: Ask | None = None
    id: str = ""
    how: End | None = None
    """Why it is no longer asked."""
    problem: str = ""
    """Why an answer that allows was refused."""
    answer: Answer | None = None
    """What a person says, or the answer by which a question ended."""
    source: Source = "script"
    rule: str = ""
    """For "always": the rule that a person has read, which the proxy is to write."""


class EndNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a question ended, for windows that know what it was."""

    id: str
    how: End
    source: Source | None = None
    """Where it was answered, if it was."""
    problem: str = ""
    """Why an answer that allows was refused."""
    answer: Answer | None = None
    """The answer by which it ended, if it did by one, also if that was refused."""


class ViewReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The line that the view sends back. An answer repeats what it is the answer to."""

    version: int
    id: str = ""
    digest: str = ""
    answer: Answer | None = None
    source: Source | None = None
    rule: str = ""
    counted: bool = False
    """Whether it was this window's answer that ended the question."""
    asks: tuple[Ask, ...] = ()
    given: tuple[ViewReply, ...] = ()
    """The answers, without rules, that proxies were sent and have not said to count yet."""
    ended: tuple[EndNote, ...] = ()
    problem: str = ""


def call_digest(call: dict[str, Any]) -> str:
    """What an answer is bound to: the sha256 of the call as JSON, its keys in order."""
    return hashlib.sha256(msgspec.json.encode(call, order="sorted")).hexdigest()


Decide = Callable[[ViewReply], EndNote | None]
"""Takes an answer, and says how the question ended: with it, or before it came.

None if it has not, because by now another answer has come, or the view of this one is gone.
"""


def ask_view(
    path: Path, ask: Ask, wait: Wait | None = None, decide: Decide | None = None
) -> Outcome | None:
    """Wait for a person's answer, from whichever view there is; None when there is none to ask.

    `decide` gets an answer at once, and the view is told what it says. "closed" is that the last
    window went without an answer, "full" that no more questions are taken, "unclear" that what came
    is none, "version" that the view speaks another version, "guarded" that this process is of a
    guarded server, for which nobody is asked.
    """
    if in_guarded_server():
        return "guarded"
    if wait is None:
        from clawkit.guard.pending_approvals import Wait

        wait = Wait()
    wait.heard = lambda: "unknown"
    try:
        return _ask_each(_Asking(path, ask, wait, decide or _taken))
    finally:
        wait.heard = lambda: ""


def _ask_each(asking: _Asking) -> Outcome | None:
    """Ask in the view that is there, and in the next one while there is a window for it."""
    path, ask, wait = asking.path, asking.ask, asking.wait
    asked = False
    while time.time() < ask.deadline:
        place = place_of(path)
        connection = _connect(path, to_ask=True)
        if connection is not None:
            asked = True
            with _Line(connection, ask, lambda place=place: place_of(path) == place) as line:
                outcome = asking.ask_at(line)
            if outcome is not None:
                return outcome
        elif not has_window(path):
            return "closed" if asked else None
        if wait.wait(_TICK):
            return asking.tell(EndNote(ask.id, wait.why), "withdrawn")
    return "timeout"


def place_of(path: Path) -> tuple[int, int] | None:
    """What tells the socket at a path from every other one that may come there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def has_view(path: Path) -> bool:
    """Whether a view is open that can be asked, or a window that is about to be one."""
    connection = _connect(path)
    if connection is not None:
        connection.close()
    return connection is not None or has_window(path)


def places_of(path: Path) -> Iterator[Path]:
    """The files of which each open window locks one, which no kind of end leaves locked."""
    return (path.with_suffix(f".window-{number}") for number in range(_MOST_WINDOWS))


def has_window(path: Path, besides: Path | None = None) -> bool:
    """Whether any window is open, be it that it has the view or could take it over."""
    return not unusable(path) and any(
        _is_locked(place) for place in places_of(path) if place != besides
    )


def _is_locked(place: Path) -> bool:
    import fcntl  # not on Windows, where there are no unix sockets either

    try:
        lock = os.open(place, os.O_RDWR)
    except OSError:  # there never was one
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # as others do who look at this moment
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def pending(path: Path) -> list[Ask] | None:
    """The questions that a running view holds, oldest first; None when no view runs."""
    reply = look(path)
    return None if reply is None else list(reply.asks)


def look(path: Path) -> ViewReply | None:
    """What waits in a running view, and how the last ones ended; None when no view runs.

    Raises PolicyError, as everything that asks a view, where that speaks another version.
    """
    with ExitStack() as until_end:
        return _request(path, ViewRequest(VERSION, "pending"), _LOOK_SECONDS, until_end)


def answer_pending(path: Path, id: str, answer: Answer) -> str | None:
    """Answer a question for a script: "" when done, else why not; None when no view runs."""
    reply = send_answer(path, id, answer, "script")
    return None if reply is None else reply.problem


def send_answer(
    path: Path,
    id: str,
    answer: Answer,
    source: Source,
    rule: str = "",
    until_end: ExitStack | None = None,
) -> ViewReply | None:
    """Answer a question through the running view, and wait for what its proxy says to that.

    A yes that its proxy has not confirmed stands until the end of this process, or of `until_end`.
    """
    request = ViewRequest(VERSION, "answer", id=id, answer=answer, source=source, rule=rule)
    with ExitStack() as by_default:
        patience = ANSWER_SECONDS + _PATIENCE
        return _request(path, request, patience, until_end or by_default)


def unusable(path: Path) -> str:
    """Why no socket can be at this path; empty when one can."""
    import socket

    if not hasattr(socket, "AF_UNIX"):
        return "this system has no unix sockets, so approvals can only be asked in the client"
    length = len(os.fsencode(path))
    if length > LONGEST_PATH:
        return (
            f"the path has {length} bytes and a socket's may have {LONGEST_PATH}: "
            "set CLAW_HOME or XDG_DATA_HOME to a shorter folder"
        )
    return ""


def _connect(path: Path, *, to_ask: bool = False) -> sockets.socket | None:
    if unusable(path):
        return None
    import socket

    from clawkit.system.peer_process import PeerProcess

    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with suppress(OSError):  # nobody listens there
        _reach(connection, path)
        # A guarded server that listens there would answer for a person.
        peer = PeerProcess(connection)
        if peer.is_same_user() and not peer.is_guarded(running_guards() if to_ask else ()):
            return connection
    connection.close()
    return None


def _reach(connection: sockets.socket, path: Path) -> None:
    """Connect; a view that has many connections to accept is waited for."""
    connection.settimeout(_PATIENCE)
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return connection.connect(os.fspath(path))
        except BlockingIOError:  # its backlog is full, which a time limit does not wait for
            if time.monotonic() > until:
                raise
            time.sleep(_BACKLOG_TICK)


class _Versioned(msgspec.Struct, frozen=True):
    """What every line says, of whatever version it is."""

    version: int


_OTHER_VERSION = (
    "calls are shown by a window of another version of clawkit (it speaks {}, this one {}): "
    "close it, and start anew what runs since before the update"
)


def _request(
    path: Path, request: ViewRequest, patience: float, until_end: ExitStack
) -> ViewReply | None:
    connection = _connect(path)
    if connection is None:
        return None
    until_end.enter_context(connection)
    try:
        connection.sendall(_line(request))
        line = _read_line(connection, time.monotonic() + patience)
        version = msgspec.json.decode(line, type=_Versioned).version
        if version == VERSION:
            return msgspec.json.decode(line, type=ViewReply)
    except (OSError, UnicodeEncodeError, *UNREADABLE_JSON):
        return None
    raise PolicyError(os.fspath(path), 0, _OTHER_VERSION.format(version, VERSION))


class _Line:
    """What one view says to one question; any thread may look at what has come by now."""

    def __init__(self, end: sockets.socket, ask: Ask, is_there: Callable[[], bool]) -> None:
        """`is_there` is whether this view is still the one that is asked."""
        self.end = end
        self.problem: Literal["", "unclear", "version"] = ""
        """What is wrong with what came, if it is no answer to this question."""
        self.is_there = is_there
        self._ask = ask
        self._received = bytearray()
        self._replies: list[ViewReply] = []
        self._has_ended = False
        self._reading = threading.Lock()

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        with self._reading:
            self._has_ended = True
            self.end.close()

    @property
    def reply(self) -> ViewReply:
        """The answer that counts of those that came."""
        return said([reply for reply in self._replies if reply.answer is not None])

    def heard(self) -> Heard:
        """What a person has said in this view. A no stays one if it goes; a yes ends with it."""
        with self._reading:
            self._take_in()
            answers = [reply.answer for reply in self._replies]
            if "deny" in answers:
                return "deny"
            if self._has_ended or self.problem or not answers or not self.is_there():
                return "unknown"
            return "allow" if any(answers) else ""

    def has_gone(self) -> bool:
        return self._has_ended or not self.is_there()

    def wait(self, seconds: float) -> None:
        """Wait until more comes, so long at most."""
        import select

        coming = select.poll()
        coming.register(self.end, select.POLLIN)
        coming.poll(1000 * seconds)

    def _take_in(self) -> None:
        try:
            while not self._has_ended:
                part = self.end.recv(64 * 1024)
                self._has_ended = not part
                self._received += part
        except BlockingIOError:
            pass
        except OSError:
            self._has_ended = True
        *lines, rest = self._received.split(b"\n")
        self._received = rest
        if len(rest) > _LONGEST_REPLY:
            self.problem = "unclear"
        for line in lines:
            self._note(bytes(line))

    def _note(self, line: bytes) -> None:
        try:
            if msgspec.json.decode(line, type=_Versioned).version != VERSION:
                self.problem = "version"
                return
            reply = msgspec.json.decode(line, type=ViewReply)
        except UNREADABLE_JSON:
            self.problem = "unclear"
            return
        if (reply.id, reply.digest) == (self._ask.id, self._ask.digest):
            self._replies.append(reply)
        else:
            self.problem = "unclear"


class _Asking(msgspec.Struct, frozen=True):
    """A question on its way to a view, and to the next one if that goes."""

    path: Path
    ask: Ask
    wait: Wait
    decide: Decide

    def ask_at(self, view: _Line) -> Outcome | None:
        """What comes back to the question; None when the view goes before a no of it came."""
        try:
            line = _line(ViewRequest(VERSION, "ask", ask=self.ask))
        except UnicodeEncodeError:
            return "unclear"
        if len(line) > LONGEST_REQUEST:
            return "unclear"
        try:
            view.end.sendall(line)
            view.end.setblocking(False)
        except OSError:
            return None
        self.wait.heard = view.heard
        while True:
            if self.wait.is_set():
                return self.tell(EndNote(self.ask.id, self.wait.why), "withdrawn", view)
            # A process that was stopped in between finds an answer for which it is too late.
            if time.time() >= self.ask.deadline:
                return self.tell(EndNote(self.ask.id, "expired"), "timeout", view)
            heard = view.heard()
            if view.problem and heard != "deny":
                return view.problem
            if heard in ("allow", "deny"):
                reply = view.reply
                if reply.answer == "deny" and reply.problem:
                    return "full"
                if (end := self.decide(reply)) is not None:
                    return self.tell(end, reply.answer or "unclear", view)
            elif view.has_gone():
                return None
            view.wait(_TICK)

    def tell(self, end: EndNote, outcome: Outcome, view: _Line | None = None) -> Outcome:
        """The same, once the view was told how the question ended: this one, or whichever is."""
        connection = view.end if view is not None and view.is_there() else None
        note = ViewRequest(
            VERSION, "ended", id=end.id, how=end.how, problem=end.problem, answer=end.answer
        )
        with ExitStack() as until_end, suppress(OSError, UnicodeEncodeError):
            if connection is None and (connection := _connect(self.path)) is not None:
                until_end.enter_context(connection)
            if connection is not None:
                connection.settimeout(_PATIENCE)
                connection.sendall(_line(note))
        return outcome


def _taken(reply: ViewReply) -> EndNote:
    assert reply.answer is not None
    return EndNote(reply.id, reply.answer, answer=reply.answer)


def said(replies: Sequence[ViewReply]) -> ViewReply:
    """The answer that counts among several: a no, or else the first."""
    return next((each for each in replies if each.answer == "deny"), replies[0])


def is_open(connection: sockets.socket) -> bool:
    """Whether the other end has not hung up."""
    import socket

    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def _line(request: ViewRequest) -> bytes:
    return msgspec.json.encode(request) + b"\n"


def _read_line(connection: sockets.socket, deadline: float) -> bytes:
    """One line; empty when it did not come whole and in time."""
    received = bytearray()
    while len(received) <= _LONGEST_REPLY and (left := deadline - time.monotonic()) > 0:
        connection.settimeout(left)
        part = connection.recv(64 * 1024)
        received += part
        if received.endswith(b"\n"):
            return bytes(received).partition(b"\n")[0]
        if not part:
            break
    return b""
