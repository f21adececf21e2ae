"""The answering side of approvals: one view a user, which holds the questions that wait."""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

import msgspec

from clawkit.errors import PolicyError
from clawkit.guard.approvals import (
    LONGEST_REQUEST,
    VERSION,
    Answer,
    Ask,
    ViewReply,
    ViewRequest,
    call_digest,
    same_user,
    unusable,
)
from clawkit.guard.authoring.edit import folder_rule, insert_rule, rule_for, tool_rule
from clawkit.guard.locations import policy_file
from clawkit.guard.policy.call import Call
from clawkit.system.files import make_private

CAPACITY = 100
_CONNECTIONS = 2 * CAPACITY
_ENDED = 32
_PATIENCE = 5.0
_TICK = 1.0

End = Literal["once", "session", "tool", "always", "deny", "expired", "withdrawn", "elsewhere"]


class Ended(msgspec.Struct, frozen=True):
    """A question that waits no longer, and how it ended."""

    ask: Ask
    how: End


def policy_of(ask: Ask) -> Path:
    """The policy that asked."""
    return Path(ask.file) if ask.file else policy_file()


def is_whole(ask: Ask) -> bool:
    """Whether what can be shown is what the answer is bound to."""
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

    def __init__(self, path: Path, capacity: int = CAPACITY) -> None:
        self._path = path
        self._capacity = capacity
        self._waiting: dict[str, tuple[Ask, _Connection]] = {}
        self._ended: deque[Ended] = deque(maxlen=_ENDED)
        self._changing = threading.Lock()
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
        if problem := unusable(self._path):
            raise PolicyError(os.fspath(self._path), 0, problem)
        self._lock = _take_lock(self._path)
        try:
            self._door = _listen_at(self._path)
        except PolicyError:
            os.close(self._lock)
            raise
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._door, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread.start()

    def close(self) -> None:
        """Deny what waits, and leave no socket behind."""
        with self._changing:
            self._closing = True
        for ask in self.asks():
            self.answer(ask.id, "deny")
        self._wake.send(b"x")
        self._thread.join()
        self._path.unlink(missing_ok=True)
        for end in (self._door, self._wake, self._woken):
            end.close()
        os.close(self._lock)

    def asks(self) -> tuple[Ask, ...]:
        """What waits for an answer, oldest first."""
        with self._changing:
            return tuple(ask for ask, _ in self._waiting.values())

    def ended(self) -> tuple[Ended, ...]:
        """The last questions that were answered or went away, oldest first."""
        with self._changing:
            return tuple(self._ended)

    def answer(self, id: str, answer: Answer) -> bool:
        """Answer a question; False when nobody waits for this answer any more."""
        return self._finish(id, answer, answer)

    def _finish(self, id: str, answer: Answer, how: End) -> bool:
        with self._changing:
            ask, connection = self._waiting.pop(id, (None, None))
            if ask is None or connection is None:
                return False
            reply = ViewReply(VERSION, id=id, digest=ask.digest, answer=answer)
            sent = connection.send(reply)
            self._ended.append(Ended(ask, how if sent else _lapsed(ask)))
            return sent

    def _listen(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(self._patience()):
                if key.fileobj is self._door:
                    self._accept()
                elif isinstance(key.data, _Connection):
                    self._receive(key.data)
            self._expire()
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
        now = time.time()
        for ask in self.asks():
            if ask.deadline <= now:
                self._finish(ask.id, "deny", "expired")
        silent = time.monotonic() - _PATIENCE
        for connection in self._connections():
            if not connection.ask and connection.opened < silent:
                self._drop(connection)

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

    def _drop(self, connection: _Connection) -> None:
        self._selector.unregister(connection.end)
        connection.end.close()
        with self._changing:
            ask, owner = self._waiting.get(connection.ask, (None, None))
            if ask is not None and owner is connection:
                del self._waiting[ask.id]
                self._ended.append(Ended(ask, _lapsed(ask)))

    def _receive(self, connection: _Connection) -> None:
        try:
            part = connection.end.recv(64 * 1024)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        connection.received += part
        # Nothing may follow the one line: what waits for an answer and still speaks is dropped.
        if not part or connection.ask or len(connection.received) > LONGEST_REQUEST:
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
            self._answer_for(connection, request, request.answer)
        elif request.kind == "pending":
            connection.send(ViewReply(VERSION, asks=self.asks()))
        else:
            connection.send(ViewReply(VERSION, problem=f"incomplete: {request.kind}"))

    def _take(self, ask: Ask, connection: _Connection) -> None:
        with self._changing:
            full = len(self._waiting) >= self._capacity
            if not (full or self._closing) and ask.id and ask.id not in self._waiting:
                connection.ask = ask.id
                self._waiting[ask.id] = (ask, connection)
                return
        problem = f"{self._capacity} questions wait already" if full else ""
        refusal = ViewReply(VERSION, id=ask.id, digest=ask.digest, answer="deny", problem=problem)
        connection.send(refusal)

    def _wants_each_call(self, id: str) -> bool:
        return any(ask.id == id and ask.each_call for ask in self.asks())

    def _answer_for(self, connection: _Connection, request: ViewRequest, answer: Answer) -> None:
        id, problem = request.id, ""
        if answer == "always" and not request.reviewed:
            problem = "a rule for always is reviewed in the view: press w there"
        elif answer in ("session", "tool", "always") and self._wants_each_call(id):
            problem = f"{EACH_CALL}: answer once or deny"
        elif not self.answer(id, answer):
            problem = f"no question {id!r} waits: `claw approvals list` shows those that do"
        connection.send(ViewReply(VERSION, problem=problem))


def _lapsed(ask: Ask) -> End:
    """How a question ended whose proxy hung up: at the deadline, both sides do."""
    return "expired" if ask.deadline <= time.time() else "withdrawn"


def _take_lock(path: Path) -> int:
    """The lock that a view holds while it lives, beside its socket."""
    import fcntl  # not on Windows, where there are no unix sockets either

    try:
        make_private(path.parent)
        path.parent.chmod(0o700)
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise PolicyError(os.fspath(path.parent), 0, f"cannot be used: {error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        reason = f"a view is already open in process {owner}: answer there, or quit it first"
        raise PolicyError(os.fspath(path), 0, reason) from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    return lock


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
