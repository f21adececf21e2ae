"""Each language's words as symbols, the letters that the patterns are made of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from clawkit.text.calendar.languages import LANGUAGES, Language

_SEASONS = (3, 6, 9, 12)


class Word(msgspec.Struct, frozen=True):
    """What a word stands for."""

    symbol: str
    value: Any = None
    doubtful: bool = False
    short: bool = False


OTHER = Word(" ")
"""A word that has nothing to do with days."""


class Lexicon(msgspec.Struct, frozen=True):
    """The words and phrases of one language."""

    language: Language
    phrases: dict[tuple[str, ...], Word]
    lengths: dict[str, tuple[int, ...]]
    """The lengths of the phrases that begin with a word, the longest first."""

    anchors: frozenset[str]
    """A run of words without one of these names no day."""

    nouns: frozenset[str]


@cache
def lexicons() -> tuple[Lexicon, ...]:
    return tuple(map(_lexicon, LANGUAGES))


@cache
def anchors_of() -> dict[str, tuple[int, ...]]:
    """The languages in which a word alone may name a day."""
    found: dict[str, list[int]] = {}
    for number, lexicon in enumerate(lexicons()):
        for word in lexicon.anchors:
            found.setdefault(word, []).append(number)
    return {word: tuple(numbers) for word, numbers in found.items()}


@cache
def known_words() -> frozenset[str]:
    return frozenset(
        word for lexicon in lexicons() for phrase in lexicon.phrases for word in phrase
    )


def _lexicon(language: Language) -> Lexicon:
    phrases: dict[tuple[str, ...], Word] = {}
    for text, word in _entries(language):
        doubtful = text.startswith("?")
        phrase = tuple(text.lstrip("?").replace("-", " ").split())
        if phrase:
            entry = Word(word.symbol, word.value, doubtful, word.short)
            phrases[phrase] = _both(phrases.get(phrase), entry)
    lengths: dict[str, set[int]] = {}
    for phrase in phrases:
        lengths.setdefault(phrase[0], set()).add(len(phrase))
    anchors = {phrase[-1] for phrase, word in phrases.items() if word.symbol in "RWwMmUukySX"}
    return Lexicon(
        language,
        phrases,
        {first: tuple(sorted(found, reverse=True)) for first, found in lengths.items()},
        frozenset(anchors),
        frozenset(language.nouns.split(",")) - {""},
    )


def _both(known: Word | None, word: Word) -> Word:
    """A word that is both `on` and `of` has a symbol of its own; else the first meaning stays."""
    if known is None:
        return word
    if {known.symbol, word.symbol} == {"P", "F"}:
        return Word("p")
    return known


def _entries(language: Language) -> Iterator[tuple[str, Word]]:
    for phrase, offsets in language.relative.items():
        both = offsets if isinstance(offsets, tuple) else (offsets, offsets)
        yield phrase, Word("R", both)
    yield from _numbered(language.weekdays, "W", 0)
    yield from _numbered(language.months, "M", 1, doubtful=language.doubtful_months)
    yield from _numbered(language.short_months, "m", 1, short=True)
    yield from _numbered(language.short_weekdays, "w", 0)
    for season, first in zip(language.seasons.split("|"), _SEASONS, strict=False):
        yield from _listed(season, "S", first)
    for number, weeks in zip(("1", "2", "3", "4", "-1"), language.weeks.split("|"), strict=False):
        yield from _listed(weeks, "B", number)
    yield from _numbered(language.counts, "C", 1)
    yield from _numbered(language.firsts, "O", 1)
    for words, symbol, value in _plain(language):
        yield from _listed(words, symbol, value)


def _plain(language: Language) -> tuple[tuple[str, str, str | None], ...]:
    return (
        (language.last, "L", "last"),
        (language.before_last, "L", "before last"),
        (language.past_span, "L", "past"),
        (language.next, "N", "next"),
        (language.coming, "N", "coming"),
        (language.after_next, "N", "after next"),
        (language.this, "H", "this"),
        (language.day, "y", "day"),
        (language.week, "u", "week"),
        (language.weekend, "k", "weekend"),
        (language.month, "U", "month"),
        (language.year, "U", "year"),
        (language.begin, "B", "begin"),
        (language.middle, "B", "middle"),
        (language.end, "B", "end"),
        (language.few, "Q", None),
        (language.ago_before, "G", None),
        (language.ago_after, "g", None),
        (language.ahead_before, "A", None),
        (language.ahead_after, "j", None),
        (language.since, "V", None),
        (language.toward, "Z", None),
        (language.on, "P", None),
        (language.of, "F", None),
        (language.every, "E", None),
        (language.to, "T", None),
        (language.nothing, "X", None),
    )


def _numbered(
    words: str, symbol: str, first: int, *, doubtful: str = "", short: bool = False
) -> Iterator[tuple[str, Word]]:
    weak = doubtful.split(",")
    for number, same in enumerate(words.split("|"), first):
        for word in same.split(","):
            yield word, Word("m" if word in weak else symbol, number, short=short)


def _listed(words: str, symbol: str, value: int | str | None) -> Iterator[tuple[str, Word]]:
    for word in words.split(","):
        yield word, Word(symbol, value)
