"""The values in a call's arguments, and the texts that each can be compared as."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, cast

_NUMBER = re.compile(r"[+-]?(?:0x[0-9a-f]+|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)", re.IGNORECASE)
_QUOTE_OR_ESCAPE = re.compile(r'"|\\.', re.DOTALL)
_LONGEST_NUMBER = 40
_LARGEST_EXACT = 2**53 - 1
_ENDS = {"{": "}", "[": "]", '"': '"'}


class Pairs(list[tuple[str, Any]]):
    """An object out of a string: all that it says, where a key may stand twice."""


_decode = json.JSONDecoder(object_pairs_hook=Pairs, strict=False).decode


def items(value: Any) -> list[tuple[str, Any]] | None:
    """The keys and values of an object, None for what is no object."""
    if isinstance(value, Pairs):
        return value
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).items())
    return None


def inside(text: str) -> Any:
    """What a string holds that looks like JSON and is; None for other strings."""
    text = text.strip("\ufeff \t\r\n")
    if len(text) < 2 or _ENDS.get(text[0]) != text[-1]:
        return None
    try:
        return _decode(text)
    except ValueError:
        return None
    except RecursionError:  # A parser that goes deeper would come to these.
        return [part for quoted in _strings(text) if (part := inside(quoted)) is not None]


def _strings(text: str) -> Iterator[str]:
    """The strings in a JSON text, quotes included; no part of the text is looked at twice."""
    start = -1
    for mark in _QUOTE_OR_ESCAPE.finditer(text):
        if start < 0:
            start = mark.end() - 1 if mark.group().endswith('"') else -1
        elif mark.group() == '"':
            yield text[start : mark.end()]
            start = -1


def texts(leaf: object) -> tuple[str, ...]:
    """A leaf as text; a number in each of its spellings, `5.0` as "5.0" and "5"."""
    if isinstance(leaf, str):
        return (leaf,)
    if leaf is None or isinstance(leaf, bool):
        return (json.dumps(leaf),)
    if isinstance(leaf, int):
        return (_digits(leaf),)
    if isinstance(leaf, float):
        whole = math.isfinite(leaf) and leaf.is_integer()
        return (repr(leaf), _digits(int(leaf))) if whole else (repr(leaf),)
    return (str(leaf),)


def is_read_differently(leaf: object) -> bool:
    """Whether a number becomes another one in a program that keeps all of them as 64-bit floats."""
    if isinstance(leaf, int):
        return not -_LARGEST_EXACT <= leaf <= _LARGEST_EXACT
    if not isinstance(leaf, float):
        return False
    if not leaf:
        return math.copysign(1, leaf) < 0
    return not math.isfinite(leaf) or (leaf.is_integer() and abs(leaf) > _LARGEST_EXACT)


def as_number(text: str) -> tuple[str, ...]:
    """The number that a string spells, as `texts` would: "0x16", "022" and "2.2e1" are 22."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text.strip()):
        return ()
    number = text.strip().lower()
    sign = -1 if number.startswith("-") else 1
    if "0x" in number:
        return texts(sign * int(number.lstrip("+-"), 16))
    return texts(float(number))


def _digits(number: int) -> str:
    try:
        return str(number)
    except ValueError:  # Python does not write out numbers of more than some thousand digits.
        return hex(number)
