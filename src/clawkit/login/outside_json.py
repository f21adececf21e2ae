"""Decodes JSON that came from outside; whatever is wrong with it is a LoginError."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from clawkit.errors import LoginError

Kind = TypeVar("Kind")


def decoded(data: bytes, kind: type[Kind], problem: str) -> Kind:
    """JSON as this type; LoginError with the problem if it is none, no UTF-8, or too deep."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise LoginError(f"{problem}: {why}") from None
