"""Text and other values made storable, the same for SQLite and PostgreSQL.

PostgreSQL takes no NUL, neither takes half a surrogate pair, and an index of PostgreSQL takes no
long key. What cannot be stored becomes U+FFFD, so that the rest of a text is kept.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, cast

import msgspec

_UNKNOWN = "\ufffd"
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_KEY = 200
_AS_THEY_ARE = frozenset((int, float, bytes, type(None)))


def storable(values: Sequence[Any]) -> list[Any]:
    """The values of a statement as both databases take them."""
    return [value if type(value) in _AS_THEY_ARE else _storable(value) for value in values]


def cleaned(text: str) -> str:
    """A text without what a database refuses."""
    if "\0" in text:
        text = text.replace("\0", _UNKNOWN)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(_UNKNOWN, text)
    return text


def written(value: Any) -> str:
    """A record as JSON, without what a database refuses."""
    try:
        text = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_cleaned_all(_builtins(value))).decode()
    if "\\u0000" in text:
        return msgspec.json.encode(_cleaned_all(_builtins(value))).decode()
    return text


def key(text: str) -> str:
    """A text that an index can hold: itself, or its beginning and a digest of it."""
    text = cleaned(text)
    if len(text) <= _LONGEST_KEY:
        return text
    return f"{text[:32]}…{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


def folded(text: str) -> str:
    """The same for texts that differ in case, width and spaces only."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def contains(column: str, text: str) -> str:
    """A condition: whether a column contains a text, given in small letters, whatever the case.

    The databases' own small letters are those of ASCII, and fast.
    """
    cased = "".join(one for one in text if not one.isascii() and one.lower() != one.upper())
    return f"instr({'folded' if cased else 'lower'}({column}), ?) > 0"


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return cleaned(value)
    return int(value) if isinstance(value, bool) else value  # the tables have no flags


def _builtins(value: Any) -> Any:
    return msgspec.to_builtins(value)


def _cleaned_all(value: Any) -> Any:
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {_cleaned_all(name): _cleaned_all(one) for name, one in items}
    if isinstance(value, list | tuple):
        return [_cleaned_all(one) for one in cast("Sequence[Any]", value)]
    return value
