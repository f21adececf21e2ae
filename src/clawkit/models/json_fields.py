"""Reads fields of untrusted JSON defensively."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from clawkit.errors import UNREADABLE_JSON

Json = dict[str, Any]

DEEPEST = 100
"""Levels. What is deeper may be read here and then not be written, with more on the stack."""
_MOST = 10**12
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair
    r"|\\u([dD][89a-fA-F][0-9a-fA-F]{2})"  # a lone one
    r"|\\."
)


def decoded(data: bytes, *, keep_surrogates: bool = False) -> Any:
    """What a text of JSON says; raises ValueError if it is none, or nested too deep.

    A lone surrogate, such as `\\ud83d`, becomes U+FFFD unless `keep_surrogates`.
    """
    try:
        value: Any = msgspec.json.decode(data)
    except UNREADABLE_JSON as error:
        value = _repaired(data, str(error), keep_surrogates)
    if data.count(b"[") + data.count(b"{") > DEEPEST and _is_deep(value):
        raise ValueError(f"more than {DEEPEST} levels")
    return value


def _repaired(data: bytes, problem: str, keep_surrogates: bool) -> Any:
    text = data.decode("utf-8", "replace")
    if not keep_surrogates:
        text = _ESCAPE.sub(_replace_surrogate, text)
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ValueError(problem) from None


def _replace_surrogate(escape: re.Match[str]) -> str:
    return "\\ufffd" if escape[1] else escape[0]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def joined(text: str) -> str:
    """The text with surrogate pairs joined; a lone one becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_deep(value: Any) -> bool:
    """Whether a value is nested too deeply; counts level by level, without recursion."""
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
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def number(value: Any) -> int:
    """A count; what cannot be one is none."""
    return value if type(value) is int and 0 <= value <= _MOST else 0
