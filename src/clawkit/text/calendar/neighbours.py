"""What the words around a day make of it: each such day, the last of all, or no day."""

from __future__ import annotations

import re
from functools import cache

from clawkit.text.tables import table, unbroken

_LONGEST_BEFORE = 30


class Neighbours:
    """The words right before and after a place in a text."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._before = text[max(0, start - _LONGEST_BEFORE) : start]
        self._end = end

    def make_it_each(self) -> bool:
        """ "on Tuesday evenings"."""
        return self._follows("each")

    def make_it_the_last_of_all(self) -> bool:
        """ "my last night here"."""
        return self._precedes("own")

    def say_where(self) -> bool:
        return self._follows("there")

    def compare(self) -> bool:
        """More in nine days than in four years."""
        return self._follows("than") or self._precedes("than")

    def are_not_counted(self) -> bool:
        """Whether no noun follows that it counts; who has a birthday then is not that old."""
        if _END.match(self._text, self._end) or self._follows("after_day"):
            return True
        return self._follows("birthday") and self._precedes("has")

    def take(self) -> bool:
        """Whether the number before or after them is that of a line or a channel."""
        return self._precedes("taken")

    def _follows(self, kind: str) -> bool:
        return bool(_after(kind).match(self._text, self._end))

    def _precedes(self, kind: str) -> bool:
        return bool(_before(kind).search(self._before))


def is_last_night(words: str) -> bool:
    return bool(_anywhere("last_night").search(words))


def names_a_number(sentence: str) -> bool:
    """Whether it is about the number of something."""
    return bool(_anywhere("numbered").search(sentence))


def is_floor(words: str, language: str) -> bool:
    return _is_of("floor", words, language)


def is_ordinal_day(words: str, language: str) -> bool:
    return _is_of("ordinal", words, language)


def _is_of(kind: str, words: str, language: str) -> bool:
    pattern = table("days_around")[kind].get(language)
    return bool(pattern and re.search(pattern, words))


_END = re.compile(r"\s*(?:[.,;:!?)(–—]|-\s|$)")


@cache
def _after(kind: str) -> re.Pattern[str]:
    """What follows; a capital begins another sentence there, or is a noun."""
    flags = re.NOFLAG if kind == "after_day" else re.IGNORECASE
    return re.compile(rf",?\s+(?:{_words(kind)})\b", flags)


@cache
def _before(kind: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|\W)(?:{_words(kind)})\s+$", re.IGNORECASE)


@cache
def _anywhere(kind: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_words(kind)})\b", re.IGNORECASE)


def _words(kind: str) -> str:
    return unbroken(table("days_around")[kind])
