"""What stands in JSON from elsewhere, where nothing can be taken for granted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec

Json = dict[str, Any]

DEEPEST = 100
"""Levels. What is deeper may be read here and then not be written, with more on the stack."""
_MOST = 10**12


def decoded(data: bytes) -> Any:
    """What a text of JSON says; raises ValueError if it is none, or nested too deep."""
    try:
        value: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if data.count(b"[") + data.count(b"{") > DEEPEST and _is_deep(value):
        raise ValueError(f"more than {DEEPEST} levels")
    return value


def _is_deep(value: Any) -> bool:
    """Level by level, since to follow one down is what cannot be done."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
    return bool(level)


def _inside(value: Any) -> Iterable[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else fields(value).values()


def fields(value: Any) -> Json:
    """An object; anything else has no fields."""
    return cast("Json", value) if isinstance(value, dict) else {}


def objects(value: Any) -> list[Json]:
    """The objects in a list."""
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def number(value: Any) -> int:
    """A count; what cannot be one is none."""
    return value if type(value) is int and 0 <= value <= _MOST else 0
