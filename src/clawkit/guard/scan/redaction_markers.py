"""The marker in place of a withheld value; its nonce keeps servers from forging one."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

from clawkit.guard.scan.sanitizer import withheld
from clawkit.text.keyword_search import KeywordSearch

NONCE = os.urandom(8).hex()
"""Anew for each guard process. It reaches clients, and never a server."""
TAIL = f" #{NONCE}"
DECLARED = "clawkit/redacted"
"""The key in `_meta` that says what was withheld from a message."""

_TAIL = TAIL.encode()
_MARKER = re.compile(rf"(\[redacted: [a-z0-9-]+{TAIL}\])")
_ESCAPED = re.compile(rb"\\\\|\\u00(2[03]|3[0-9]|6[1-6])")
_KIND = re.compile(rb"\[redacted: ([a-z0-9-]+)%b\]" % _TAIL)
_BLOB = withheld(TAIL).encode()
_ESCAPES = tuple(b"\\u00%02x" % code for code in b" #0123456789abcdef")


def marker(kind: str) -> str:
    return f"[redacted: {kind}{TAIL}]"


def around_markers(text: str, change: Callable[[str], str]) -> str:
    """Change a text, but not the markers that are in it already."""
    parts = _MARKER.split(text)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def declaration(line: bytes) -> dict[str, Any] | None:
    """What was withheld from a message of a server: of each kind, how many values."""
    kinds = Counter(kind.decode() for kind in _KIND.findall(line))
    if blobs := line.count(_BLOB):
        kinds["blob"] = blobs
    return {"nonce": NONCE, "kinds": dict(kinds)} if kinds else None


def holds_marker(line: bytes) -> bool:
    """Whether a client sends back what stands for a value that it never got."""
    if not _signs().occur_in(line):
        return False
    plain = _plain(line)
    return _TAIL in plain or _BLOB in plain


@cache
def _signs() -> KeywordSearch:
    """Of which every line with a marker has one."""
    return KeywordSearch((_TAIL, _BLOB, *_ESCAPES))


def without_nonce(line: bytes) -> bytes:
    """A line on its way to a server, which must not learn what a marker looks like."""
    if not holds_marker(line):
        return line
    return _plain(line).replace(_TAIL, b"").replace(_BLOB, withheld("").encode())


def _plain(line: bytes) -> bytes:
    """The line of JSON with nothing escaped that a nonce consists of."""
    return _ESCAPED.sub(_unescaped, line) if b"\\u00" in line else line


def _unescaped(found: re.Match[bytes]) -> bytes:
    return bytes.fromhex(found[1].decode()) if found[1] else found[0]
