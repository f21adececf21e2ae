"""Looking in long text for a rare sign and what must stand around it, at little cost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import AnyStr

# To find a single character is the one search that runs at the speed of memory. A compiled
# pattern costs twenty times that, and gets ahead only in short text and where the sign is frequent.
_SHORT = 1024
_FEW = 4
_RARE = 600  # characters to each sign


def holds(text: AnyStr, sign: AnyStr, pattern: re.Pattern[AnyStr]) -> bool:
    """Whether `pattern`, which begins with `sign`, matches anywhere."""
    if sign not in text:
        return False
    if len(text) < _SHORT:
        return pattern.search(text) is not None
    return next(_sparse(text, sign, pattern), None) is not None


def places(text: AnyStr, sign: AnyStr, pattern: re.Pattern[AnyStr]) -> Iterator[re.Match[AnyStr]]:
    """Every match of a pattern that begins with `sign`."""
    return pattern.finditer(text) if len(text) < _SHORT else _sparse(text, sign, pattern)


def _sparse(text: AnyStr, sign: AnyStr, pattern: re.Pattern[AnyStr]) -> Iterator[re.Match[AnyStr]]:
    at, tried = text.find(sign), 0
    while at >= 0 and (tried < _FEW or at > _RARE * tried):
        found = pattern.match(text, at)
        if found is not None:
            yield found
        at = text.find(sign, found.end() if found is not None else at + 1)
        tried += 1
    if at >= 0:
        yield from pattern.finditer(text, at)
