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
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from clawkit.guard.call_display import spelled, spelled_parts
from clawkit.guard.policy.paths import is_of_a_process
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
_AN_END = "(with the line break at the end)"
_SHOWN = "↑ shown above, as a change"
_TOO_MUCH = "{}; it is too much to be shown as a change: read it in the call below"
_MOST_WORK = 1_000_000
"""How many pairs of equal lines are looked at for one call: a fraction of a second."""


class DiffLine(Struct, frozen=True):
    """One line: it comes, it goes, it stays, or it says something about the others."""

    kind: Literal["+", "-", " ", "@"]
    parts: tuple[str, ...]
    """What is shown as it is, and what is spelled out, in turn."""

    @property
    def text(self) -> str:
        return "".join(self.parts)


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


def stamp_of_file(arguments: Mapping[str, Any]) -> str:
    """Another text whenever the file that a call names is another one."""
    paths = paths_named(arguments)
    with suppress(OSError, ValueError):
        if len(paths) == 1 and Path(paths[0]).is_absolute():
            status = Path(paths[0]).stat()
            return f"{status.st_mtime_ns} {status.st_size} {status.st_ino}"
    return ""


def file_changes(
    arguments: Mapping[str, Any], *, local: bool = True
) -> tuple[tuple[FileChange, ...], dict[str, Any]]:
    """The changes that the arguments of a call spell out, and what is to be read besides.

    Each change is whole: the texts that it has need not be read in the arguments again. Where
    a call names several paths, nobody but its server knows which one changes, and there are none.
    Without `local` its paths are on another machine. What is too much to compare is read in the
    call, and one change without lines says so.
    """
    paths = paths_named(arguments)
    path = paths[0] if len(paths) == 1 and paths[0] in arguments.values() else ""
    rest = dict(arguments)
    found: list[FileChange] = []
    work = _Work(_MOST_WORK)
    for text in list(_replacements(rest, path, local=local)) if path else ():
        lines = _lines_of(text, work) if len(found) < _MOST_CHANGES else ()
        if lines is None:
            found.append(FileChange(spelled(path), _TOO_MUCH.format(text.about), ()))
            break
        if lines:
            found.append(FileChange(spelled(path), text.about, lines))
            text.within.update(dict.fromkeys(text.names, _SHOWN))
    return tuple(found), rest


def _lines_of(text: _Replacement, work: _Work) -> tuple[DiffLine, ...] | None:
    return text_diff(text.old, text.new, work=work, is_part=text.is_part)


class _Replacement(Struct, frozen=True):
    """A text in the place of another one, and which arguments say so."""

    about: str
    old: str
    new: str
    within: dict[str, Any]
    names: tuple[str, ...]
    is_part: bool = False


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
            yield _Replacement("a part is replaced", old, new, arguments, names, is_part=True)


def _current_text(path: str) -> tuple[str, str]:
    """What is known of the file that a text is for, and its text if that can be compared."""
    place = Path(path).expanduser()
    if not place.is_absolute():
        return _UNTOLD.format("the path is not a whole one"), ""
    if ".." in place.parts or "%" in path or path != path.strip():
        return _UNTOLD.format("the path can be read in two ways"), ""
    if is_of_a_process(os.fspath(place)):
        return _UNTOLD.format("each program has another one there"), ""
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


class _TooMuchError(Exception):
    """Two texts take too long to compare."""


class _Work(Struct):
    """What may still be done."""

    left: int


class _Comparison(difflib.SequenceMatcher[str]):
    """One that ends: difflib takes minutes for some texts of a few thousand lines."""

    a: list[str]
    b: list[str]
    b2j: dict[str, list[int]]

    def __init__(self, before: list[str], after: list[str], work: _Work) -> None:
        self._work = work
        super().__init__(None, before, after)

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        lines = islice(self.a, alo, ahi)
        self._work.left -= sum(1 + len(self.b2j.get(line, ())) for line in lines)
        if self._work.left < 0:
            raise _TooMuchError
        return super().find_longest_match(alo, ahi, blo, bhi)


def text_diff(
    old: str,
    new: str,
    context: int = _MOST_LINES,
    work: _Work | None = None,
    *,
    is_part: bool = False,
) -> tuple[DiffLine, ...] | None:
    """A text as it becomes another one; nothing where they are equal.

    None where they are too long to compare, or it would take too long. Of a file it is said where
    it has no line break at its end; of a part of one, where both have it or one of them.
    """
    before, after = _lines(old), _lines(new)
    if before == after:
        return ()
    if len(before) + len(after) > _MOST_LINES:
        return None
    comparison = _Comparison(before, after, work or _Work(_MOST_WORK))
    try:
        lines = list(_unified(comparison, context))
    except _TooMuchError:
        return None
    ends = {text.endswith("\n") for text in (old, new) if text}
    shown = [one for line in lines for one in _shown(line, says_end=not is_part or len(ends) > 1)]
    return (*shown, *([DiffLine("@", (_AN_END,))] if is_part and ends == {True} else []))


def _unified(comparison: _Comparison, context: int) -> Iterator[str]:
    """As `difflib.unified_diff` writes it."""
    before, after = comparison.a, comparison.b
    for group in comparison.get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
        for kind, a, a_end, b, b_end in group:
            if kind == "equal":
                yield from (f" {line}" for line in before[a:a_end])
            else:
                yield from (f"-{line}" for line in before[a:a_end])
                yield from (f"+{line}" for line in after[b:b_end])


def _range(start: int, end: int) -> str:
    """Lines from a place on; where there are none, the line before it."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _lines(text: str) -> list[str]:
    """The lines with their ends; the last one may have none."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _shown(line: str, *, says_end: bool) -> Iterator[DiffLine]:
    yield _line(line.removesuffix("\n"))
    if says_end and not line.endswith("\n") and not line.startswith("@@"):
        yield DiffLine("@", (_NO_END,))


def _line(line: str) -> DiffLine:
    if line.startswith("@@"):
        return DiffLine("@", (line,))
    text = line[1:].rstrip(" ")
    parts = spelled_parts(text)
    if spaces := len(line) - 1 - len(text):
        last = f"\\s{{{spaces}}}"  # nobody sees them at the end of a line
        parts = (*parts[:-1], parts[-1] + last) if len(parts) % 2 == 0 else (*parts, last)
    return DiffLine(cast("Literal['+', '-', ' ']", line[0]), parts)
