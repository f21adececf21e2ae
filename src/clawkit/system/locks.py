"""Locks between processes, held on an open file: the system releases one when its holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_TICK = 0.002

if sys.platform == "win32":
    import msvcrt

    # Locks are mandatory there, so the byte that is locked lies where nobody reads or writes.
    _PLACE = 1 << 30

    def lock(fd: int) -> None:
        """Wait until this process alone holds the file."""
        os.lseek(fd, _PLACE, os.SEEK_SET)
        held = False
        while not held:
            with suppress(OSError):  # it gives up after ten seconds; we do not
                msvcrt.locking(fd, msvcrt.LK_LOCK, 1)
                held = True

    def try_lock(fd: int) -> bool:
        """Hold the file if nobody else does."""
        os.lseek(fd, _PLACE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(fd: int) -> None:
        os.lseek(fd, _PLACE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock(fd: int) -> None:
        """Wait until this process alone holds the file."""
        fcntl.flock(fd, fcntl.LOCK_EX)

    def try_lock(fd: int) -> bool:
        """Hold the file if nobody else does."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


def lock_within(fd: int, seconds: float) -> None:
    """Hold the file once nobody else does; TimeoutError if that takes longer."""
    end = time.monotonic() + seconds
    while not try_lock(fd):
        if time.monotonic() > end:
            raise TimeoutError(f"another program has locked it for {seconds:.0f} seconds")
        time.sleep(_TICK)


@contextmanager
def locked(file: Path, seconds: float | None = None) -> Generator[None]:
    """Hold `file` for the length of a block; it is made, readable by its owner only, if missing.

    Raises TimeoutError if others hold it for so many seconds. Never delete or replace a file that
    serves as a lock: others may hold the one that is gone.
    """
    fd = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if seconds is None:
            lock(fd)
        else:
            lock_within(fd, seconds)
        yield
    finally:
        os.close(fd)
