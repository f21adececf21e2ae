"""Where a path leads on this machine: its links followed as far as anything exists."""

from __future__ import annotations

import errno
import os

LONGEST_PATH = 4096


def follow(path: str, real_folder: str = "") -> tuple[str, bool]:
    """The real path, and whether that is certain: a loop or a closed folder leaves it open.

    `real_folder` is a beginning of the path that is known to have no links in it.
    """
    if len(path) > LONGEST_PATH:
        return path, False
    rest = path[len(real_folder) :]
    if ".." in rest or os.name == "nt":
        return _real(path)
    place = real_folder
    try:
        for name in rest.split("/"):
            if name not in {"", "."}:
                place = f"{place}/{name}"
                if _is_link(place):
                    return _real(path)
    except FileNotFoundError:
        pass  # What does not exist links to nothing.
    except (OSError, ValueError):
        return path, False
    return path, True


def home_of_another(text: str) -> str:
    """`~name/…` with the home of that person, if the machine knows one."""
    name, slash, rest = text.partition("/")
    try:
        return os.path.expanduser(name) + slash + rest  # noqa: PTH111 - text that may be no path
    except ValueError:
        return text


def _is_link(path: str) -> bool:
    """One system call, and no result to take apart: this runs for every name in every argument."""
    try:
        os.readlink(path)  # noqa: PTH115 - pathlib costs more than the call
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        raise
    return True


def _real(path: str) -> tuple[str, bool]:
    try:
        return _slashed(_realpath(path)), True
    except (OSError, ValueError):
        return path, False


def _realpath(path: str) -> str:
    try:
        return os.path.realpath(path, strict=True)
    except FileNotFoundError:
        return os.path.realpath(path)


def _slashed(path: str) -> str:
    return path.replace("\\", "/") if os.name == "nt" else path
