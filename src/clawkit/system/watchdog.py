"""Marks guarded servers in their environment, and ends them when their guard is gone."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Container, Mapping
from pathlib import Path

_MARK = "CLAW_GUARDED"
_NAME = "claw-watch"
_GUARD = "claw-guard"
_LOOKS = 5
_PARENT, _GROUP, _SESSION, _START = 1, 2, 3, 19
_SCRIPT = """
started() {
    for each in $(cat /proc/"$1"/task/*/children); do echo "$each"; started "$each"; done
}
all() {
    for each in $given $(grep -lsF "$1" /proc/[0-9]*/environ | cut -d / -f 3); do
        echo "$each"; started "$each"
    done
}
while read -r each; do given="$given $each"; done
found=$(all "$1")
sleep "$2"
kill -s TERM -- $found
sleep 1
kill -s KILL -- $found $(all "$1")
"""


def in_guarded_server() -> bool:
    """Whether this process was started by a guarded server: by its environment or its parents."""
    return bool(os.environ.get(_MARK)) or is_guarded(os.getpid())


def name_as_guard() -> None:
    """Take the name by which a guard is known among the parents of what its server starts.

    Its watchdog can be killed by the server; this name only the guard itself can change.
    """
    with contextlib.suppress(OSError):  # there is no /proc
        Path("/proc/self/comm").write_text(_GUARD)


def is_guarded(pid: int, guards: Container[int] = ()) -> bool:
    """Whether a process is a guarded server or of one: by the mark, or by its parents.

    One that is gone may have been: a socket outlives whoever connected it. So may one whose parents
    keep going while they are looked at. False where there is no /proc, and for one that has left
    its parents and wiped its environment.
    """
    if not pid or not _is_there(os.getpid()):
        return False
    parents = parents_of(pid)
    return (
        parents is None
        or any(parent in guards or _is_named_guard(parent) for parent in parents)
        or any(map(_is_marked, {pid, *parents, *_group_and_session(pid)}))
        or not _is_there(pid)
    )


def _is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").exists()


def running_guards() -> set[int]:
    """The guards that run servers now: each has a watchdog among its children."""
    found = {
        _parent(pid) or 0
        for pid in (int(place.name) for place in Path("/proc").glob("[0-9]*"))
        if _words(pid)[3:4] == [_NAME.encode()]
    }
    # A watchdog whose guard is gone is adopted by a process that starts everything else, too.
    return {pid for pid in found if pid > 1 and any(b"claw" in word for word in _words(pid))}


def _words(pid: int) -> list[bytes]:
    """The command line of a process; empty where it cannot be known."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def parents_of(pid: int, parent_of: Callable[[int], int | None] | None = None) -> list[int] | None:
    """The parents of a process up to the first of all; None where one was gone at each look.

    What has lost its parent has another one, a guard perhaps, which only a new look finds.
    """
    for _ in range(_LOOKS):
        found = _ancestors_once(pid, parent_of or _parent)
        if found is not None:
            return found
    return None


def _ancestors_once(pid: int, parent_of: Callable[[int], int | None]) -> list[int] | None:
    found: list[int] = []
    while (parent := parent_of(pid)) and parent not in found:
        found.append(parent)
        pid = parent
    return None if parent is None else found


def _parent(pid: int) -> int | None:
    """The parent of a process, 0 for the first one; None for one that is gone."""
    parent = int(_stat(pid)[_PARENT])
    return parent if parent or _is_there(pid) else None


def _is_named_guard(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip() == _GUARD
    except OSError:
        return False


def _group_and_session(pid: int) -> tuple[int, int]:
    """The first processes of its group and of its session."""
    stat = _stat(pid)
    return int(stat[_GROUP]), int(stat[_SESSION])


def start_of(pid: int) -> int:
    """When a process started, in ticks since the machine did; 0 where it cannot be known."""
    return int(_stat(pid)[_START])


def _stat(pid: int) -> list[str]:
    """What the system says of a process after its name; zeros where it cannot be known."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * (_START + 1)


def _is_marked(pid: int) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # another user's, or it is gone
        return False
    return any(each.startswith(f"{_MARK}=".encode()) for each in environment.split(b"\0"))


class Watchdog:
    """Ends what carries its mark once this process is gone, unless it was told to stop.

    `grace` are the seconds in which servers may end by themselves, as their input does.
    """

    def __init__(self, grace: int = 0) -> None:
        self._grace = grace
        self._mark = secrets.token_hex(16)
        self._shell: subprocess.Popen[bytes] | None = None

    def marked(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment of a server that is to be watched."""
        return {**environment, _MARK: self._mark}

    def begin(self, *processes: int) -> None:
        """Watch over these processes, groups if negative; where there is no shell, nobody does."""
        shell = shutil.which("sh")
        if shell is None:
            return
        self._shell = subprocess.Popen(
            [shell, "-c", _SCRIPT, _NAME, f"{_MARK}={self._mark}", str(self._grace)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            bufsize=0,
            # Whoever ends the guard's whole process group does not end this.
            start_new_session=True,
        )
        assert self._shell.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._shell.stdin.write(b"".join(b"%d\n" % each for each in processes))

    def stop(self) -> None:
        if self._shell is not None:
            self._shell.kill()
            self._shell.communicate()
