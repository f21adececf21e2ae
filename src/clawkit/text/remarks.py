"""Remarks that tell nothing for another day: thanks, and orders to forget something."""

from __future__ import annotations

import re
from functools import cache

from clawkit.text.tables import table, unbroken

_AROUND = " \t\n¡¿!.?,;:…。！？)(♥❤️🙏😊👍"  # noqa: RUF001 - full-width marks


def is_thanks(text: str) -> bool:
    """Whether somebody only says thank you."""
    return _pattern("thanks").fullmatch(text.strip(_AROUND)) is not None


def to_forget(text: str) -> str | None:
    """What an order to forget names, with no words around it; None where it is no such order.

    "Forget it" names nothing. Where a further clause tells something, the sentence is no order.
    """
    bare = text.strip(_AROUND)
    order = _pattern("forget").match(bare)
    if order is None:
        if re.search(rf"{_pattern('ends_with_verb').pattern}$", bare, re.IGNORECASE) is None:
            return None
        return _last("forget_after").sub("", bare).strip(_AROUND)
    rest = bare[order.end() :]
    for lead in ("", "leading_up"):
        if lead and (match := _pattern(lead).match(rest)):
            rest = rest[match.end() :]
        named, *more = _pattern("next_clause").split(rest, maxsplit=1)
        if more and _tells(more[0], named):
            return None
        if more and _pattern("nothing_more").fullmatch(more[0]):
            rest = named
    if _names_nothing(rest):
        return ""
    return _last("forget_after").sub("", rest).strip(_AROUND)


def _tells(clause: str, named: str) -> bool:
    """Whether the clause behind what is named tells something, and names nothing more."""
    if any(_pattern(name).fullmatch(clause) for name in ("nothing_more", "belongs")):
        return False
    return (
        clause[:1].islower()  # so no other name begins it
        or _names_nothing(named)
        or _whole("tells").search(clause) is not None
    )


def _names_nothing(named: str) -> bool:
    return _pattern("names_nothing").fullmatch(named.strip(_AROUND)) is not None


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(unbroken(table("remarks")[name]), re.IGNORECASE)


@cache
def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_pattern(name).pattern})(?!\w)", re.IGNORECASE)


@cache
def _last(name: str) -> re.Pattern[str]:
    return re.compile(f"{_pattern(name).pattern}$", re.IGNORECASE)
