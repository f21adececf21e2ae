"""Verbs that look the same in past and present: "I cut my thumb", "le plombier répara".

Somebody who does it right before the verb tells that it is one. With a bare day it is then rather
past, unless its clause looks ahead or tells what comes back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from clawkit.text.tables import listed, unbroken

Token = tuple[int, str]

_LONGEST_SUBJECT = 4


class SameForms(msgspec.Struct, frozen=True):
    """The words of one language that tell them from nouns and from infinitives."""

    verbs: re.Pattern[str]
    alone: frozenset[str]
    """Who does it, in a word that is no noun: "he", "qui"."""

    singular: frozenset[str]
    """Of these, whose verb has another form in the present: then it can only be past."""

    of_noun: frozenset[str]
    """Before a noun that does it: "the", "my"."""

    between: frozenset[str]
    """Between who does it and the verb: "just", "never"."""

    nobody: frozenset[str]
    """What begins a sentence and is nobody: "please", "on"."""

    not_past: frozenset[str]
    """What makes an infinitive or future of any verb of its clause."""

    timetable: re.Pattern[str]
    """The verb with the next word, where a present as often tells what is to come."""

    object: frozenset[str]
    """What follows a verb rather than a noun of that form."""


def same_forms(words: dict[str, str]) -> SameForms:
    """From a table, where patterns are texts and sets are lists."""
    kinds = {"verbs", "timetable"}
    return SameForms(
        **{
            name: re.compile(unbroken(value)) if name in kinds else frozenset(listed(value))
            for name, value in words.items()
        }  # pyright: ignore[reportArgumentType] - one struct of both kinds
    )


def past_verb(
    clause: Sequence[Token], words: SameForms, ahead: frozenset[str], habits: frozenset[str]
) -> int | None:
    """The place of a verb in the clause that is rather past; None where it is in doubt."""
    lower = [word.lower() for _, word in clause]
    for number, (at, word) in enumerate(clause):
        if not word.islower() or not words.verbs.fullmatch(word):
            continue
        subject = _subject(clause, lower, number, words)
        if subject is None or not words.not_past.isdisjoint(lower[:number]):
            continue
        if not ahead.isdisjoint(lower):
            continue
        next_word = "".join(lower[number + 1 : number + 2])
        if subject in words.singular:
            return at
        if habits.isdisjoint(lower) and not words.timetable.fullmatch(f"{word} {next_word}"):
            return at
    return None


def _subject(
    clause: Sequence[Token], lower: Sequence[str], number: int, words: SameForms
) -> str | None:
    """Who does it; a name, and a noun that is no plural, is a "he"."""
    at = number - 1
    while at >= 0 and lower[at] in words.between:
        at -= 1
    if at < 0 or lower[at] in words.nobody:
        return None
    if lower[at] in words.alone:
        return lower[at]
    before = lower[max(0, at - _LONGEST_SUBJECT) : at]
    has_object = bool(words.object.intersection(lower[number + 1 : number + 2]))
    if clause[at][1][0].isupper() and (at or has_object):
        several = bool(before) and before[-1] in ("and", "et")
        return "" if several else next(iter(words.singular), "")
    if not words.of_noun.isdisjoint(before) or (at == 0 and has_object):
        return "" if lower[at].endswith("s") else next(iter(words.singular), "")
    return None
