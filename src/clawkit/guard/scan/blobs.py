"""Text that is sent in base64, as a file or an attachment: what it says is looked through too."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error
from functools import cache

from clawkit.text.keyword_search import Words, encoded

NAMES = ("blob", "data")
"""The members that hold base64 in MCP."""
_LONGEST = 4 * (1 << 20) // 3
_HEAD = 64
_BEGINS = re.compile(rb'\s*:\s*"')
_ENDS = re.compile(rb"\\[nrt]|\\(?=/)|\s")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def may_hold_text(line: bytes) -> bool:
    """Whether a line of JSON has a blob that begins like text."""
    for _, _, end in _members().places(line):
        begins = _BEGINS.match(line, end)
        if begins and _decoded(line[begins.end() : begins.end() + _HEAD]):
            return True
    return False


@cache
def _members() -> Words:
    return Words(f'"{name}"'.encode() for name in NAMES)


def text_in(blob: str) -> str:
    """The text that a blob is of; empty if it is none, or too long."""
    if len(blob) > _LONGEST or not _decoded(encoded(blob[:_HEAD])):
        return ""
    return _decoded(encoded(blob)).decode("utf-8", "replace")


def withheld(tail: str) -> str:
    """What stands for a blob: base64 too, as clients expect there."""
    return b64encode(f"[redacted: blob{tail}]".encode()).decode()


def _decoded(content: bytes) -> bytes:
    """The bytes, if they are text."""
    signs = _ENDS.sub(b"", content.partition(b'"')[0]).translate(_URL_SAFE).rstrip(b"=")
    if len(signs) % 4 == 1:
        signs = signs[:-1]
    try:
        found = b64decode(signs + b"=" * (-len(signs) % 4), validate=True)
    except Error:
        return b""
    if _NO_TEXT.search(found):
        return b""
    try:
        found.decode()
    except UnicodeDecodeError as error:
        # At the end of what was looked at a letter may be cut in two.
        return found if error.start >= len(found) - 3 else b""
    return found
