"""What a call would change in a file, as the lines of a diff, where its arguments say so.

A change shows every line of its texts, so that they are read once, as a diff. What an answer is
bound to is the call itself, which can be looked at as well.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from clawkit.guard.call_display import spelled
from clawkit.guard.policy.readings import holds_path

_OLD_AND_NEW = (
    *(("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text")),
    *(("oldText", "newText"), ("oldString", "newString")),
)
_WHOLE = ("content", "contents", "file_text")
_LARGEST = 256 * 1024
_MOST_LINES = 4000
_MOST_CHANGES = 20
_TEXTS = frozenset((*_WHOLE, "edits", *(name for pair in _OLD_AND_NEW for name in pair)))
_COMPARED = "compared with the file as it is now"
_NEW = "a new file"
_ELSEWHERE = "on another machine: whether it replaces a file cannot be told"
_UNTOLD = "whether it replaces a file cannot be told: {}"
_NOT_SHOWN = "replaces a file that is not shown: {}"
_NO_END = "(no line break at the end)"
_SHOWN = "↑ shown above, as a change"


class DiffLine(Struct, frozen=True):
    """One line: it comes, it goes, it stays, or it says where the next ones are."""

    kind: Literal["+", "-", " ", "@"]
    text: str


class FileChange(Struct, frozen=True):
    """What a call changes at a path."""

    path: str
    about: str
    lines: tuple[DiffLine, ...]


def paths_named(arguments: Mapping[str, Any]) -> list[str]:
    """The paths that the arguments of a call name, each once; nested ones are not looked at."""
    found: list[str] = []
    for name, value in arguments.items():
        if name not in _TEXTS and holds_path(name, value):
            each = cast("list[object]", value) if isinstance(value, list) else [value]
            found += [one if isinstance(one, str) else json.dumps(one) for one in each]
    return list(dict.fromkeys(found))


def file_changes(
    arguments: Mapping[str, Any], *, local: bool = True
) -> tuple[tuple[FileChange, ...], dict[str, Any]]:
    """The changes that the arguments of a call spell out, and what is to be read besides.

    Each change is whole: the texts that it has need not be read in the arguments again. Where
    a call names several paths, nobody but its server knows which one changes, and there are none.
    Without `local` its paths are on another machine.
    """
    paths = paths_named(arguments)
    path = paths[0] if len(paths) == 1 and paths[0] in arguments.values() else ""
    rest = dict(arguments)
    found: list[FileChange] = []
    for text in list(_replacements(rest, path, local=local)) if path else ():
        lines = text_diff(text.old, text.new) if len(found) < _MOST_CHANGES else ()
        if lines:
            found.append(FileChange(spelled(path), text.about, lines))
            text.within.update(dict.fromkeys(text.names, _SHOWN))
    return tuple(found), rest


class _Replacement(Struct, frozen=True):
    """A text in the place of another one, and which arguments say so."""

    about: str
    old: str
    new: str
    within: dict[str, Any]
    names: tuple[str, ...]


def _replacements(arguments: dict[str, Any], path: str, *, local: bool) -> Iterator[_Replacement]:
    """Those that the arguments have; what they are within may be changed."""
    yield from _edits(arguments)
    if isinstance(edits := arguments.get("edits"), list):
        copies = [_copied(edit) for edit in cast("list[object]", edits)]
        arguments["edits"] = copies
        for edit in copies:
            if isinstance(edit, dict):
                yield from _edits(cast("dict[str, Any]", edit))
    for name in _WHOLE:
        if isinstance(new := arguments.get(name), str):
            about, old = _current_text(path) if local else (_ELSEWHERE, "")
            yield _Replacement(about, old, new, arguments, (name,))


def _copied(value: object) -> object:
    return dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else value


def _edits(arguments: dict[str, Any]) -> Iterator[_Replacement]:
    for names in _OLD_AND_NEW:
        old, new = map(arguments.get, names)
        if isinstance(old, str) and isinstance(new, str):
            yield _Replacement("a part is replaced", old, new, arguments, names)


def _current_text(path: str) -> tuple[str, str]:
    """What is known of the file that a text is for, and its text if that can be compared."""
    place = Path(path).expanduser()
    if not place.is_absolute():
        return _UNTOLD.format("the path is not a whole one"), ""
    if ".." in place.parts or "%" in path or path != path.strip():
        return _UNTOLD.format("the path can be read in two ways"), ""
    try:
        # Whatever it is, opening it must not wait.
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                return _NOT_SHOWN.format("not a plain file"), ""
            if status.st_size > _LARGEST:
                return _NOT_SHOWN.format(f"too large, {status.st_size:,} bytes"), ""
            return _COMPARED, file.read(_LARGEST + 1).decode()
    except UnicodeDecodeError:
        return _NOT_SHOWN.format("not text"), ""
    except (OSError, ValueError) as error:
        return _without_text(path, error), ""


def _without_text(path: str, error: OSError | ValueError) -> str:
    """What is known of a file that cannot be opened: new is only what surely is not there."""
    # A server need not take `~` for a home, and a link that leads nowhere is there.
    if isinstance(error, FileNotFoundError) and path[0] == "/" and not os.path.lexists(path):
        return _NEW
    if isinstance(error, IsADirectoryError):
        return _NOT_SHOWN.format("not a plain file")
    return _UNTOLD.format(getattr(error, "strerror", None) or str(error))


def text_diff(old: str, new: str, context: int = _MOST_LINES) -> tuple[DiffLine, ...]:
    """A text as it becomes another one; nothing where they are equal, or too long to compare."""
    before, after = _lines(old), _lines(new)
    if len(before) + len(after) > _MOST_LINES or before == after:
        return ()
    lines = list(difflib.unified_diff(before, after, n=context, lineterm=""))[2:]
    ends_differ = bool(old and new) and old.endswith("\n") != new.endswith("\n")
    return tuple(one for line in lines for one in _shown(line, ends_differ=ends_differ))


def _lines(text: str) -> list[str]:
    """The lines with their ends; the last one may have none."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _shown(line: str, *, ends_differ: bool) -> Iterator[DiffLine]:
    yield _line(line.removesuffix("\n"))
    if ends_differ and not line.endswith("\n") and not line.startswith("@@"):
        yield DiffLine("@", _NO_END)


def _line(line: str) -> DiffLine:
    if line.startswith("@@"):
        return DiffLine("@", line)
    return DiffLine(cast("Literal['+', '-', ' ']", line[0]), spelled(line[1:]))
