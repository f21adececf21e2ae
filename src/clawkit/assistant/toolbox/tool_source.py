"""A source of tools as the toolbox sees it: what it offers, and how to call it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

_HALVES = re.compile("[\ud800-\udfff]")

Tell = Callable[[str], None]
"""Hears how far a call is, in words."""


class OfferedTool(Struct, frozen=True):
    """A tool under the name that its own server gives it."""

    name: str
    description: str
    input_schema: dict[str, Any]


class ToolSource(Protocol):
    """A server, in this process or not."""

    async def call(self, tool: str, arguments: dict[str, Any], tell: Tell) -> dict[str, Any]:
        """The result as `tools/call` has it; a call that has none raises ToolExecutionError."""
        ...


def in_words(progress: float, total: float | None, message: str | None) -> str:
    """A progress notification as a person reads it."""
    if message:
        return whole(message)
    return f"{progress:g} of {total:g}" if total is not None else f"{progress:g}"


def whole(value: Any) -> str:
    """A value as text; a half of a character, which no JSON takes, is replaced."""
    return _HALVES.sub("\ufffd", str(value))
