"""The answering side of approvals: one view a user, which holds the questions that wait.

Several windows can share it: a terminal, the console, another terminal. One process has the view,
and the others reach it there. The first answer to a question is sent to its proxy, and counts once
the proxy has said so: the call may have been decided there meanwhile. Until then a no replaces it.
When the process that has the view ends, however it does, or is stopped and answers nothing, another
one takes its place, and what waited there is asked here.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Container, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec.structs import replace

from clawkit.errors import UNREADABLE_JSON, PolicyError
from clawkit.guard.approval_answers import EACH_CALL, Ended, not_counted, said_of
from clawkit.guard.approvals import (
    ANSWER_SECONDS,
    LONGEST_REQUEST,
    VERSION,
    Answer,
    Ask,
    End,
    EndNote,
    Source,
    ViewReply,
    ViewRequest,
    has_window,
    is_open,
    look,
    place_of,
    places_of,
    said,
    send_answer,
    unusable,
)
from clawkit.system.files import make_private
from clawkit.system.locks import try_lock
from clawkit.system.peer_process import PeerProcess
from clawkit.system.watchdog import has_ended, is_stopped, running_guards

CAPACITY = 100
ROOM = 8 * 1024 * 1024
"""How many bytes all questions have together: windows look at them many times a second."""
_CONNECTIONS = 2 * CAPACITY
_ENDED = 32
_PATIENCE = 5.0
_TICK = 1.0
_GRACE = 1.0
"""How long after its deadline a question is kept, because its proxy says how it ended."""
_SILENCE = 1.5
"""How long the process that has the view may be silent until another takes its place."""
_INSISTS = 20.0
"""How long a window tries to bring an answer to the one that has the view, or to be that one."""
_RETURN = 3.0
"""How long the proxies of a view that went have to put their questions to the next one."""


GUARDED = "a guarded server may not answer for a person: use a terminal of your own"
GUARDED_ASKS = "a guarded server may not ask a person here: it is its guard that asks"


class _Connection:
    """A proxy, or a script, on the other end; `ask` is the id of its question once it has one."""

    def __init__(self, end: socket.socket, peer: PeerProcess) -> None:
        self.end = end
        self._peer = peer
        self._was_guarded = peer.is_guarded()
        self.received = bytearray()
        self.opened = time.monotonic()
        self.ask = ""

    @property
    def process(self) -> int:
        return self._peer.pid

    def send(self, reply: ViewReply, *, last: bool = True) -> None:
        """Send a reply. After the last one the listening thread closes it, as when that fails."""
        with suppress(OSError):  # the other end has hung up
            self.end.settimeout(_PATIENCE)
            self.end.sendall(msgspec.json.encode(reply) + b"\n")
            self.end.setblocking(False)
            if last:
                self.end.shutdown(socket.SHUT_RDWR)

    def is_guarded(self, *, thoroughly: bool) -> bool:
        """Whether a guarded server, or what it started, is at the other end, or was at first."""
        # Windows look many times a second, and to find every guard takes milliseconds.
        guards = running_guards() if thoroughly else ()
        return self._was_guarded or self._peer.is_guarded(guards)


class _Question:
    """A question that waits here; without a connection its proxy is yet to ask again."""

    def __init__(self, ask: Ask, given: Iterable[ViewReply] = ()) -> None:
        self.ask = ask
        self.size = len(msgspec.json.encode(ask))
        self.connection: _Connection | None = None
        self.missing_since = time.monotonic()
        """Since when it has no connection though its proxy could have asked again."""
        self.given = list(given)
        """What was answered, which only its proxy can make count; after a yes, perhaps a no."""

    def takes(self, answer: Answer) -> bool:
        """Whether an answer can still be given: the first, or a no after one that allows."""
        return not self.given or (answer == "deny" and said(self.given).answer != "deny")

    def asked_by(self, connection: _Connection) -> None:
        """Its proxy asks, or asks again: it is told what was answered meanwhile, be it nothing."""
        self.connection = connection
        nothing = ViewReply(VERSION, self.ask.id, self.ask.digest)
        self.send(said(self.given) if self.given else nothing)

    def send(self, given: ViewReply) -> None:
        """Send an answer, if there is somebody to send it to."""
        if self.connection is not None:
            self.connection.send(given, last=False)

    def ended(self, how: End, problem: str = "", answer: Answer | None = None) -> Ended:
        ours = next((one for one in self.given if answer and one.answer == answer), None)
        return Ended(self.ask, how, ours.source if ours else None, problem, answer)


class _Answering(msgspec.Struct, eq=False):
    """Another process that waits for whether its answer counts; a yes stands while it is there."""

    connection: _Connection
    id: str
    given: ViewReply | None
    answer: Answer
    until: float
    is_told: bool = False
    """Whether it was told that this is not known yet."""


class ApprovalsView:
    """Listens for questions and holds them in order. Every method may be called by any thread."""

    def __init__(
        self,
        path: Path,
        capacity: int = CAPACITY,
        expected: Iterable[Ask] = (),
        given: Iterable[ViewReply] = (),
    ) -> None:
        """`expected` are the questions that waited in a view before: their proxies ask again.

        `given` are the answers to them that no proxy has said to count. Only a no outlives the
        window in which it was given: whether one came after a yes, nobody here may know.
        """
        self._path = path
        self._capacity = capacity
        denied = [one for one in given if one.answer == "deny"]
        self._questions = {
            ask.id: _Question(ask, (one for one in denied if one.id == ask.id)) for ask in expected
        }
        self._answering: list[_Answering] = []
        self._ended: deque[Ended] = deque(maxlen=_ENDED)
        self._changing = threading.Lock()
        self._changed = threading.Condition(self._changing)
        self._closing = False
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._lock = -1
        self._place: tuple[int, int] | None = None

    denies_when_closed: bool = True

    def __enter__(self) -> ApprovalsView:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Start to listen. A view that died leaves its socket behind: it is replaced."""
        if not self.try_open():
            owner = _owner(self._path)
            reason = f"a view is already open in process {owner}: answer there, or quit it first"
            raise PolicyError(os.fspath(self._path), 0, reason)

    def try_open(self, *, take_over: bool = False) -> bool:
        """The same; False while another process has the view, unless its place is to be taken."""
        if problem := unusable(self._path):
            raise PolicyError(os.fspath(self._path), 0, problem)
        lock = _take_lock(self._path, take_over=take_over)
        if lock is None:
            return False
        self._lock = lock
        try:
            self._door = _listen_at(self._path)
        except PolicyError:
            os.close(self._lock)
            raise
        self._place = place_of(self._path)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._door, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread.start()
        return True

    def close(self) -> None:
        """Leave what waits to whoever is asked next, and no socket behind.

        To hang up is no answer: nobody has said no.
        """
        with self._changing:
            self._closing = True
            self._changed.notify_all()
        if self.is_in_place():
            self._path.unlink(missing_ok=True)
        self._wake.send(b"x")
        self._thread.join()
        for end in (self._door, self._wake, self._woken):
            end.close()
        os.close(self._lock)

    def is_in_place(self) -> bool:
        """Whether guards still ask here: another window may have taken over from a stopped one."""
        return place_of(self._path) == self._place

    def asks(self) -> tuple[Ask, ...]:
        """What waits for an answer, in the order of asking."""
        with self._changing:
            return tuple(sorted((one.ask for one in self._questions.values()), key=_asked_at))

    def given(self) -> dict[str, Answer]:
        """The answers that were sent to guards which have not said yet whether they count."""
        return said_of(self.sent())

    def sent(self) -> tuple[ViewReply, ...]:
        """The same, as they were sent, without rules."""
        with self._changing:
            every = [given for one in self._questions.values() for given in one.given]
            return tuple(replace(given, rule="") for given in every)

    def ended(self) -> tuple[Ended, ...]:
        """The last questions that were answered or went away, oldest first."""
        with self._changing:
            return tuple(self._ended)

    def answer(
        self, id: str, answer: Answer, *, rule: str = "", source: Source = "terminal"
    ) -> bool:
        """Answer a question; whether it is this answer that ended it, as its proxy says."""
        given = self._give(id, answer, rule, source)
        if given is None and answer != "deny" and id in self._questions:
            return False  # another answer is on its way
        with self._changed:
            self._changed.wait_for(
                lambda: self._closing or id not in self._questions, ANSWER_SECONDS
            )
        return _counts(given, self._end_of(id))

    def _give(self, id: str, answer: Answer, rule: str, source: Source) -> ViewReply | None:
        """Send an answer to the proxy; None where nobody waits for it, or there is one already."""
        with self._changing:
            question = self._questions.get(id)
            if question is None or not question.takes(answer) or not self.is_in_place():
                return None
            given = ViewReply(
                VERSION, id, question.ask.digest, answer=answer, source=source, rule=rule
            )
            question.given.append(given)
            question.send(given)
            return given

    def _end_of(self, id: str) -> Ended | None:
        return next((end for end in reversed(self.ended()) if end.ask.id == id), None)

    def _finish(
        self, id: str, how: End, problem: str = "", answer: Answer | None = None
    ) -> _Question | None:
        """Take a question out of the list; None if it is no longer there."""
        with self._changing:
            question = self._questions.pop(id, None)
            if question is not None:
                self._ended.append(question.ended(how, problem, answer))
                self._changed.notify_all()
            return question

    def _listen(self) -> None:
        while not self._closing and self.is_in_place():
            for key, _ in self._selector.select(self._patience()):
                if key.fileobj is self._door:
                    self._accept()
                elif isinstance(key.data, _Connection) and key.data.end.fileno() >= 0:
                    self._receive(key.data)
            self._expire()
            self._reply_to_answers()
        with self._changing:
            self._closing = True
            self._changed.notify_all()
        for connection in self._connections():
            self._drop(connection)
        self._selector.close()

    def _patience(self) -> float:
        """Until the next deadline; never long, because the clock may be set."""
        now = time.time()
        return max(0.0, min([_TICK, *(ask.deadline - now for ask in self.asks())]))

    def _connections(self) -> list[_Connection]:
        keys = self._selector.get_map().values()
        return [key.data for key in keys if isinstance(key.data, _Connection)]

    def _expire(self) -> None:
        self._give_up_expected()
        over = time.time() - _GRACE
        for ask in self.asks():
            if ask.deadline > over:
                continue
            how: End = "silent" if ask.id in self.given() else "expired"
            if (question := self._finish(ask.id, how)) is not None:
                reply = ViewReply(VERSION, id=ask.id, digest=ask.digest, answer="deny")
                if question.connection is not None:
                    question.connection.send(reply)
        since = time.monotonic() - _PATIENCE
        for connection in self._silent():
            if connection.opened < since:
                self._drop(connection)

    def _silent(self) -> list[_Connection]:
        """Those that have not said yet what they want, the oldest first."""
        answering = [one.connection for one in self._answering]
        found = [one for one in self._connections() if not one.ask and one not in answering]
        return sorted(found, key=lambda one: one.opened)

    def _give_up_expected(self) -> None:
        """What did not come back in time was answered, or is over, unseen by us.

        A guard that is stopped comes back when it goes on.
        """
        now = time.monotonic()
        with self._changing:
            missing = [one for one in self._questions.values() if one.connection is None]
        for one in missing:
            if is_stopped(one.ask.guard):
                one.missing_since = now
            elif has_ended(one.ask.guard):
                self._finish(one.ask.id, "unknown")
            elif now - one.missing_since > _RETURN:
                self._finish(one.ask.id, _lapsed(one.ask, "elsewhere"))

    def _accept(self) -> None:
        try:
            end, _ = self._door.accept()
        except OSError:  # it was gone before it was let in
            return
        if len(self._connections()) >= _CONNECTIONS and (silent := self._silent()):
            self._drop(silent[0])  # a program that only holds lines keeps nobody out
        peer = PeerProcess(end)
        if len(self._connections()) < _CONNECTIONS and peer.is_same_user():
            end.setblocking(False)
            self._selector.register(end, selectors.EVENT_READ, _Connection(end, peer))
        else:
            end.close()

    def _drop(
        self,
        connection: _Connection,
        how: End | None = None,
        problem: str = "",
        answer: Answer | None = None,
    ) -> None:
        self._selector.unregister(connection.end)
        connection.end.close()
        for one in [one for one in self._answering if one.connection is connection]:
            self._answering.remove(one)
            self._take_back(one)
        question = self._questions.get(connection.ask)
        if question is not None and question.connection is connection and not self._closing:
            unsaid = "unknown" if question.given else _lapsed(question.ask)
            self._finish(connection.ask, how or unsaid, problem, answer)

    def _take_back(self, one: _Answering) -> None:
        """A yes ends with the window that sent it: its proxy has to ask anew."""
        question = self._questions.get(one.id)
        connection = question.connection if question is not None else None
        if question is None or connection is None or self._closing:
            return
        self._receive(connection)  # it may have said that this very answer counts
        with self._changing:
            is_last = question.connection is connection and question.given == [one.given]
            if one.id not in self._questions or not is_last or one.answer == "deny":
                return
            question.given.clear()
            question.connection = None
            question.missing_since = time.monotonic()
        self._drop(connection)

    def _receive(self, connection: _Connection) -> None:
        try:
            part = connection.end.recv(64 * 1024)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        connection.received += part
        # Only how it ended may follow a question: what waits for an answer and speaks is dropped.
        if connection.ask:
            if not part or part.endswith(b"\n") or len(connection.received) > LONGEST_REQUEST:
                self._drop(connection, *_why_ended(connection.received))
            return
        if not part or len(connection.received) > LONGEST_REQUEST:
            self._drop(connection)
        elif part.endswith(b"\n"):
            self._serve(connection)

    def _serve(self, connection: _Connection) -> None:
        try:
            request = msgspec.json.decode(connection.received, type=ViewRequest)
        except UNREADABLE_JSON as error:
            connection.send(ViewReply(VERSION, problem=f"not a request: {error}"))
            return
        if request.version != VERSION:
            text = f"this view speaks version {VERSION}, not {request.version}: start it anew"
            connection.send(ViewReply(VERSION, problem=text))
        elif connection.is_guarded(thoroughly=request.kind != "pending"):
            asks = request.kind == "ask"
            connection.send(ViewReply(VERSION, problem=GUARDED_ASKS if asks else GUARDED))
        elif request.kind == "ask" and request.ask is not None:
            self._take(replace(request.ask, guard=connection.process), connection)
        elif request.kind == "ended":
            self._end_expected(request)
        elif request.kind == "answer" and request.answer is not None:
            self._answer_for(connection, request, request.answer)
        elif request.kind == "pending":
            notes = tuple(map(_note_of, self.ended()))
            connection.send(ViewReply(VERSION, asks=self.asks(), given=self.sent(), ended=notes))
        else:
            connection.send(ViewReply(VERSION, problem=f"incomplete: {request.kind}"))

    def _end_expected(self, request: ViewRequest) -> None:
        """A proxy says what became of a question that it has not put to this view yet."""
        question = self._questions.get(request.id)
        if question is not None and question.connection is None:
            how = request.how or "elsewhere"
            self._finish(request.id, how, request.problem, request.answer)

    def _take(self, ask: Ask, connection: _Connection) -> None:
        with self._changing:
            if self._closing:
                return  # whoever is the next view is asked
            known = self._questions.get(ask.id)
            question = known or _Question(ask)
            waiting = sum(1 for one in self._questions.values() if one.connection is not None)
            others = sum(one.size for one in self._questions.values() if one is not known)
            full = waiting >= self._capacity or others + question.size > ROOM
            is_same = question.ask.digest == ask.digest and question.connection is None
            if not full and ask.id and is_same:
                connection.ask = ask.id
                connection.received.clear()
                self._questions[ask.id] = question
                question.asked_by(connection)
                return
        if full:
            problem = f"as many questions wait as can: {waiting}"
            reply = ViewReply(VERSION, ask.id, ask.digest, answer="deny", problem=problem)
        else:
            reply = ViewReply(VERSION, problem=f"the question {ask.id!r} waits already")
        connection.send(reply)

    def _wants_each_call(self, id: str) -> bool:
        return any(ask.id == id and ask.each_call for ask in self.asks())

    def _answer_for(self, connection: _Connection, request: ViewRequest, answer: Answer) -> None:
        """Take the answer of another process, which is told once the proxy has spoken."""
        id, problem = request.id, ""
        if answer == "always" and (request.source == "script" or not request.rule):
            problem = "a rule for always is reviewed in the view: press w there"
        elif answer in ("session", "tool", "always") and self._wants_each_call(id):
            problem = f"{EACH_CALL}: answer once or deny"
        elif id not in self._questions and self._end_of(id) is None:
            problem = f"no question {id!r} waits: `claw approvals list` shows those that do"
        if problem:
            connection.send(ViewReply(VERSION, problem=problem))
            return
        if not is_open(connection.end):
            return  # what nobody waits for any more is no answer
        given = self._give(id, answer, request.rule, request.source)
        waits = given is not None or answer == "deny"
        until = time.monotonic() + (ANSWER_SECONDS if waits else 0)
        self._answering.append(_Answering(connection, id, given, answer, until))

    def _reply_to_answers(self) -> None:
        """Tell other processes what became of their answers, as far as it is known."""
        now = time.monotonic()
        for one in tuple(self._answering):
            waits = one.id in self._questions
            if waits and is_stopped(one.connection.process):
                self._drop(one.connection)
            if one not in self._answering or (waits and (one.is_told or now < one.until)):
                continue
            stays = waits and one.given is not None
            if not stays:
                self._answering.remove(one)
            end = self._end_of(one.id)
            counted = _counts(one.given, end)
            notes = () if end is None else (_note_of(end),)
            sent = tuple(given for given in self.sent() if given.id == one.id)
            done = counted and end and not end.problem
            problem = "" if done else not_counted(end, one.answer, said_of(sent).get(one.id))
            reply = ViewReply(VERSION, counted=counted, given=sent, ended=notes, problem=problem)
            one.is_told = True
            one.connection.send(reply, last=not stays)


