"""Decodes JSON that somebody else wrote, however it is broken."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from clawkit.errors import LoginError

Document = TypeVar("Document")


def decoded(data: bytes | str, kind: type[Document], problem: str = "") -> Document:
    """The JSON as `kind`; LoginError says what is not as it must be, and may quote a value."""
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        reason = "it is nested too deeply"
    except msgspec.ValidationError as error:
        reason = str(error)[:200]
    except (msgspec.DecodeError, UnicodeError):
        reason = "it is not JSON"
    raise LoginError(f"{problem}: {reason}" if problem else reason) from None
