"""Lists in pages: an opaque cursor that names the last item seen."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from clawkit.errors import InvalidParamsError


def page(items: Mapping[str, Any], cursor: object, size: int) -> tuple[list[Any], str | None]:
    """The items after `cursor`, at most `size`, and the cursor of the next page if there is one."""
    if cursor is None and len(items) <= size:
        return list(items.values()), None
    keys = list(items)
    start = 0 if cursor is None else _position(keys, cursor) + 1
    chosen = keys[start : start + size]
    more = start + size < len(keys)
    return [items[key] for key in chosen], _cursor(chosen[-1]) if more else None


def _cursor(key: str) -> str:
    return urlsafe_b64encode(key.encode()).decode()


def _position(keys: list[str], cursor: object) -> int:
    try:
        if isinstance(cursor, str):
            return keys.index(urlsafe_b64decode(cursor.encode()).decode())
    except (binascii.Error, UnicodeError, ValueError):
        pass
    raise InvalidParamsError("Invalid params: unknown cursor; list again from the start")