def _counts(given: ViewReply | None, end: Ended | None) -> bool:
    """Whether a question ended by this answer, even if the call was refused for another reason."""
    return given is not None and end is not None and end.answer == given.answer


def _note_of(end: Ended) -> EndNote:
    return EndNote(end.ask.id, end.how, end.source, end.problem, end.answer)


def _asked_at(ask: Ask) -> float:
    return ask.asked


def _lapsed(ask: Ask, how: End = "withdrawn") -> End:
    """How a question ended whose proxy hung up: at the deadline, both sides do."""
    return "expired" if ask.deadline <= time.time() else how


def _why_ended(line: bytearray) -> tuple[End | None, str, Answer | None]:
    """Why a proxy no longer asks, if it says so before it hangs up."""
    with suppress(*UNREADABLE_JSON):
        request = msgspec.json.decode(line, type=ViewRequest)
        if request.kind == "ended":
            return request.how, request.problem, request.answer
    return None, "", None


def join_windows(path: Path) -> tuple[Path, int]:
    """Say that a window is open which can have the view, until this lock is closed."""
    if problem := unusable(path):
        raise PolicyError(os.fspath(path), 0, problem)
    for place in places_of(path):
        lock = _lock_file(place)
        if try_lock(lock):
            return place, lock
        os.close(lock)
    reason = "as many windows are open as can be, or another program keeps their places locked"
    raise PolicyError(os.fspath(path), 0, f"{reason}: end that program")


