"""The answering side of approvals: one view a user, which holds the questions that wait.

Several windows can share it: a terminal, the console, another terminal. One process has the view,
and the others reach it there, so that an answer counts once wherever it is given. When that process
ends, however it does, another one takes its place, and what waited there is asked here.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol, get_args

import msgspec

from clawkit.errors import PolicyError
from clawkit.guard.approvals import (
    LONGEST_REQUEST,
    VERSION,
    Answer,
    Ask,
    End,
    EndNote,
    ViewReply,
    ViewRequest,
    answer_pending,
    call_digest,
    has_window,
    look,
    same_user,
    unusable,
    windows_of,
)
from clawkit.guard.authoring.edit import folder_rule, insert_rule, rule_for, tool_rule
from clawkit.guard.locations import policy_file
from clawkit.guard.policy.call import Call
from clawkit.system.files import make_private
from clawkit.system.locks import try_lock

CAPACITY = 100
_CONNECTIONS = 2 * CAPACITY
_ENDED = 32
_PATIENCE = 5.0
_TICK = 1.0
_RETURN = 3.0
"""How long the proxies of a view that went have to put their questions to the next one."""


class Ended(msgspec.Struct, frozen=True):
    """A question that waits no longer, and how it ended."""

    ask: Ask
    how: End
    scripted: bool = False
    """Whether `claw approvals answer` was it, and no window."""


def policy_of(ask: Ask) -> Path:
    """The policy that asked."""
    return Path(ask.file) if ask.file else policy_file()


def is_whole(ask: Ask) -> bool:
    """Whether the call shown is the one that the answer is bound to."""
    return call_digest(ask.call) == ask.digest


EACH_CALL = "the rule that asks wants to be asked about each such call"
"""Why an answer may not reach further than the call."""
Scope = Literal["folder", "tool", "call"]
"""What a rule that is written for an answer is about."""
SCOPES: tuple[Scope, ...] = get_args(Scope)


def rule_of(ask: Ask, scope: Scope = "call") -> str:
    """The rule that allows this call from now on, its tool in its folder, or its tool, as TOML."""
    file = os.fspath(policy_of(ask))
    if not is_whole(ask):
        raise PolicyError(file, 0, "the arguments are not those that were asked about")
    try:
        call = msgspec.convert(ask.call, Call)
    except msgspec.ValidationError as error:
        raise PolicyError(file, 0, f"what was asked about is not a call: {error}") from error
    if call.has_extras:
        raise PolicyError(file, 0, "what stands outside the arguments cannot be said in a rule")
    if ask.each_call:
        raise PolicyError(file, 0, EACH_CALL)
    if scope != "call" and call.method != "tools/call":
        raise PolicyError(file, 0, "a rule for a tool or a folder is for calls of tools only")
    if ask.no_rule:
        raise PolicyError(file, 0, f"below rule {ask.rule} a rule denies, and stays the first word")
    if scope == "tool":
        return tool_rule(call.tool, call.method, ask.servers)
    if scope == "folder":
        return folder_rule(call, ask.servers, str(Path.home()))
    return rule_for(call.tool, call.method, call.arguments, ask.servers or ask.server)


def wider_answers(ask: Ask) -> tuple[Answer, ...]:
    """The answers that allow more than this one call, while the client stays connected."""
    if ask.each_call:
        return ()
    return ("session", "tool") if ask.method == "tools/call" else ("session",)


def scopes_of(ask: Ask) -> Iterator[Scope]:
    """The scopes for which a rule can be written."""
    for scope in SCOPES:
        with suppress(PolicyError):
            rule_of(ask, scope)
            yield scope


def write_rule(ask: Ask, rule: str) -> None:
    """Put a rule into the policy, above the one that asked, unless the policy has changed."""
    if ask.each_call:
        raise PolicyError(os.fspath(policy_of(ask)), 0, EACH_CALL)
    insert_rule(policy_of(ask), rule, ask.rule, digest=ask.policy)


class _Connection:
    """A proxy, or a script, on the other end; `ask` is the id of its question once it has one."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.received = bytearray()
        self.opened = time.monotonic()
        self.ask = ""

    def send(self, reply: ViewReply) -> bool:
        """Send the one reply of this connection; the listening thread then closes it."""
        try:
            self.end.settimeout(_PATIENCE)
            self.end.sendall(msgspec.json.encode(reply) + b"\n")
        except OSError:
            return False
        with suppress(OSError):  # the other end has read it and hung up
            self.end.shutdown(socket.SHUT_RDWR)
        return True


