"""Opening files that a model named: only regular ones, only from below a given directory.

What a name leads to can change between a look and a read. So each part of the path is opened from
the directory before it, without following links, and what is judged is what was opened.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct


class RefusedError(Exception):
    """The file is not to be sent; the message says why."""


class Opened(Struct, frozen=True):
    """What a file held, at most one byte more than was asked for, and how much there was."""

    data: bytes
    size: int


def read_below(root: Path, path: str, most: int) -> Opened:
    """Read a file below `root`; a relative path is taken from there."""
    try:
        fd = _open_below(root, path)
    except FileNotFoundError:
        raise RefusedError("there is no such file") from None
    except PermissionError:
        raise RefusedError("it may not be read") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RefusedError(f"it cannot be opened ({reason})") from None
    with os.fdopen(fd, "rb") as file:
        try:
            data = file.read(most + 1)
        except OSError as error:
            raise RefusedError(f"it cannot be read ({error.strerror or error})") from None
        return Opened(data, max(len(data), os.fstat(fd).st_size))


def is_there(root: Path, path: str) -> bool:
    """Whether a directory has something under a name, a link that leads nowhere too."""
    try:
        (root / path).lstat()
    except (OSError, ValueError):
        return False
    return True


def is_below(root: Path, path: str) -> bool:
    """Whether a path is written as one below a directory, by either of the directory's names."""
    return any(Path(path).is_relative_to(each) for each in (root, Path(os.path.realpath(root))))


def _open_below(root: Path, path: str) -> int:
    if ".." in Path(path).parts:
        raise RefusedError("`..` may not be part of its path")
    real_root = Path(os.path.realpath(root))
    real = Path(os.path.realpath(root / path, strict=True))
    if not real.is_relative_to(real_root):
        raise RefusedError("it leads out of the workspace and the outbox")
    if sys.platform == "win32":
        return _open_and_compare(real)
    return _walk(real_root, real.relative_to(real_root).parts)


def _walk(root: Path, parts: tuple[str, ...]) -> int:
    with ExitStack() as stack:
        directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, directory)
        for part in parts[:-1]:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            directory = os.open(part, flags, dir_fd=directory)
            stack.callback(os.close, directory)
        last = parts[-1] if parts else "."
        # Before it is opened too, since opening a device can do something.
        _check(os.stat(last, dir_fd=directory, follow_symlinks=False))
        # A pipe is not waited for.
        fd = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    return _checked(fd)


def _open_and_compare(real: Path) -> int:
    """Where directories cannot be opened: the name must still lead to what was opened."""
    fd = os.open(real, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    if os.path.realpath(real) != str(real) or not os.path.samestat(os.fstat(fd), real.stat()):
        os.close(fd)
        raise RefusedError("it was replaced while it was opened")
    return _checked(fd)


def _checked(fd: int) -> int:
    try:
        _check(os.fstat(fd))
    except RefusedError:
        os.close(fd)
        raise
    return fd


def _check(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise RefusedError("it is a directory")
    if stat.S_ISLNK(found.st_mode):
        raise RefusedError("it was replaced by a link while it was opened")
    if not stat.S_ISREG(found.st_mode):
        raise RefusedError("it is not a regular file")
