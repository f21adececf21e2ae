"""Base64 as it comes in a call: checked to the last bit, and measured before it is decoded.

The alphabet is the standard one, with padding. Blanks and line breaks between the characters are
taken out, as RFC 2045 wraps its lines and the `base64` command does too. In front may stand
`data:image/png;base64,`.
"""

from __future__ import annotations

import binascii
import re

from msgspec import Struct

from clawkit.assistant.media.kinds import MAX_ITEM, MEGABYTE, megabytes

_BLANKS = " \t\r\n"
_DROP_BLANKS = str.maketrans("", "", _BLANKS)
_STRAY = re.compile(r"[^A-Za-z0-9+/]")
_LONGEST_PREFIX = 1000


class EncodedError(ValueError):
    """The text is not base64 that may be used; the message says why."""


class TooLargeError(EncodedError):
    """There are more bytes in the text than one item may have."""


class Encoded(Struct, frozen=True):
    """Base64, and the type that its `data:` prefix states, if it has one."""

    text: str
    stated: str | None = None


def read_encoded(text: str) -> Encoded:
    """Take a `data:` prefix off."""
    if text[:5].lower() != "data:":
        return Encoded(text)
    head, comma, _ = text[:_LONGEST_PREFIX].partition(",")
    if not comma:
        raise EncodedError("it starts with `data:` but no comma ends that prefix")
    stated, _, coding = head[5:].rpartition(";")
    if coding.strip().lower() != "base64":
        raise EncodedError("its `data:` prefix does not say `;base64`, and only base64 is taken")
    return Encoded(text[len(head) + 1 :], stated.strip())


def decode(encoded: Encoded, limit: int = MAX_ITEM) -> bytes:
    """The bytes; too many of them are refused before they are made."""
    text = encoded.text
    # What is several times too long is not even looked through: that many blanks nobody needs.
    giant = len(text) > 4 * limit + 1000
    blanks = 0 if giant else sum(map(text.count, _BLANKS))
    padding = 0 if giant else min(text.count("="), 2)
    size = (len(text) - blanks) // 4 * 3 - padding
    if size > limit:
        raise TooLargeError(
            f"{megabytes(size)} is more than the {limit / MEGABYTE:g} MB that one item may have"
        )
    compact = text.translate(_DROP_BLANKS) if blanks else text
    if not compact:
        raise EncodedError("is empty")
    try:
        data = binascii.a2b_base64(compact, strict_mode=True)
    except ValueError as error:
        raise EncodedError(f"is not base64: {_fault(compact) or error}") from None
    if len(compact) != (len(data) + 2) // 3 * 4:
        raise EncodedError(f"is not base64: {_fault(compact)}")
    # The bits that padding leaves over must be zero, or two texts would mean the same bytes.
    rest = len(data) % 3
    if rest and binascii.b2a_base64(data[-rest:], newline=False).decode() != compact[-4:]:
        raise EncodedError(f"is not base64: its last group {compact[-4:]!r} has bits left over")
    return data


def _fault(text: str) -> str:
    """What is wrong with a text that cannot be decoded, and where."""
    body = text.rstrip("=")
    stray = _STRAY.search(body)
    if stray is not None:
        hint = "; that is the URL-safe alphabet, use the standard one" if stray[0] in "-_" else ""
        return f"{stray[0]!r} at character {stray.start() + 1} does not belong there{hint}"
    padding = len(text) - len(body)
    if len(text) % 4 or padding > 2:
        return (
            f"{len(body)} characters and {padding} `=` make no groups of four;"
            " it was cut off, or its padding is wrong"
        )
    return ""
