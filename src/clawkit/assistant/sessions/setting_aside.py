"""Moves a store that cannot be used out of the way, and finds it there. Nothing is deleted."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from clawkit.assistant.sessions.database import companions
from clawkit.assistant.sessions.failures import explained_os
from clawkit.errors import StoreError

_MARK = ".damaged-"

# Where SQLite locks a file that is open as a database, on every system that has `fcntl`.
_LOCKED_AT = 0x40000002
_LOCKED_BYTES = 510


def left_aside(file: Path) -> Path | None:
    """The damaged store that was set aside last, where nothing has taken its place."""
    if os.path.lexists(file):
        return None
    try:
        found = [one for one in file.parent.iterdir() if _is_aside(one, file)]
    except OSError:
        return None
    return max(found, default=None)


def left_problem(file: Path) -> str:
    """What is to be said where only a damaged store is left."""
    aside = left_aside(file)
    return f"{file}: it is not there; {aside}, set aside, was not saved into a new one" * bool(
        aside
    )


def _is_aside(one: Path, file: Path) -> bool:
    return one.name.startswith(f"{file.name}{_MARK}") and not one.name.endswith(("-wal", "-shm"))


def take_back_journal(file: Path) -> None:
    """Undo what a process did that died after it moved the journal, and before the store."""
    journal, _ = companions(file)
    if journal.exists() or not file.exists():
        return
    for moved in sorted(file.parent.glob(f"{file.name}{_MARK}*-wal")):
        if not moved.with_name(moved.name.removesuffix("-wal")).exists():
            moved.rename(journal)
            return


def contents(file: Path) -> tuple[tuple[int, int], ...]:
    """What changes when somebody writes to a store or its journal."""
    every = (one for one in (file, companions(file)[0]) if one.exists())
    return tuple((found.st_size, found.st_mtime_ns) for found in (one.stat() for one in every))


def set_aside(file: Path, known: tuple[tuple[int, int], ...] | None = None) -> Path:
    """Move a damaged store and its journal beside itself; gives its new name.

    Raises StoreError while another process has it open: that one would, when it closes, delete
    the journal of whatever file has taken its place. So it does if its `contents` are no longer
    those that are `known`.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    target, number = file.with_name(f"{file.name}{_MARK}{stamp}"), 1
    while target.exists():
        number += 1
        target = file.with_name(f"{file.name}{_MARK}{stamp}-{number}")
    # The journal first: beside a new file, it would be taken for that one's and emptied.
    pairs = zip((*companions(file), file), (*companions(target), target), strict=True)
    try:
        with _alone(file):
            if known is not None and contents(file) != known:
                raise BlockingIOError
            for old, new in pairs:
                if old == file or old.exists():
                    old.rename(new)
    except BlockingIOError:
        raise StoreError(
            f"{file}: a running program has the store open: end the MCP clients, servers and "
            "chats that use it, then set it aside"
        ) from None
    except OSError as error:
        raise explained_os(file, error) from error
    return target


if sys.platform == "win32":

    @contextmanager
    def _alone(file: Path) -> Generator[None]:
        """Windows moves no file that anyone has open."""
        if not file.exists():
            raise FileNotFoundError(2, os.strerror(2), str(file))
        yield

else:
    import fcntl

    @contextmanager
    def _alone(file: Path) -> Generator[None]:
        """Hold the lock that every process with an open database shares."""
        fd = os.open(file, os.O_RDWR)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCKED_BYTES, _LOCKED_AT)
            yield
        finally:
            os.close(fd)
