"""Sanitizes a whole message: hidden characters, secrets and injections, also in base64.

A marker stands in place of a withheld value; its nonce keeps servers from forging one.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from binascii import Error
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, cast

import msgspec

from clawkit.text.injections import find_injections, may_hold_injection
from clawkit.text.keyword_search import KeywordSearch, encoded
from clawkit.text.normalization import strip_hidden
from clawkit.text.secrets import may_hold_secret, redact_named, redact_secrets


class ScanOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[scan]` of the policy. `block` leaves the text as it is: the caller refuses the message."""

    hidden: Literal["strip", "block", "off"] = "strip"
    secrets: Literal["redact", "block", "off"] = "redact"
    injection: Literal["flag", "block", "off"] = "flag"


class Findings(msgspec.Struct, frozen=True):
    """How many hidden characters, which kinds of secrets, which injection patterns."""

    hidden: int = 0
    secrets: tuple[str, ...] = ()
    injections: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hidden or self.secrets or self.injections)


BLOB_MEMBERS = ("blob", "data")
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
def _members() -> KeywordSearch:
    return KeywordSearch(f'"{name}"'.encode() for name in BLOB_MEMBERS)


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


# The escapes of JSON that can stand for a hidden character, or hide a letter of a word.
_ESCAPES = (b"\\u", b"\\b", b"\\f")


def suspicious(line: bytes, options: ScanOptions) -> bool:
    """Whether `clean` could find something in this line of JSON: never False when it would."""
    if not line.isascii() or b"\x7f" in line or _has_escapes(line):
        return True
    if options.secrets != "off" and (may_hold_secret(line) or may_hold_text(line)):
        return True
    return options.injection != "off" and may_hold_injection(line)


def _has_escapes(line: bytes) -> bool:
    return b"\\" in line and _escapes().occur_in(line)


@cache
def _escapes() -> KeywordSearch:
    return KeywordSearch(_ESCAPES)


def clean(value: Any, options: ScanOptions, tail: str = "") -> tuple[Any, Findings]:
    """A JSON value without what the options take out of it: the same object if that is nothing.

    Markers of what was redacted end with `tail`.
    """
    cleaner = _Cleaner(options, tail)
    cleaned = cleaner.clean(value)
    return cleaned, cleaner.findings()


class _Cleaner:
    """One walk through a value, and what it has found so far."""

    def __init__(self, options: ScanOptions, tail: str) -> None:
        self._options = options
        self._tail = tail
        self._hidden = 0
        self._secrets: dict[str, None] = {}
        self._injections: dict[str, None] = {}

    def findings(self) -> Findings:
        return Findings(self._hidden, tuple(self._secrets), tuple(self._injections))

    def clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._clean_text(value)
        if isinstance(value, dict):
            return self._clean_object(cast("dict[str, Any]", value))
        if isinstance(value, list):
            return self._clean_list(cast("list[Any]", value))
        return value

    def _clean_list(self, items: list[Any]) -> list[Any]:
        cleaned = [self.clean(item) for item in items]
        return items if all(map(_same, cleaned, items)) else cleaned

    def _clean_object(self, members: dict[str, Any]) -> dict[str, Any]:
        cleaned: dict[str, Any] = {}
        numbers: dict[str, int] = {}
        for key, value in members.items():
            name = self._clean_text(key)
            if name is not key:
                name = _free_name(name, members, cleaned, numbers)
            cleaned[name] = self._clean_member(name, value)
        same = all(map(_same, cleaned, members)) and all(
            map(_same, cleaned.values(), members.values())
        )
        return members if same else cleaned

    def _clean_member(self, name: str, value: Any) -> Any:
        if isinstance(value, str) and self._options.secrets != "off":
            redacted, kind = redact_named(name, value, self._tail)
            if kind:
                self._secrets[kind] = None
                value = redacted if self._options.secrets == "redact" else value
            if name in BLOB_MEMBERS:
                value = self._clean_blob(value)
        return self.clean(value)

    def _clean_blob(self, blob: str) -> str:
        kinds = redact_secrets(text_in(blob))[1]
        self._secrets.update(dict.fromkeys(kinds))
        is_withheld = kinds and self._options.secrets == "redact"
        return withheld(self._tail) if is_withheld else blob

    def _clean_text(self, text: str) -> str:
        plain, hidden = strip_hidden(text) if self._options.hidden != "off" else (text, 0)
        self._hidden += hidden
        result = plain if self._options.hidden == "strip" else text
        if self._options.injection != "off":
            self._injections.update(dict.fromkeys(find_injections(text)))
        if self._options.secrets == "off":
            return result
        redacted, kinds = redact_secrets(plain, self._tail)
        self._secrets.update(dict.fromkeys(kinds))
        return redacted if kinds and self._options.secrets == "redact" else result


def _same(one: Any, other: Any) -> bool:
    return one is other


def _free_name(
    name: str, members: dict[str, Any], taken: dict[str, Any], numbers: dict[str, int]
) -> str:
    """A cleaned name must not take the place of another member: it is numbered then.

    `numbers` has the last number of each name: thousands of keys may clean to the same one.
    """
    free = name
    while free in members or free in taken:
        numbers[name] = numbers.get(name, 1) + 1
        free = f"{name}_{numbers[name]}"
    return free


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
_NONCE_ESCAPES = tuple(b"\\u00%02x" % code for code in b" #0123456789abcdef")


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
    """The characters of which every line with a marker has at least one."""
    return KeywordSearch((_TAIL, _BLOB, *_NONCE_ESCAPES))


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
