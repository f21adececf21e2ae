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
    """What an order to forget names, with no words around it; None where it is no such order."""
    bare = text.strip(_AROUND)
    order = _pattern("forget").match(bare)
    if order is None:
        if re.search(rf"{_pattern('ends_with_verb').pattern}$", bare, re.IGNORECASE) is None:
            return None
        return _last("forget_after").sub("", bare).strip(_AROUND)
    rest = bare[order.end() :]
    rest = rest[match.end() :] if (match := _pattern("leading_up").match(rest)) else rest
    return _last("forget_after").sub("", rest).strip(_AROUND)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(unbroken(table("remarks")[name]), re.IGNORECASE)


@cache
def _last(name: str) -> re.Pattern[str]:
    return re.compile(f"{_pattern(name).pattern}$", re.IGNORECASE)
