"""Glob patterns: one, many at once in an index, and the wildcards in a call's own values.

`*` is any run without "/", `**` any run, `?` any one character, all else stands for itself, and
the whole text must match, in time linear in the text whatever the pattern. A backtracking regular
expression would let a text of `a`s stop the guard; here the positions that a match can have reached
are kept as spans, and each piece of the pattern moves them on.

A call's value such as `/e?c/shadow` is read as each name that the rules speak of: a tool may hand
it to a shell, or look for files by it. A star that begins a name says nothing about which one is
meant, else every search for `*.json` would be a search for each secret one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice, product

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


_Entry = tuple[Glob, int]
_Table = dict[str, list[_Entry]]


class GlobIndex:
    """Globs, each with the number of the condition it stands for."""

    __slots__ = ("_exact", "_longest", "_prefixes", "_rest", "_segments", "_suffixes", "globs")

    def __init__(self, entries: Iterable[_Entry]) -> None:
        entries = list(entries)
        self.globs = tuple(glob for glob, _ in entries)
        common = Counter(key for glob, _ in entries for key in set(glob.keys()))
        tables: dict[str, _Table] = {"exact": {}, "prefix": {}, "suffix": {}, "segment": {}}
        self._rest: list[_Entry] = []
        for entry in entries:
            key = _rarest_key(entry[0], common)
            place = self._rest if key is None else tables[key[0]].setdefault(key[1], [])
            place.append(entry)
        self._exact = tables["exact"]
        self._longest = max(map(len, self._exact), default=-1)
        self._prefixes = _by_length(tables["prefix"])
        self._suffixes = _by_length(tables["suffix"])
        self._segments = tables["segment"]

    def find(self, text: str, segments: Collection[str] | None = None) -> set[int]:
        """The numbers of all globs that match; `segments` are the text's, if they are known."""
        found: set[int] = set()
        # To look a text up is to hash all of it, so long ones are not.
        if len(text) <= self._longest:
            found.update(number for _, number in self._exact.get(text, ()))
        for length, table in self._prefixes:
            if entries := table.get(text[:length]):
                _match(entries, text, found)
        for length, table in self._suffixes:
            if entries := table.get(text[-length:]):
                _match(entries, text, found)
        if self._segments and "/" in text:
            for segment in self._segments.keys() & (segments or text.split("/")):
                _match(self._segments[segment], text, found)
        if self._rest:
            _match(self._rest, text, found)
        return found


def _match(entries: list[_Entry], text: str, found: set[int]) -> None:
    for glob, number in entries:
        if number not in found and glob.matches(text):
            found.add(number)


def _rarest_key(glob: Glob, common: Counter[tuple[str, str]]) -> tuple[str, str] | None:
    if glob.literal is not None:
        return "exact", glob.literal
    return min(glob.keys(), key=lambda key: (common[key], -len(key[1])), default=None)


def _by_length(table: _Table) -> list[tuple[int, _Table]]:
    lengths: dict[int, _Table] = {}
    for text, entries in table.items():
        lengths.setdefault(len(text), {})[text] = entries
    return list(lengths.items())


_LONG, _LONGEST = 4096, 32768
_MOST = 64
_MOST_SIGNS = 16
_SIGN = re.compile(r"[*?\[{]")
_SPACE = re.compile(r"\s")
_ADDRESS = re.compile(r"\s*(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_CLASS = re.compile(r"\[[^\]/]+\]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_FEWEST_LETTERS = 2
_LONGEST_NAME = 256


def is_remote(text: str) -> bool:
    """Whether a value is an address, in which a question mark is none of ours."""
    return _ADDRESS.match(text) is not None


def may_have_wildcards(text: str) -> bool:
    """Whether a reading of a value can be a pattern."""
    if text.isascii() and "%" not in text and _SIGN.search(text) is None:
        return False
    return not is_remote(text)


def has_wildcards(text: str) -> bool:
    """Whether a value is read as a pattern too: a long one if it is a single word."""
    if len(text) > _LONGEST or _SIGN.search(text) is None:
        return False
    if len(text) <= _LONG:
        return True
    return _SPACE.search(text.strip()) is None and len(_SIGN.findall(text)) <= _MOST_SIGNS


class Expansions:
    """The names in many globs, and what a value with wildcards can stand for by them."""

    def __init__(self, globs: Iterable[Glob]) -> None:
        self._names: set[str] = set()
        self._roots: set[str] = set()
        for glob in globs:
            for place, (name, begins, _) in enumerate(glob.names()):
                if name and begins and not is_wild(name):
                    self._names.add(name)
                    if place == 1 and glob.is_rooted:
                        self._roots.add(name)

    def of(self, reading: str) -> Iterator[str]:
        """Other texts, of which the value may be one when its wildcards are filled in."""
        for text in _braces(reading):
            if text != reading:
                yield text
            names = text.split("/")
            parts = [self._meant(part) for part in names]
            if len(names) > 2 and not names[0]:
                at_root = self._meant_at_the_root(names[1], named=not is_wild(names[-1]))
                parts[1] = list(dict.fromkeys((*parts[1], *at_root)))
            if any(len(each) > 1 for each in parts):
                yield from islice(map("/".join, product(*parts)), 1, _MOST)

    def _meant(self, part: str) -> list[str]:
        plain = _CLASS.sub("?", part)
        letters = len(plain) - plain.count("*") - plain.count("?")
        says_little = letters < _FEWEST_LETTERS or plain.startswith("*")
        return [part] if says_little else _filled(part, plain, self._names)

    def _meant_at_the_root(self, part: str, *, named: bool) -> list[str]:
        """Few folders are there: `/e*/x` says enough, and `/*/x` if what is in it is `named`."""
        plain = _CLASS.sub("?", part)
        says_nothing = plain == "**" or not (named or plain.strip("*?"))
        return [part] if says_nothing else _filled(part, plain, self._roots)


def _filled(part: str, plain: str, names: set[str]) -> list[str]:
    if not is_wild(plain) or len(plain) > _LONGEST_NAME:
        return [part]
    glob = Glob(plain)
    return [part, *sorted(name for name in names if glob.matches(name))]


def _braces(text: str) -> list[str]:
    """A text with each of the alternatives that its braces give."""
    found = [text]
    for each in found:
        braces = _BRACES.search(each)
        if braces is None:
            continue
        for choice in braces[1].split(","):
            filled = each[: braces.start()] + choice + each[braces.end() :]
            if filled not in found and len(found) < _MOST:
                found.append(filled)
    return found
