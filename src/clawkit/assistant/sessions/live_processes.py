"""Which processes are alive: each holds a lock on a file of its own.

The kernel releases the lock when the process dies, however it dies. A name is never used twice, so
a file that nobody holds can be removed by anyone.
"""

from __future__ import annotations

import atexit
import os
import secrets
import sys
import threading
from contextlib import suppress
from pathlib import Path

from clawkit.system.files import make_private
from clawkit.system.locks import try_lock

_SUFFIX = ".lock"
_mine: dict[Path, tuple[str, int]] = {}
_lock = threading.Lock()


def directory_for(file: Path) -> Path:
    """Where the processes that use a store have their locks."""
    return file.parent / "owners"


def this_process(directory: Path) -> str:
    """The name of this process, alive from now on until it ends."""
    with _lock:
        if directory not in _mine or not _file(directory, _mine[directory][0]).exists():
            _let_go(directory)
            make_private(directory)
            sweep(directory)
            _mine[directory] = _enter(directory)
        return _mine[directory][0]


def is_alive(directory: Path, owner: str) -> bool:
    """Whether the process of this name still runs. The file of a dead one is removed."""
    held = _mine.get(directory)
    if held is not None and held[0] == owner:
        return True
    file = _file(directory, owner)
    try:
        fd = os.open(file, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # it cannot be known: rather wait than work in the middle of another's turn
    try:
        dead = try_lock(fd)
        if dead and sys.platform != "win32":
            # Under the lock: one who has made the file and not locked it yet finds it gone.
            file.unlink(missing_ok=True)
    finally:
        os.close(fd)
    if dead and sys.platform == "win32":
        with suppress(OSError):  # no file can be removed there that another process has open
            file.unlink()
    return not dead


def sweep(directory: Path) -> int:
    """Remove the files of the dead; gives how many there were."""
    names = [file.stem for file in directory.glob(f"*{_SUFFIX}")]
    return sum(not is_alive(directory, name) for name in names)


def _file(directory: Path, owner: str) -> Path:
    return directory / f"{owner}{_SUFFIX}"


def _enter(directory: Path) -> tuple[str, int]:
    while True:
        owner = secrets.token_hex(12)
        fd = os.open(_file(directory, owner), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if try_lock(fd) and _file(directory, owner).exists():
            return owner, fd
        os.close(fd)  # a sweep came between making and locking it


def _let_go(directory: Path) -> None:
    owner, fd = _mine.pop(directory, ("", -1))
    if fd == -1:
        return
    os.close(fd)
    with suppress(OSError):
        _file(directory, owner).unlink()


def _leave() -> None:
    with _lock:
        for directory in list(_mine):
            _let_go(directory)


def _forget() -> None:
    """A forked child shares its parent's locks, and must neither keep them nor give them up."""
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _lock = threading.Lock()
    for _, fd in _mine.values():
        os.close(fd)
    _mine.clear()


atexit.register(_leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
