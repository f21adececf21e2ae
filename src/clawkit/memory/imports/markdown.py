"""Reads Markdown notes: each paragraph or list item is a memory under its headings.

The day of a memory is that of its heading (`## 2026-01-02`), else of the front matter, else of the
file's name, else the day on which the file was last changed. Markdown is parsed only as far as
tells where one thought ends and the next begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from clawkit.errors import BeingError
from clawkit.memory.imports.imported import (
    ImportedFiles,
    ImportedMemory,
    ImportProblem,
    changed_at,
    day_of,
    pieces,
    read_bytes,
)
from clawkit.memory.records import Scene

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*)$")
_CLOSING = re.compile(r"(?:^|(?<=\s))#+$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})\s*$")
_RULE = re.compile(r" {0,3}([-*_])(?:\s*\1){2,}\s*$")
_ITEM = re.compile(r"(\s*)(?:[-*+•]|\d{1,9}[.)])\s+(.*)$")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_QUOTE = re.compile(r"^(?: {0,3}>\s?)+")
_COMMENT = re.compile(r"<!--(?:(?!<!--).)*?-->")
_TAB = 4


class Block(Struct, frozen=True):
    """One thought, with the headings and the list items that it stands under."""

    line: int
    text: str
    headings: tuple[str, ...]
    above: tuple[str, ...] = ()


def blocks(lines: Sequence[str], first: int = 1) -> Iterator[Block]:
    """The blocks of these lines, whose numbers begin with `first`."""
    return _Blocks().read(lines, first)


class _Blocks:
    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        self._items: list[tuple[int, str]] = []
        self._text: list[str] = []
        self._line = 0
        self._indent: int | None = None
        self._fence = ""

    def read(self, lines: Sequence[str], first: int) -> Iterator[Block]:
        for number, line in enumerate(lines, first):
            if self._fence:
                yield from self._code(line)
            else:
                yield from self._line_of_text(number, line)
        yield from self._end()

    def _code(self, line: str) -> Iterator[Block]:
        if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self._fence = ""
            yield from self._end("\n")
        else:
            self._text.append(line.rstrip())

    def _line_of_text(self, number: int, line: str) -> Iterator[Block]:
        if fence := _FENCE.match(line):
            yield from self._end()
            self._fence, self._line = fence[1], number
            return
        line = _COMMENT.sub("", _QUOTE.sub("", line)).rstrip().expandtabs(_TAB)
        if self._text and self._indent is None and (under := _UNDERLINE.match(line)):
            self._begin_heading(1 if under[1][0] == "=" else 2, " ".join(self._text))
            self._text = []
        elif not line.strip() or _RULE.match(line):
            yield from self._end()
        elif heading := _HEADING.match(line):
            yield from self._end()
            self._begin_heading(len(heading[1]), _CLOSING.sub("", heading[2]).rstrip())
        elif item := _ITEM.match(line):
            yield from self._end()
            self._begin_item(number, len(item[1]), item[2])
        else:
            if not self._text:
                self._begin_paragraph(number, len(line) - len(line.lstrip()))
            self._text.append(line.strip())

    def _begin_heading(self, level: int, text: str) -> None:
        self._headings = [one for one in self._headings if one[0] < level] + [(level, text)]
        self._items = []

    def _begin_item(self, number: int, indent: int, text: str) -> None:
        self._items = [one for one in self._items if one[0] < indent]
        self._line, self._indent, self._text = number, indent, [text]

    def _begin_paragraph(self, number: int, indent: int) -> None:
        self._items = [one for one in self._items if one[0] < indent]
        self._line, self._indent = number, None

    def _end(self, joined: str = " ") -> Iterator[Block]:
        text = joined.join(part for part in self._text if part or joined == "\n").strip()
        if text:
            above = tuple(one for _, one in self._items)
            yield Block(self._line, text, tuple(one for _, one in self._headings), above)
        if text and self._indent is not None:
            self._items.append((self._indent, text))
        self._text, self._indent = [], None


ENDINGS = (".md", ".markdown")
_DAY = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")
_FRONT_MATTER_FENCE = re.compile(r"---\s*$")
_DATES = ("date", "created", "day")
_TAGS = ("tags", "tag", "keywords", "categories")
_LONGEST_ABOVE = 120
_LONGEST_FRONT = 20_000
_LINE_END = re.compile(rb"\r\n?|\n")
_MARK = " / "


def read_markdown(place: Path) -> ImportedFiles:
    """A file, or every Markdown file in a folder and those below it, in their order."""
    files = [place] if place.is_file() else _files(place)
    if not files:
        raise BeingError(f"{place}: there is no Markdown file in this folder")
    root = place.parent if place.is_file() else place
    memories: list[ImportedMemory] = []
    problems: list[ImportProblem] = []
    for file in files:
        if file != place and file.is_symlink() and not _leads_into(root, file):
            name = file.relative_to(root).as_posix()
            problems.append(
                ImportProblem(name, 1, "this is a link to something outside of the folder")
            )
            continue
        found = _File(file, file.relative_to(root).as_posix())
        memories += found.memories()
        problems += found.problems
    return ImportedFiles(tuple(memories), problems=tuple(problems), files=len(files))


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
        self.problems: list[ImportProblem] = []

    def memories(self) -> list[ImportedMemory]:
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
        self.problems.append(ImportProblem(self._name, line, what))

    def _front_matter(self, lines: list[str]) -> int:
        """Read what stands before the text; gives how many lines that are."""
        if not lines or not _FRONT_MATTER_FENCE.match(lines[0]):
            return 0
        end = next(
            (at for at, line in enumerate(lines[1:], 1) if _FRONT_MATTER_FENCE.match(line)), 0
        )
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

    def _kept(self, block: Block) -> Iterator[ImportedMemory]:
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
            yield ImportedMemory(scene, self._name, dated=bool(day))


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
