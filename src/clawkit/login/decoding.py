"""Decodes JSON that somebody else wrote, however it is broken."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from clawkit.errors import LoginError

Document = TypeVar("Document")


def decoded(data: bytes | str, kind: type[Document]) -> Document:
    """The JSON as `kind`; LoginError says what is not as it must be, and may quote a value."""
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        reason = "it is nested too deep"
    except msgspec.ValidationError as error:
        reason = str(error)
    except (msgspec.DecodeError, UnicodeError):
        reason = "it is not JSON"
    raise LoginError(reason) from None
