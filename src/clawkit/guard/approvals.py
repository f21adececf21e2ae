"""Questions to a person, and the socket on which `claw approvals` answers them.

The view listens on a unix socket; each connection carries one JSON line each way. A proxy's
question stays open until its line comes back. Whatever goes wrong on the way is a deny.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    import socket as sockets

VERSION = 3
LONGEST_PATH = 100
LONGEST_REQUEST = 256 * 1024
_LONGEST_REPLY = 16 * 1024 * 1024
_PATIENCE = 5.0
_TICK = 0.1

Answer = Literal["once", "session", "tool", "always", "deny"]


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
    each_call: bool = False
    """Whether an answer may count for this one call only."""
    no_rule: bool = False
    """Whether a rule for it would stand above one that denies, so that none is written."""


class ViewRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The line that a connection brings to the view."""

    version: int
    kind: Literal["ask", "pending", "answer"]
    ask: Ask | None = None
    id: str = ""
    answer: Answer | None = None
    reviewed: bool = False
    """Whether a person has read the rule for "always", and it is written."""


class ViewReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The line that the view sends back. An answer repeats what it is the answer to."""

    version: int
    id: str = ""
    digest: str = ""
    answer: Answer | None = None
    asks: tuple[Ask, ...] = ()
    problem: str = ""


def call_digest(call: dict[str, Any]) -> str:
    """What an answer is bound to: the sha256 of the call as JSON, its keys in order."""
    return hashlib.sha256(msgspec.json.encode(call, order="sorted")).hexdigest()


def ask_view(
    path: Path, ask: Ask, cancelled: threading.Event | None = None
) -> Answer | Literal["full"] | None:
    """Wait for a person's answer; "deny" at the deadline, when cancelled, or when the view goes.

    None when there is no view to ask, "full" when it takes no more questions.
    """
    connection = _connect(path)
    if connection is None:
        return None
    with connection:
        request = ViewRequest(VERSION, "ask", ask=ask)
        reply = _exchange(connection, request, ask.deadline, cancelled)
    if reply is None or reply.answer is None:
        return "deny"
    bound = (reply.id, reply.digest) == (ask.id, ask.digest)
    if bound and reply.answer == "deny" and reply.problem:
        return "full"
    return reply.answer if bound else "deny"


def has_view(path: Path) -> bool:
    """Whether a view is open that can be asked."""
    connection = _connect(path)
    if connection is not None:
        connection.close()
    return connection is not None


def pending(path: Path) -> list[Ask] | None:
    """The questions that a running view holds, oldest first; None when no view runs."""
    reply = _request(path, ViewRequest(VERSION, "pending"))
    return None if reply is None else list(reply.asks)


def answer_pending(path: Path, id: str, answer: Answer, *, reviewed: bool = False) -> str | None:
    """Answer a question through the running view: "" when done, else why not; None: no view."""
    request = ViewRequest(VERSION, "answer", id=id, answer=answer, reviewed=reviewed)
    reply = _request(path, request)
    return None if reply is None else reply.problem


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


def same_user(connection: sockets.socket) -> bool:
    """Whether the other end runs as this user; the socket's folder is closed to others anyway."""
    import socket
    import struct

    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    layout = struct.Struct("3i")
    found = connection.getsockopt(socket.SOL_SOCKET, option, layout.size)
    return layout.unpack(found)[1] == os.getuid()


def _connect(path: Path) -> sockets.socket | None:
    if unusable(path):
        return None
    import socket

    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_PATIENCE)
        connection.connect(os.fspath(path))
        if same_user(connection):
            return connection
    except OSError:  # nobody listens there
        connection.close()
        return None
    connection.close()
    return None


def _request(path: Path, request: ViewRequest) -> ViewReply | None:
    connection = _connect(path)
    if connection is None:
        return None
    with connection:
        return _exchange(connection, request, time.time() + _PATIENCE, None)


def _exchange(
    connection: sockets.socket,
    request: ViewRequest,
    deadline: float,
    cancelled: threading.Event | None,
) -> ViewReply | None:
    try:
        connection.sendall(msgspec.json.encode(request) + b"\n")
        line = _read_line(connection, deadline, cancelled)
        reply = msgspec.json.decode(line, type=ViewReply)
    except (OSError, UnicodeEncodeError, msgspec.DecodeError):
        return None
    return reply if reply.version == VERSION else None


def _read_line(
    connection: sockets.socket, deadline: float, cancelled: threading.Event | None
) -> bytearray:
    """One line without its end; empty when it did not come whole, in time, and wanted."""
    line = bytearray()
    while len(line) <= _LONGEST_REPLY and not (cancelled and cancelled.is_set()):
        left = deadline - time.time()
        if left <= 0:
            break
        connection.settimeout(min(left, _TICK))
        try:
            part = connection.recv(64 * 1024)
        except TimeoutError:
            continue
        line += part
        if part.endswith(b"\n"):
            return line
        if not part:
            break
    return bytearray()
