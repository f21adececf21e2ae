"""Glob patterns, matched in time linear in the text whatever the pattern.

`*` is any run without "/", `**` any run, `?` any one character, all else stands for itself, and
the whole text must match. A backtracking regular expression would let a text of `a`s stop the
guard; here the positions that a match can have reached are kept as spans, and each piece of the
pattern moves them on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_STARS = re.compile(r"(\*+)")
_BETWEEN_NAMES = re.compile(r"([/\\?])")
_SHORT = 1024  # to look for a piece in a short text costs less than to begin a match
_Spans = Iterator[tuple[int, int]]


def is_any(pattern: str) -> bool:
    """A lone star matches everything, "/" or not."""
    return pattern in {"*", "**"}


def is_wild(text: str) -> bool:
    return "*" in text or "?" in text


class _Piece:
    """What stands between two stars: letters, and `?` for any of them."""

    __slots__ = ("_expression", "length", "most_slashes", "text")

    def __init__(self, text: str, prefix: str = "") -> None:
        self.text = prefix + text
        self.length = len(self.text)
        self.most_slashes = self.text.count("/") + text.count("?")
        self._expression: re.Pattern[str] | None = None
        if "?" in text:
            letters = ("." if letter == "?" else re.escape(letter) for letter in text)
            self._expression = re.compile(re.escape(prefix) + "".join(letters), re.DOTALL)

    @property
    def literal(self) -> bool:
        return self._expression is None

    def literal_in(self, text: str) -> bool:
        return self._expression is not None or self.text in text

    def at(self, text: str, start: int) -> bool:
        if self._expression is None:
            return text.startswith(self.text, start)
        return self._expression.match(text, start) is not None

    def find(self, text: str, start: int, last: int) -> int:
        """Where it first occurs, beginning between `start` and `last`; -1 if nowhere."""
        if self._expression is None:
            return text.find(self.text, start, last + self.length)
        found = self._expression.search(text, start, last + self.length)
        return -1 if found is None else found.start()


class Glob:
    """One compiled pattern, behind a `prefix` in which stars and question marks are letters."""

    __slots__ = (
        "_first",
        "_last",
        "_middle",
        "_shortest",
        "_slashed",
        "_stars",
        "_tail",
        "literal",
    )

    def __init__(self, pattern: str, prefix: str = "") -> None:
        parts = _STARS.split(pattern)
        pieces = [_Piece(parts[0], prefix), *map(_Piece, parts[2::2])]
        self._stars = [len(part) > 1 for part in parts[1::2]]  # whether each crosses "/"
        self._first, self._middle, self._last = pieces[0], pieces[1:-1], pieces[-1]
        self._shortest = sum(piece.length for piece in pieces) if self._stars else pieces[0].length
        self._slashed = any("/" in piece.text for piece in self._middle)
        self._tail = _tail(self._stars, pieces)
        self.literal = self._first.text if not self._stars and self._first.literal else None

    def matches(self, text: str) -> bool:
        if self.literal is not None:
            return text == self.literal
        size = len(text)
        if size < self._shortest or not self._first.at(text, 0):
            return False
        if not self._stars:
            return size == self._shortest
        goal = size - self._last.length
        if not self._last.at(text, goal):
            return False
        if not self._middle:
            return self._stars[0] or text.find("/", self._first.length, goal) < 0
        return self._reaches(text, goal)

    def keys(self) -> list[tuple[str, str]]:
        """What a matching text must have, as a table can look it up: a kind, and the text."""
        found: list[tuple[str, str]] = []
        if self._first.literal and self._first.text:
            found.append(("prefix", self._first.text))
        if self._stars and self._last.literal and self._last.text:
            found.append(("suffix", self._last.text))
        for piece in self._middle:
            if piece.literal:
                found.extend(("segment", name) for name in piece.text.split("/")[1:-1])
        return found

    @property
    def is_rooted(self) -> bool:
        """Whether every matching text begins with "/" and a name."""
        return self._first.text.startswith("/") and len(self._first.text) > 1

    def names(self) -> list[tuple[str, bool, bool]]:
        """The names in it, and whether each begins and ends a segment of every matching text."""
        found: list[tuple[str, bool, bool]] = []
        pieces = [self._first, *self._middle, self._last] if self._stars else [self._first]
        for piece in pieces:
            parts = _BETWEEN_NAMES.split(piece.text)
            for place in range(0, len(parts), 2):
                begins = parts[place - 1] != "?" if place else piece is self._first
                ends = parts[place + 1] != "?" if parts[place + 1 :] else piece is self._last
                found.append((parts[place], begins, ends))
        return found

    def _reaches(self, text: str, goal: int) -> bool:
        """Whether stars and middle pieces fit between the first piece and the last."""
        if self._slashed and "/" not in text:
            return False
        if goal < _SHORT and not all(piece.literal_in(text) for piece in self._middle):
            return False
        spans = iter([(self._first.length, self._first.length)])
        for index, crossing in enumerate(self._stars):
            spans = self._cross(text, spans, index) if crossing else _run(text, spans)
            if index < len(self._middle):
                piece = self._middle[index]
                spans = _step(text, spans, piece, crossing=self._stars[index + 1])
        return any(start <= goal <= end for start, end in spans)

    def _cross(self, text: str, spans: _Spans, index: int) -> _Spans:
        """Where a `**` leads: from the first span to the end."""
        start, _ = next(spans, (-1, -1))
        if start < 0:
            return
        if self._tail is not None and index == self._tail[0]:
            start = max(start, _after_slash(text, self._tail[1]))
        yield start, len(text)


def _tail(stars: list[bool], pieces: list[_Piece]) -> tuple[int, int] | None:
    """The last `**` and how many "/" what follows it can match, if that is more than letters."""
    if True not in stars or stars[-1]:
        return None
    last = len(stars) - 1 - stars[::-1].index(True)
    return last, sum(piece.most_slashes for piece in pieces[last + 1 :])


def _after_slash(text: str, slashes: int) -> int:
    """The first place in a text behind which there are no more than so many slashes."""
    place = len(text)
    for _ in range(slashes + 1):
        place = text.rfind("/", 0, place)
        if place < 0:
            return 0
    return place + 1


def _run(text: str, spans: _Spans) -> _Spans:
    """Where one `*` leads: from each span on to the next "/"."""
    first = reached = -1
    for start, end in spans:
        if start > reached:
            if reached >= 0:
                yield first, reached
            first = start
        if end > reached:
            slash = text.find("/", end)
            reached = len(text) if slash < 0 else slash
    if reached >= 0:
        yield first, reached


def _step(text: str, spans: _Spans, piece: _Piece, *, crossing: bool) -> _Spans:
    """The ends of a piece that begins in a span, without those that lead no further than others.

    Before a `**` only the first counts; before a `*` the first between two slashes.
    """
    resume = 0
    for start, end in spans:
        place = piece.find(text, max(start, resume), end)
        while place >= 0:
            after = place + piece.length
            yield after, after
            if crossing:
                return
            slash = text.find("/", after)
            resume = max(place + 1, (len(text) if slash < 0 else slash) - piece.length + 1)
            place = piece.find(text, resume, end)
