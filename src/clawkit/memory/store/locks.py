"""A lock beside a SQLite store that ends with its holder, and leaves no file behind."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from clawkit.system.locks import try_lock


def take_lock(file: Path) -> int | None:
    """The lock of this name, as an open file; None if somebody else has it."""
    while True:
        fd = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        if not try_lock(fd):
            os.close(fd)
            return None
        if _is(fd, file):
            return fd
        os.close(fd)  # its last holder took the file away just before


def give_lock_back(file: Path, fd: int) -> None:
    with suppress(OSError):  # some systems keep files that are open
        file.unlink()
    os.close(fd)


def _is(fd: int, file: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(fd), file.stat())
    return False