def _take_lock(path: Path, *, take_over: bool = False) -> int | None:
    """The lock that a view holds while it lives, beside its socket; None if another has it.

    A process that is stopped keeps its lock: to take over is to put another file in its place.
    """
    file = _lock_of(path)
    made = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}") if take_over else file
    lock = _lock_file(made)
    if not try_lock(lock):
        os.close(lock)
        return None
    if take_over:
        made.replace(file)
    found = os.fstat(lock)
    if place_of(file) != (found.st_dev, found.st_ino):  # another one was quicker
        os.close(lock)
        return None
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    return lock


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")


def _lock_file(file: Path) -> int:
    try:
        make_private(file.parent)
        file.parent.chmod(0o700)
        # What is written there must not go where a link leads.
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise PolicyError(os.fspath(file.parent), 0, f"cannot be used: {error}") from error


def _owner(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return _lock_of(path).read_text().strip() or "unknown"
    return "unknown"


def _listen_at(path: Path) -> socket.socket:
    if path.exists() and not path.is_socket():
        raise PolicyError(os.fspath(path), 0, "this is not a socket: move it out of the way")
    path.unlink(missing_ok=True)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        door.bind(os.fspath(path))
        path.chmod(0o600)
        door.listen(_CONNECTIONS)
    except OSError as error:
        door.close()
        raise PolicyError(os.fspath(path), 0, f"cannot listen there: {error}") from error
    door.setblocking(False)
    return door


_REMEMBERED = 32


class View(Protocol):
    """What a window shows and does; an `ApprovalsView` is one, too."""

    @property
    def denies_when_closed(self) -> bool: ...

    def asks(self) -> tuple[Ask, ...]: ...

    def ended(self) -> tuple[Ended, ...]: ...

    def given(self) -> dict[str, Answer]: ...

    def answer(self, id: str, answer: Answer, *, rule: str = "") -> bool: ...


class SharedView:
    """The user's view, in this process or in the one that has it. Any thread may call it."""

    def __init__(self, path: Path, source: Source = "terminal") -> None:
        """`source` is what its answers are known by."""
        self._path = path
        self._source: Source = source
        self._own: ApprovalsView | None = None
        self._window: tuple[Path, int] | None = None
        self._known: dict[str, Ask] = {}
        self._given: tuple[ViewReply, ...] = ()
        self._sent: dict[str, ExitStack] = {}
        """Holds what was answered in another process, for as long as it waits and this is open."""
        self._silent_since: float | None = None
        self._ended: deque[Ended] = deque(maxlen=_REMEMBERED)
        self._changing = threading.RLock()

    def __enter__(self) -> SharedView:
        self.asks()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave what waits to the other windows; without any, it is denied. `asks` opens anew."""
        with self._changing:
            if self._own is not None:
                self._own.close()
                self._own = None
            self._forget_sent(())
            self._leave()

    @property
    def denies_when_closed(self) -> bool:
        """Whether nobody is left to ask without this window."""
        with self._changing:
            if self._own is None:
                return False
            return self._window is None or not has_window(self._path, self._window[0])

    def asks(self) -> tuple[Ask, ...]:
        """What waits for an answer, oldest first. Raises PolicyError where no view can be."""
        with self._changing:
            self._join()
            self._retire()
            if self._own is None:
                found = look(self._path)
                if found is not None:
                    return self._note(found)
                self._open()
            # While another process leaves the view or begins it, what waited there still does.
            return self._own.asks() if self._own is not None else tuple(self._known.values())

    def ended(self) -> tuple[Ended, ...]:
        """The last questions that were answered or went away, oldest first, as far as known."""
        with self._changing:
            return (*self._ended, *(self._own.ended() if self._own is not None else ()))

    def given(self) -> dict[str, Answer]:
        """The answers that were sent to guards which have not said yet whether they count."""
        with self._changing:
            return said_of(self._given) if self._own is None else self._own.given()

    def answer(self, id: str, answer: Answer, *, rule: str = "") -> bool:
        """Answer a question; whether it is this answer that ended it. `ended` says how it did.

        "always" is for a rule that a person has read: the proxy writes it, if the answer counts.
        """
        reply, ask, until = None, None, time.monotonic() + _INSISTS
        while reply is None:
            ask = next((ask for ask in self.asks() if ask.id == id), None)
            with self._changing:
                own = self._own
                sent = self._sent.setdefault(id, ExitStack())
            if own is not None:
                return own.answer(id, answer, rule=rule, source=self._source)
            if time.monotonic() > until:
                return False
            # One that is silent is replaced, and that is where it is answered then.
            if self._silent_since is None:
                reply = send_answer(self._path, id, answer, self._source, rule, sent)
        with self._changing:
            others = (given for given in self._given if given.id != id)
            self._given = (*others, *reply.given)
            if ask is not None and reply.ended and self._known.pop(id, None) is not None:
                self._ended.append(_ended_by(ask, reply.ended[0]))
        return reply.counted

    def _forget_sent(self, waiting: Container[str]) -> None:
        for id in [id for id in self._sent if id not in waiting]:
            self._sent.pop(id).close()

    def end_of(self, id: str) -> Ended | None:
        """How a question ended, if it did and is remembered."""
        return next((end for end in reversed(self.ended()) if end.ask.id == id), None)

    def _join(self) -> None:
        if self._window is None:
            self._window = join_windows(self._path)

    def _leave(self) -> None:
        if self._window is not None:
            os.close(self._window[1])
            self._window = None

    def _open(self) -> None:
        """Have the view, unless another process has it; who asked in the last one returns.

        One that has it and is silent, because it is stopped or is none, has it no longer.
        """
        now = time.monotonic()
        self._silent_since = self._silent_since or now
        view = ApprovalsView(self._path, expected=self._known.values(), given=self._given)
        if view.try_open(take_over=now - self._silent_since >= _SILENCE):
            self._own = view
            self._forget_sent(())
            self._known, self._given = {}, ()
            self._silent_since = None

    def _retire(self) -> None:
        """Go on as one of the others, if one of them has taken over while this was stopped."""
        if self._own is not None and not self._own.is_in_place():
            self._own.close()
            self._known = {ask.id: ask for ask in self._own.asks()}
            self._given = self._own.sent()
            self._ended.extend(self._own.ended())
            self._own = None

    def _note(self, found: ViewReply) -> tuple[Ask, ...]:
        """Remember what waits in the other process, and what of it waits no longer."""
        self._silent_since = None
        self._given = found.given
        now = {ask.id: ask for ask in found.asks}
        notes = {note.id: note for note in found.ended}
        for id, ask in self._known.items():
            if id in now:
                continue
            if note := notes.get(id):
                self._ended.append(_ended_by(ask, note))
            else:
                how = "expired" if ask.deadline <= time.time() else "elsewhere"
                self._ended.append(Ended(ask, how))
        self._known = now
        self._forget_sent(now)
        return found.asks


def _ended_by(ask: Ask, note: EndNote) -> Ended:
    return Ended(ask, note.how, note.source, note.problem, note.answer)
