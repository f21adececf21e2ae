"""Folders and files that only their owner can read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make_private(directory: Path) -> None:
    """Make a folder, and what is missing above it, for its owner only; others stay as they are."""
    if directory.is_dir():
        return
    make_private(directory.parent)
    with suppress(FileExistsError):  # another process was quicker; a file there shows below
        directory.mkdir(mode=0o700)
    if not directory.is_dir():
        raise NotADirectoryError(20, os.strerror(20), str(directory))


def keep_private(file: Path, *companions: Path) -> None:
    """Take a file's rights, and those of its companions, from everyone but its owner."""
    with suppress(OSError):  # another's file: nothing of ours to repair
        _give(file.stat().st_mode & 0o700, file, *companions)


def keep_alike(file: Path, *companions: Path) -> None:
    """Give the companions of a file its rights.

    SQLite copies them when it makes the companions, so that those of a file that was read-only for
    a while stay read-only.
    """
    with suppress(OSError):
        _give(file.stat().st_mode & 0o777, *companions)


def _give(mode: int, *files: Path) -> None:
    for one in files:
        with suppress(FileNotFoundError):
            if one.stat().st_mode & 0o777 != mode:
                one.chmod(mode)
