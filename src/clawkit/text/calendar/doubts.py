"""Days that are named but not meant, or of which one cannot know which is meant.

What is written behind a name stays for good: in doubt none is. The words are in
`days_around.toml`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from datetime import date
from functools import cache
from itertools import pairwise

from clawkit.text.calendar.lexicon import lexicons
from clawkit.text.calendar.spans import Mention
from clawkit.text.tables import table, unbroken

_LONGEST = 60
_QUOTED = re.compile(r"\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|„[^“”\n]{1,80}[“”]|«[^»\n]{1,80}»")


def in_doubt(text: str, named: Sequence[Mention], day: date) -> set[int]:
    """The places of those days that are not to be written, in a text of that day."""
    quotes = [found.span() for found in _QUOTED.finditer(text)]
    ends = {one.end for one in named}
    found = {
        one.start
        for one in named
        if _is_in_doubt(text, one, day, quotes) or _ends_range(text, one, ends)
    }
    for first, second in pairwise(named):
        found |= _of_two(text, first, second, day)
    return found


def _is_in_doubt(text: str, one: Mention, day: date, quotes: list[tuple[int, int]]) -> bool:
    before = text[max(0, one.start - _LONGEST) : one.start]
    after = text[one.end : one.end + _LONGEST]
    quote = bisect_left(quotes, (one.start, one.start)) - 1
    if quote >= 0 and one.end < quotes[quote][1]:
        return True
    if one.first > day and _before("document").search(before):  # a letter is older
        return True
    if any(character.isdigit() for character in text[one.start : one.end]):
        return _after("street").match(after) is not None
    return (
        any(_before(kind).search(before) for kind in ("title", "weeks_on", "wished"))
        or any(_after(kind).match(after) for kind in ("street", "shifted", "feast_day"))
        or (_before("forename").search(before) and _after("relation").match(after)) is not None
        or (_before("thought").search(before) and _after("was").match(after)) is not None
    )


def _ends_range(text: str, one: Mention, ends: set[int]) -> bool:
    """Whether it is the last day of a range whose first was not read as a day."""
    offset = max(0, one.start - _LONGEST)
    first = _after_weekday().search(text[offset : one.start])
    return first is not None and offset + first.end("day") not in ends


def _of_two(text: str, first: Mention, second: Mention, day: date) -> set[int]:
    """Those of two neighbouring days that cannot be meant together."""
    between = text[first.end : second.start]
    if len(between) > _LONGEST:
        return set()
    both = {first.start, second.start}
    if second.first < first.first and _whole("range").fullmatch(between):
        return both
    if second.first <= first.first and _whole("would").search(between):
        return {second.start}
    apart = second.last < first.first or first.last < second.first
    if apart and _whole("beside").fullmatch(between):
        return {first.start} if first.first == first.last == day else both
    return set()


@cache
def _after_weekday() -> re.Pattern[str]:
    """The first day of a range, before its last."""
    names = {
        phrase[0]
        for lexicon in lexicons()
        for phrase, word in lexicon.phrases.items()
        if word.symbol == "W" and len(phrase) == 1
    }
    words = "|".join(sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?P<day>{words})(?:{_around('range')})$", re.IGNORECASE)


@cache
def _before(kind: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_around(kind)})$", _flags(kind))


@cache
def _after(kind: str) -> re.Pattern[str]:
    return re.compile(rf"\s+(?:{_around(kind)})(?!\w)", _flags(kind))


@cache
def _whole(kind: str) -> re.Pattern[str]:
    return re.compile(_around(kind), re.IGNORECASE)


def _flags(kind: str) -> re.RegexFlag:
    """Titles, names and streets have capitals, which tell them from other words."""
    return re.NOFLAG if kind in {"title", "street", "forename", "relation"} else re.IGNORECASE


def _around(kind: str) -> str:
    return unbroken(table("days_around")[kind])
