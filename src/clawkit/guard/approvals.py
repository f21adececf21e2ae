"""What guards and windows say to each other about calls that wait for a person.

A guard listens on a socket of its own, and every window, of `claw approvals` or of the console,
connects to each guard that it finds. So the guard alone decides what was answered. A line of a
guard has questions, and how questions ended; a line of a window has one answer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from clawkit.errors import PolicyError
from clawkit.system.files import make_private
from clawkit.system.locks import try_lock

VERSION = 9
"""Guards and windows of another version keep to files of their own."""
LONGEST_PATH = 100
LONGEST_ASK = 256 * 1024
_MOST_WINDOWS = 32
_WINDOW = "window-"

Answer = Literal["once", "session", "tool", "always", "deny"]
Outcome = Answer | Literal["timeout", "withdrawn", "closed", "unclear", "guarded", "version"]
"""What became of a question: an answer, or why there is none."""
Source = Literal["page", "terminal", "form", "script"]
"""Where an answer was given: the console's page, a terminal, the client's form, or a script."""
_WithoutAnswer = Literal["expired", "withdrawn", "form", "covered", "allowed", "closed"]
End = Answer | _WithoutAnswer | Literal["refused", "unknown", "silent"]
"""How a question ended, as its guard says.

With an answer, or one that was refused all the same; too late, or without anybody's answer; by its
client's form; because another answer covers it, or the policy allows it by now; because no window
was left. The last two are that the guard did not say: it is gone, or silent beyond the deadline.
"""


EACH_CALL = "the rule that asks wants to be asked about each such call"
"""Why an answer may not reach further than the call."""


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


class AnswerLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person says to one question, bound to the call that they were shown."""

    id: str
    digest: str
    answer: Answer
    source: Source
    mark: str
    """Tells this answer from every other one."""
    rule: str = ""
    """For "always": the rule that a person has read, which the guard is to write."""


class EndNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a question ended."""

    id: str
    how: End
    source: Source | None = None
    """Where it was answered, if it was."""
    problem: str = ""
    """Why an answer that allows was refused."""
    answer: Answer | None = None
    """The answer by which it ended, if it did by one, also if that was refused."""
    mark: str = ""
    """The mark of that answer, where it came from a window or a script."""


class RefusedAnswer(msgspec.Struct, frozen=True):
    """Why a guard takes no notice of an answer."""

    mark: str
    problem: str


class GuardLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is new at a guard; the first line of a connection has all that waits there."""

    asks: tuple[Ask, ...] = ()
    ended: tuple[EndNote, ...] = ()
    refused: tuple[RefusedAnswer, ...] = ()


Decide = Callable[[AnswerLine], EndNote | None]
"""Takes an answer, and says how the question ended: with it, or before it came.

None if it has not, because by now a no has come, or the window of this answer is gone.
"""


def call_digest(call: dict[str, Any]) -> str:
    """What an answer is bound to: the sha256 of the call as JSON, its keys in order."""
    return hashlib.sha256(msgspec.json.encode(call, order="sorted")).hexdigest()


def unusable(folder: Path) -> str:
    """Why no sockets can be in this folder; empty when they can."""
    import socket

    if not hasattr(socket, "AF_UNIX"):
        return "this system has no unix sockets, so approvals can only be asked in the client"
    length = len(os.fsencode(socket_at(folder, "0" * 8)))
    if length > LONGEST_PATH:
        return (
            f"a socket's path there has {length} bytes and may have {LONGEST_PATH}: "
            "set CLAW_HOME or XDG_DATA_HOME to a shorter folder"
        )
    return ""


def socket_at(folder: Path, name: str) -> Path:
    return folder / f"{VERSION}-{name}.sock"


def sockets_in(folder: Path) -> Iterator[Path]:
    """The sockets at which guards of this version listen, or listened when they ended."""
    return folder.glob(f"{VERSION}-*.sock")


def place_of(file: Path | int) -> tuple[int, int] | None:
    """What tells a file from every other one that may come to its path; None if there is none."""
    try:
        found = os.fstat(file) if isinstance(file, int) else file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def private_folder(folder: Path) -> None:
    """Make the folder, and take others' rights to it."""
    try:
        make_private(folder)
        folder.chmod(0o700)
    except OSError as error:
        raise PolicyError(os.fspath(folder), 0, f"cannot be used: {error}") from error


def join_windows(folder: Path) -> tuple[Path, int]:
    """Say that a window is open, until the lock that this gives is closed."""
    if problem := unusable(folder):
        raise PolicyError(os.fspath(folder), 0, problem)
    private_folder(folder)
    for place in places_in(folder):
        try:
            # What is locked there must not be what a link leads to.
            lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise PolicyError(os.fspath(folder), 0, f"cannot be used: {error}") from error
        if try_lock(lock):
            return place, lock
        os.close(lock)
    reason = "as many windows are open as can be, or another program keeps their places locked"
    raise PolicyError(os.fspath(folder), 0, f"{reason}: end that program")


def places_in(folder: Path) -> Iterator[Path]:
    """The files of which each open window locks one, which no kind of end leaves locked."""
    return (folder / f"{VERSION}-{_WINDOW}{number}" for number in range(_MOST_WINDOWS))


def has_window(folder: Path, besides: Path | None = None) -> bool:
    """Whether any window is open in which a person can be asked."""
    return not unusable(folder) and any(
        _is_locked(place) for place in places_in(folder) if place != besides
    )


def has_other_version(folder: Path) -> bool:
    """Whether a window of another version of clawkit is open."""
    return any(
        _is_locked(place)
        for place in folder.glob(f"*-{_WINDOW}*")
        if not place.name.startswith(f"{VERSION}-")
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
