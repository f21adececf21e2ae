"""What stands in a JSON object, where nothing can be taken for granted."""

from __future__ import annotations

from typing import Any, cast

Json = dict[str, Any]


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
    return value if isinstance(value, int) else 0
