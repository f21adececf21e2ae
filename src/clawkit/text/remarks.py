"""Remarks that tell nothing for another day: thanks, and orders to forget something."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from clawkit.text.tables import table, unbroken

_AROUND = " \t\n¡¿!.?,;:…。！？)(♥❤️🙏😊👍"  # noqa: RUF001 - full-width marks


def is_thanks(text: str) -> bool:
    """Whether somebody only says thank you."""
    return _pattern("thanks").fullmatch(text.strip(_AROUND)) is not None


class _Order(Struct, frozen=True):
    """What is to be forgotten, and what is told beside it, such as why."""

    named: str
    told: str = ""


def to_forget(text: str) -> str | None:
    """What an order to forget names, with no words around it; None where it is no such order.

    "Forget it" names nothing. Where a further clause tells something, the sentence is no order,
    unless it is clear that what was told is meant: "what I said", "my dentist", "because".
    """
    order = _order(text)
    return order and order.named


def told_beside_orders(text: str) -> list[str]:
    """A sentence; of an order to forget with something told beside it both, each by itself."""
    order = _order(text)
    if order is None or not order.told:
        return [text]
    at = text.rindex(order.told)
    return [_last("because").sub("", text[:at].rstrip(_AROUND)).rstrip(_AROUND), text[at:]]


def _order(text: str) -> _Order | None:
    bare = _last("polite_end").sub("", text.strip(_AROUND)).strip(_AROUND)
    verb_last = _pattern("verb_last").fullmatch(bare)
    if verb_last:
        return _Order(_cleaned(_without_lead(verb_last[verb_last.lastgroup or 0])))
    order = _pattern("forget").match(bare)
    if order is None:
        if re.search(rf"{_pattern('ends_with_verb').pattern}$", bare, re.IGNORECASE) is None:
            return None
        return _Order(_cleaned(bare))
    rest = bare[order.end() :]
    told = ""
    is_sure = _pattern("sure").match(rest) is not None
    for lead in ("", "leading_up"):
        rest = _without_lead(rest) if lead else rest
        named, *more = _pattern("next_clause").split(rest, maxsplit=1)
        if not more:
            continue
        is_empty = _pattern("tells_nothing").search(more[0]) and not _names_nothing(named)
        if is_empty or _pattern("nothing_more").fullmatch(more[0]):
            rest = named
        elif _tells(more[0], named) or (is_sure and _is_one_verb(more[0])):
            reason = _pattern("because").match(more[0])
            if _names_nothing(named) or not (is_sure or reason):
                return None
            told = more[0][reason.end() if reason else 0 :]
            rest = named
    return _Order("" if _names_nothing(rest) else _cleaned(rest), told)


def _without_lead(named: str) -> str:
    lead = _pattern("leading_up").match(named)
    return named[lead.end() :] if lead else named


def _cleaned(named: str) -> str:
    return _last("forget_after").sub("", named).strip(_AROUND)


def _tells(clause: str, named: str) -> bool:
    """Whether the clause behind what is named tells something, and names nothing more."""
    if _pattern("belongs").fullmatch(clause):
        return False
    return (
        clause[:1].islower()  # so no other name begins it
        or _names_nothing(named)
        or _whole("tells").search(clause) is not None
    )


def _is_one_verb(clause: str) -> bool:
    """Whether it may be a verb that says who by itself, as in "desisti" (I gave up)."""
    return clause.islower() and _pattern("verb_alone").fullmatch(clause) is not None


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
