"""What a call would change in a file, as the lines of a diff, where its arguments say so.

Only a reading aid: the whole call stands beside it, and is what an answer is bound to.
"""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from clawkit.guard.call_display import spelled
from clawkit.guard.policy.path_arguments import is_path_name

_OLD_AND_NEW = (
    *(("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text")),
    *(("oldText", "newText"), ("oldString", "newString")),
)
_WHOLE = ("content", "contents", "file_text")
_LARGEST = 256 * 1024
_MOST_LINES = 4000
_MOST_CHANGES = 20
_CONTEXT = 3


class DiffLine(Struct, frozen=True):
    """One line: it comes, it goes, it stays, or it says where the next ones are."""

    kind: Literal["+", "-", " ", "@"]
    text: str


class FileChange(Struct, frozen=True):
    """What a call changes at a path."""

    path: str
    about: str
    lines: tuple[DiffLine, ...]


def file_changes(arguments: Mapping[str, Any]) -> tuple[FileChange, ...]:
    """The changes that the arguments of a call spell out; none where they do not."""
    path = next((v for k, v in arguments.items() if is_path_name(k) and isinstance(v, str)), "")
    if not path:
        return ()
    found = [
        FileChange(spelled(path), about, lines)
        for about, old, new in _replacements(arguments, path)
        if (lines := _diff(old, new))
    ]
    return tuple(found[:_MOST_CHANGES])


def _replacements(arguments: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    yield from _edits(arguments)
    edits = arguments.get("edits")
    for edit in cast("list[object]", edits) if isinstance(edits, list) else ():
        if isinstance(edit, dict):
            yield from _edits(cast("dict[str, Any]", edit))
    for name in _WHOLE:
        if isinstance(new := arguments.get(name), str):
            old = _current_text(path)
            about = "compared with the file as it is now" if old is not None else "a new file"
            yield about, old or "", new


def _edits(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for first, second in _OLD_AND_NEW:
        old, new = arguments.get(first), arguments.get(second)
        if isinstance(old, str) and isinstance(new, str):
            yield "a part is replaced", old, new


def _current_text(path: str) -> str | None:
    """The text of a file; None where there is none that can be compared."""
    place = Path(path).expanduser()
    if not place.is_absolute():  # the server's folder is not known here
        return None
    try:
        # Whatever it is, opening it must not wait.
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                return None
            return file.read(_LARGEST + 1).decode()
    except (OSError, ValueError):  # not there, not ours to read, no text
        return None


def _diff(old: str, new: str) -> tuple[DiffLine, ...]:
    before, after = ([spelled(line) for line in text.split("\n")] for text in (old, new))
    if len(before) + len(after) > _MOST_LINES or before == after:
        return ()
    lines = list(difflib.unified_diff(before if old else [], after, n=_CONTEXT, lineterm=""))[2:]
    return tuple(_line(line) for line in lines)


def _line(line: str) -> DiffLine:
    if line.startswith("@@"):
        return DiffLine("@", line)
    return DiffLine(cast("Literal['+', '-', ' ']", line[0]), line[1:])
