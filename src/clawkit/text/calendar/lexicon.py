"""Each language's words as symbols, the letters that the patterns are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from clawkit.text.tables import listed, table, unbroken

_TWELVE = range(1, 13)
# What each list of words stands for: its symbol, and the values of its meanings in their order.
# Where a word is in two lists, it is of the first.
_MEANINGS: dict[str, tuple[str, Sequence[int | str | None]]] = {
    "weekdays": ("W", range(7)),
    "weekdays_toward": ("W", range(7)),
    "months": ("M", _TWELVE),
    "short_months": ("m", _TWELVE),
    "short_weekdays": ("w", range(7)),
    "seasons": ("S", (3, 6, 9, 12)),
    "weeks": ("B", ("1", "2", "3", "4", "-1")),
    "counts": ("C", _TWELVE),
    "firsts": ("O", range(1, 32)),
    "last": ("L", ("last",)),
    "before_last": ("L", ("before last",)),
    "past_span": ("L", ("past",)),
    "next": ("N", ("next",)),
    "coming": ("N", ("coming",)),
    "after_next": ("N", ("after next",)),
    "this": ("H", ("this",)),
    "day": ("y", ("day",)),
    "week": ("u", ("week",)),
    "weekend": ("k", ("weekend",)),
    "month": ("U", ("month",)),
    "year": ("U", ("year",)),
    "begin": ("B", ("begin",)),
    "middle": ("B", ("middle",)),
    "end": ("B", ("end",)),
    "few": ("Q", (None,)),
    "ago_before": ("G", (None,)),
    "ago_after": ("g", (None,)),
    "ahead_before": ("A", (None,)),
    "ahead_after": ("j", (None,)),
    "since": ("V", (None,)),
    "from": ("V", ("from",)),
    "until": ("Z", ("until",)),
    "toward": ("Z", (None,)),
    "on": ("P", (None,)),
    "of": ("F", (None,)),
    "every": ("E", (None,)),
    "to": ("T", (None,)),
    "nothing": ("X", (None,)),
}


class Word(msgspec.Struct, frozen=True):
    """What a word stands for."""

    symbol: str
    value: Any = None
    doubtful: bool = False
    short: bool = False
    toward: bool = False
    """Whether its ending points to what is to come."""


OTHER = Word(" ")
"""A word that has nothing to do with days."""


class Lexicon(msgspec.Struct, frozen=True):
    """The words and phrases of one language."""

    language: str
    phrases: dict[tuple[str, ...], Word]
    lengths: dict[str, tuple[int, ...]]
    """The lengths of the phrases that begin with a word, the longest first."""

    anchors: frozenset[str]
    """A run of words without one of these names no day."""

    nouns: frozenset[str]
    before_day: frozenset[str]
    """Words after which a number alone is a day of the month."""

    habit: bool
    month_first: bool


@cache
def lexicons() -> tuple[Lexicon, ...]:
    return tuple(_lexicon(name, words) for name, words in table("days").items())


@cache
def languages_by_word(kind: Literal["anchors", "before_day"]) -> dict[str, tuple[int, ...]]:
    """The languages that have a word among those of this kind."""
    found: dict[str, tuple[int, ...]] = {}
    for number, lexicon in enumerate(lexicons()):
        for word in lexicon.anchors if kind == "anchors" else lexicon.before_day:
            found[word] = (*found.get(word, ()), number)
    return found


@cache
def known_words() -> frozenset[str]:
    return frozenset(
        word for lexicon in lexicons() for phrase in lexicon.phrases for word in phrase
    )


def _lexicon(name: str, language: dict[str, Any]) -> Lexicon:
    phrases: dict[tuple[str, ...], Word] = {}
    for text, word in (*_relative(language["relative"]), *_entries(language)):
        doubtful = text.startswith("?")
        phrase = tuple(text.lstrip("?").replace("-", " ").split())
        entry = msgspec.structs.replace(word, doubtful=doubtful)
        phrases[phrase] = _both(phrases.get(phrase), entry)
    lengths: dict[str, set[int]] = {}
    for phrase in phrases:
        lengths.setdefault(phrase[0], set()).add(len(phrase))
    anchors = {phrase[-1] for phrase, word in phrases.items() if word.symbol in "RWwMmUukySX"}
    return Lexicon(
        name,
        phrases,
        {first: tuple(sorted(found, reverse=True)) for first, found in lengths.items()},
        frozenset(anchors),
        frozenset(listed(language.get("nouns", ""))),
        frozenset(listed(language.get("before_day", ""))),
        language.get("habit", False),
        language.get("month_first", False),
    )


def _both(known: Word | None, word: Word) -> Word:
    """A word that is both `on` and `of` has a symbol of its own; else the first meaning stays."""
    if known is None:
        return word
    if {known.symbol, word.symbol} == {"P", "F"}:
        return Word("p")
    return known


def _relative(phrases: dict[str, str]) -> Iterator[tuple[str, Word]]:
    for days, same in phrases.items():
        first, _, last = days.partition("..")
        for phrase in listed(same):
            yield phrase, Word("R", (int(first), int(last or first)))


def _entries(language: dict[str, Any]) -> Iterator[tuple[str, Word]]:
    doubtful = listed(language.get("doubtful_months", ""))
    parts = ("", *listed(language.get("parts_of_day", "")))
    for name, (symbol, values) in _MEANINGS.items():
        meanings = unbroken(language["words"].get(name, "")).split("|")
        for value, same in zip(values, meanings, strict=False):
            for word in listed(same):
                kind = "m" if name == "months" and word in doubtful else symbol
                toward = name == "weekdays_toward"
                entry = Word(kind, value, short=name == "short_months", toward=toward)
                yield from ((word + part, entry) for part in (parts if kind == "W" else ("",)))
