"""The blocks of a Markdown text: paragraphs, list items and code, each under its headings.

Only as much of Markdown as tells where one thought ends and the next begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

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
