"""Notes in Markdown: each paragraph and each list item is a memory, under its headings.

The day of a memory is that of its heading (`## 2026-01-02`), else of the front matter, else of the
file's name, else the day on which the file was last changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, cast

from clawkit.errors import BeingError
from clawkit.memory.imports.blocks import Block, blocks
from clawkit.memory.imports.reading import (
    Kept,
    Problem,
    Reading,
    changed_at,
    day_of,
    pieces,
    read_bytes,
)
from clawkit.memory.records import Scene

ENDINGS = (".md", ".markdown")
_DAY = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")
_FENCE = re.compile(r"---\s*$")
_DATES = ("date", "created", "day")
_TAGS = ("tags", "tag", "keywords", "categories")
_LONGEST_ABOVE = 120
_LONGEST_FRONT = 20_000
_LINE_END = re.compile(rb"\r\n?|\n")
_MARK = " / "


def read_markdown(place: Path) -> Reading:
    """A file, or every Markdown file in a folder and those below it, in their order."""
    files = [place] if place.is_file() else _files(place)
    if not files:
        raise BeingError(f"{place}: there is no Markdown file in this folder")
    root = place.parent if place.is_file() else place
    memories: list[Kept] = []
    problems: list[Problem] = []
    for file in files:
        if file != place and file.is_symlink() and not _leads_into(root, file):
            name = file.relative_to(root).as_posix()
            problems.append(Problem(name, 1, "this is a link to something outside of the folder"))
            continue
        found = _File(file, file.relative_to(root).as_posix())
        memories += found.memories()
        problems += found.problems
    return Reading(tuple(memories), problems=tuple(problems), files=len(files))


def _files(folder: Path) -> list[Path]:
    found = (file for file in folder.rglob("*") if file.suffix.lower() in ENDINGS)
    seen = [one for one in found if not _is_hidden(one.relative_to(folder)) and one.is_file()]
    return sorted(seen, key=lambda file: file.relative_to(folder).parts)


def _leads_into(folder: Path, link: Path) -> bool:
    # Whoever made the folder must not choose among the other files of its reader.
    return link.resolve().is_relative_to(folder.resolve())


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


class _File:
    """One file of notes."""

    def __init__(self, file: Path, name: str) -> None:
        self._file = file
        self._name = name
        self._day = self._changed = ""
        self._tags: tuple[str, ...] = ()
        self.problems: list[Problem] = []

    def memories(self) -> list[Kept]:
        lines = self._lines()
        start = self._front_matter(lines)
        self._day = self._day or day_in(self._file.stem)
        self._changed = day_of(changed_at(self._file))
        return [one for block in blocks(lines[start:], start + 1) for one in self._kept(block)]

    def _lines(self) -> list[str]:
        data = read_bytes(self._file).removeprefix(b"\xef\xbb\xbf")
        found: list[str] = []
        if b"\0" in data and "\ufffd" in data.decode(errors="replace"):
            self._wrong(1, "this is no text in UTF-8")
            return found
        for number, line in enumerate(_LINE_END.split(data), 1):
            try:
                found.append(line.decode())
            except UnicodeDecodeError:
                self._wrong(number, "this is not UTF-8")
                found.append("")
        return found

    def _wrong(self, line: int, what: str) -> None:
        self.problems.append(Problem(self._name, line, what))

    def _front_matter(self, lines: list[str]) -> int:
        """Read what stands before the text; gives how many lines that are."""
        if not lines or not _FENCE.match(lines[0]):
            return 0
        end = next((at for at, line in enumerate(lines[1:], 1) if _FENCE.match(line)), 0)
        if not end:
            return 0  # a line across the page
        text = "\n".join(lines[1:end])
        if len(text) > _LONGEST_FRONT:
            self._wrong(1, "the front matter is too long to be read")
        else:
            self._properties(text)
        return end + 1

    def _properties(self, text: str) -> None:
        import yaml

        try:
            # Only texts and lists of them: no value means anything else, or can fail to.
            found: Any = yaml.load(text, yaml.BaseLoader)
        except (yaml.YAMLError, RecursionError) as error:
            mark: Any = getattr(error, "problem_mark", None)
            self._wrong(mark.line + 2 if mark else 1, "the front matter is not YAML")
            return
        if not isinstance(found, dict):
            return
        items = cast("dict[Any, Any]", found).items()
        values = {name.lower(): value for name, value in items if isinstance(name, str)}
        for name in _DATES:
            value = values.get(name)
            if not value:
                continue
            self._day = day_in(value) if isinstance(value, str) else ""
            if not self._day:
                shown = f": {value[:50]!r}" if isinstance(value, str) else ""
                self._wrong(1, f"`{name}` in the front matter is no date{shown}")
            break
        for name in _TAGS:
            self._tags += tuple(_tags(values.get(name)))

    def _kept(self, block: Block) -> Iterator[Kept]:
        days = [self._day, *map(day_in, block.headings)]
        day = next((day for day in reversed(days) if day), "")
        headings = [one for one in block.headings if not _is_day(one)]
        if not headings and not _is_day(self._file.stem):
            headings = [self._file.stem]
        above = [_shortened(one) for one in block.above]
        for text in pieces(block.text):
            scene = Scene(
                action=text,
                when=(day or self._changed,),
                setting=_MARK.join((*headings, *above)),
                themes=self._tags,
            )
            yield Kept(scene, self._name, dated=bool(day))


def day_in(text: str) -> str:
    """The first day that a text names with digits, as YYYY-MM-DD."""
    for year, month, day in _DAY.findall(text):
        try:
            return date(int(year), int(month), int(day)).isoformat()
        except ValueError:
            continue
    return ""


def _is_day(text: str) -> bool:
    return bool(day_in(text)) and not re.search(r"[^\W\d_]", _DAY.sub("", text))


def _tags(value: Any) -> Iterator[str]:
    listed: list[Any] = re.split(r"[,;]", value) if isinstance(value, str) else value or []
    for one in listed:
        tag = one.strip().lstrip("#") if isinstance(one, str) else ""
        if tag:
            yield tag


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_ABOVE else text[: _LONGEST_ABOVE - 1].rstrip() + "…"
