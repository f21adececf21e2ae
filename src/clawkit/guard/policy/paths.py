"""What of the machine the matching may know."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

import msgspec

# `--root=/a`, `/a:/b`, `/a,/b`, `file:///a`, `cd /a && serve`: each part may be a directory.
_SEPARATORS = re.compile(r"""[=:,;\s'"]""")


class Paths(msgspec.Struct, frozen=True):
    """The server's directory and home, and whether to follow symlinks. Default: text only.

    `bases` are other directories that the server may take relative paths from.
    """

    cwd: str | None = None
    home: str | None = None
    resolve: bool = False
    bases: tuple[str, ...] = ()


def directories(words: Iterable[str], cwd: str, home: str) -> tuple[str, ...]:
    """The directories that exist among some words, such as the arguments of a server."""
    found = (
        os.path.join(cwd, path)  # noqa: PTH118 - text that may be no path
        for word in words
        for part in (word, word.partition("=")[2], *_SEPARATORS.split(word))
        for path in _readings(part, home)
    )
    return tuple(path for path in dict.fromkeys(found) if os.path.isdir(path))  # noqa: PTH112 - the same


def _readings(part: str, home: str) -> Iterator[str]:
    if part:
        yield part
    if part == "~" or part.startswith("~/"):
        yield home + part[1:]
    if "%" in part:
        from urllib.parse import unquote

        yield unquote(part)