class ApprovalsView:
    """Listens for questions and holds them in order. Every method may be called by any thread."""

    def __init__(self, path: Path, capacity: int = CAPACITY, expected: Iterable[Ask] = ()) -> None:
        """`expected` are the questions that waited in a view before: their proxies ask again."""
        self._path = path
        self._capacity = capacity
        self._expected = {ask.id: ask for ask in expected}
        self._expected_until = time.monotonic() + _RETURN
        self._waiting: dict[str, tuple[Ask, _Connection]] = {}
        self._early: list[tuple[_Connection, ViewRequest, Answer]] = []
        self._ended: deque[Ended] = deque(maxlen=_ENDED)
        self._changing = threading.Lock()
        self._arrived = threading.Condition(self._changing)
        self._closing = False
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._lock = -1

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

    def try_open(self) -> bool:
        """The same; False while another process has the view."""
        if problem := unusable(self._path):
            raise PolicyError(os.fspath(self._path), 0, problem)
        lock = _take_lock(self._path)
        if lock is None:
            return False
        self._lock = lock
        try:
            self._door = _listen_at(self._path)
        except PolicyError:
            os.close(self._lock)
            raise
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
            self._expected.clear()
            self._arrived.notify_all()
        self._path.unlink(missing_ok=True)
        self._wake.send(b"x")
        self._thread.join()
        for end in (self._door, self._wake, self._woken):
            end.close()
        os.close(self._lock)

    def asks(self) -> tuple[Ask, ...]:
        """What waits for an answer, oldest first."""
        with self._changing:
            waiting = (ask for ask, _ in self._waiting.values())
            return (*self._expected.values(), *waiting)

    def ended(self) -> tuple[Ended, ...]:
        """The last questions that were answered or went away, oldest first."""
        with self._changing:
            return tuple(self._ended)

    def answer(self, id: str, answer: Answer) -> bool:
        """Answer a question; False when nobody waits for this answer any more."""
        with self._arrived:
            self._arrived.wait_for(lambda: id not in self._expected)
        return self._finish(id, answer, answer)

    def _finish(self, id: str, answer: Answer, how: End, *, scripted: bool = False) -> bool:
        with self._changing:
            ask, connection = self._waiting.pop(id, (None, None))
            if ask is None or connection is None:
                return False
            reply = ViewReply(VERSION, id=id, digest=ask.digest, answer=answer)
            sent = connection.send(reply)
            self._ended.append(Ended(ask, how if sent else _lapsed(ask), scripted))
            return sent

    def _listen(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(self._patience()):
                if key.fileobj is self._door:
                    self._accept()
                elif isinstance(key.data, _Connection):
                    self._receive(key.data)
            self._expire()
            self._answer_others()
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
        now = time.time()
        for ask in self.asks():
            if ask.deadline <= now:
                self._finish(ask.id, "deny", "expired")
        silent = time.monotonic() - _PATIENCE
        for connection in self._connections():
            if not connection.ask and connection.opened < silent:
                self._drop(connection)

    def _give_up_expected(self) -> None:
        """What did not come back in time was answered, or is over, unseen by us."""
        with self._changing:
            if self._expected and time.monotonic() > self._expected_until:
                asks = self._expected.values()
                self._ended.extend(Ended(ask, _lapsed(ask, "elsewhere")) for ask in asks)
                self._expected.clear()
                self._arrived.notify_all()

    def _accept(self) -> None:
        try:
            end, _ = self._door.accept()
        except OSError:  # it was gone before it was let in
            return
        if len(self._connections()) < _CONNECTIONS and same_user(end):
            end.setblocking(False)
            self._selector.register(end, selectors.EVENT_READ, _Connection(end))
        else:
            end.close()

    def _drop(self, connection: _Connection, how: End | None = None) -> None:
        self._selector.unregister(connection.end)
        connection.end.close()
        with self._changing:
            ask, owner = self._waiting.get(connection.ask, (None, None))
            if ask is not None and owner is connection:
                del self._waiting[ask.id]
                self._ended.append(Ended(ask, how or _lapsed(ask)))

    def _receive(self, connection: _Connection) -> None:
        try:
            part = connection.end.recv(64 * 1024)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        # Only why it ended may follow a question: what waits for an answer and speaks is dropped.
        if connection.ask:
            self._drop(connection, _why_ended(part))
            return
        connection.received += part
        if not part or len(connection.received) > LONGEST_REQUEST:
            self._drop(connection)
        elif part.endswith(b"\n"):
            self._serve(connection)

    def _serve(self, connection: _Connection) -> None:
        try:
            request = msgspec.json.decode(connection.received, type=ViewRequest)
        except (msgspec.DecodeError, RecursionError) as error:
            connection.send(ViewReply(VERSION, problem=f"not a request: {error}"))
            return
        if request.version != VERSION:
            text = f"this view speaks version {VERSION}, not {request.version}: start it anew"
            connection.send(ViewReply(VERSION, problem=text))
        elif request.kind == "ask" and request.ask is not None:
            self._take(request.ask, connection)
        elif request.kind == "answer" and request.answer is not None:
            self._early.append((connection, request, request.answer))
        elif request.kind == "pending":
            notes = tuple(EndNote(one.ask.id, one.how, one.scripted) for one in self.ended())
            connection.send(ViewReply(VERSION, asks=self.asks(), ended=notes))
        else:
            connection.send(ViewReply(VERSION, problem=f"incomplete: {request.kind}"))

    def _take(self, ask: Ask, connection: _Connection) -> None:
        with self._changing:
            if self._closing:
                return  # whoever is the next view is asked
            full = len(self._waiting) >= self._capacity
            if not full and ask.id and ask.id not in self._waiting:
                connection.ask = ask.id
                self._waiting[ask.id] = (ask, connection)
                self._expected.pop(ask.id, None)
                self._arrived.notify_all()
                return
        if full:
            problem = f"{self._capacity} questions wait already"
            reply = ViewReply(VERSION, ask.id, ask.digest, answer="deny", problem=problem)
        else:
            reply = ViewReply(VERSION, problem=f"the question {ask.id!r} waits already")
        connection.send(reply)

    def _wants_each_call(self, id: str) -> bool:
        return any(ask.id == id and ask.each_call for ask in self.asks())

    def _answer_others(self) -> None:
        """Pass on the answers of other processes, once their question is here again."""
        answers, self._early = self._early, []
        for connection, request, answer in answers:
            if request.id in self._expected:
                self._early.append((connection, request, answer))
            else:
                self._answer_for(connection, request, answer)

    def _answer_for(self, connection: _Connection, request: ViewRequest, answer: Answer) -> None:
        id, problem = request.id, ""
        if answer == "always" and not request.reviewed:
            problem = "a rule for always is reviewed in the view: press w there"
        elif answer in ("session", "tool", "always") and self._wants_each_call(id):
            problem = f"{EACH_CALL}: answer once or deny"
        elif not self._finish(id, answer, answer, scripted=not request.reviewed):
            problem = f"no question {id!r} waits: `claw approvals list` shows those that do"
        connection.send(ViewReply(VERSION, problem=problem))


def _lapsed(ask: Ask, how: End = "withdrawn") -> End:
    """How a question ended whose proxy hung up: at the deadline, both sides do."""
    return "expired" if ask.deadline <= time.time() else how


def _why_ended(line: bytes) -> End | None:
    """Why a proxy no longer asks, if it says so before it hangs up."""
    with suppress(msgspec.DecodeError, RecursionError):
        request = msgspec.json.decode(line, type=ViewRequest)
        return request.how if request.kind == "ended" else None
    return None


def join_windows(path: Path) -> int:
    """Say that a window is open which can have the view, until this lock is closed."""
    import fcntl  # not on Windows, where there are no unix sockets either

    if problem := unusable(path):
        raise PolicyError(os.fspath(path), 0, problem)
    lock = _lock_file(windows_of(path))
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def _take_lock(path: Path) -> int | None:
    """The lock that a view holds while it lives, beside its socket; None if another has it."""
    lock = _lock_file(_lock_of(path))
    if not try_lock(lock):
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
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
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

    def answer(self, id: str, answer: Answer) -> bool: ...


class SharedView:
    """The user's view, in this process or in the one that has it. Any thread may call it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own: ApprovalsView | None = None
        self._window = -1
        self._known: dict[str, Ask] = {}
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
            self._leave()

    @property
    def denies_when_closed(self) -> bool:
        """Whether nobody is left to ask without this window."""
        with self._changing:
            if self._own is None:
                return False
            self._leave()  # for a moment: nobody counts windows while the view can be reached
            alone = not has_window(self._path)
            self._join()
            return alone

    def asks(self) -> tuple[Ask, ...]:
        """What waits for an answer, oldest first. Raises PolicyError where no view can be."""
        with self._changing:
            self._join()
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

    def answer(self, id: str, answer: Answer) -> bool:
        """Answer a question; False when nobody waits for this answer any more.

        "always" is for a rule that a person has read, and that is written.
        """
        with self._changing:
            if self._own is not None:
                return self._own.answer(id, answer)
            done = answer_pending(self._path, id, answer, reviewed=True) == ""
            ask = self._known.pop(id, None) if done else None
            if ask is not None:
                self._ended.append(Ended(ask, answer))
            return done

    def _join(self) -> None:
        if self._window < 0:
            self._window = join_windows(self._path)

    def _leave(self) -> None:
        if self._window >= 0:
            os.close(self._window)
            self._window = -1

    def _open(self) -> None:
        """Have the view, unless another process was quicker; who asked in the last one returns."""
        view = ApprovalsView(self._path, expected=self._known.values())
        if view.try_open():
            self._own = view
            self._known = {}

    def _note(self, found: ViewReply) -> tuple[Ask, ...]:
        """Remember what waits in the other process, and what of it waits no longer."""
        now = {ask.id: ask for ask in found.asks}
        notes = {note.id: note for note in found.ended}
        for id, ask in self._known.items():
            if id in now:
                continue
            if note := notes.get(id):
                self._ended.append(Ended(ask, note.how, note.scripted))
            else:
                how = "expired" if ask.deadline <= time.time() else "elsewhere"
                self._ended.append(Ended(ask, how))
        self._known = now
        return found.asks
