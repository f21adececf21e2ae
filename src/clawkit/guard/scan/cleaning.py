"""A message looked through as a whole: every string in it, and the names of its members."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from clawkit.guard.scan import blobs
from clawkit.guard.scan.options import Findings, ScanOptions
from clawkit.text.hidden import strip_hidden
from clawkit.text.injections import find_injections, may_hold_injection
from clawkit.text.keyword_search import Words
from clawkit.text.secrets import may_hold_secret, redact_named, redact_secrets

# The escapes of JSON that can stand for a hidden character, or hide a letter of a word.
_ESCAPES = (b"\\u", b"\\b", b"\\f")


def suspicious(line: bytes, options: ScanOptions) -> bool:
    """Whether `clean` could find something in this line of JSON: never False when it would."""
    if not line.isascii() or b"\x7f" in line or _has_escapes(line):
        return True
    if options.secrets != "off" and (may_hold_secret(line) or blobs.may_hold_text(line)):
        return True
    return options.injection != "off" and may_hold_injection(line)


def _has_escapes(line: bytes) -> bool:
    return b"\\" in line and _escapes().occur_in(line)


@cache
def _escapes() -> Words:
    return Words(_ESCAPES)


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
            if name in blobs.NAMES:
                value = self._clean_blob(value)
        return self.clean(value)

    def _clean_blob(self, blob: str) -> str:
        kinds = redact_secrets(blobs.text_in(blob))[1]
        self._secrets.update(dict.fromkeys(kinds))
        is_withheld = kinds and self._options.secrets == "redact"
        return blobs.withheld(self._tail) if is_withheld else blob

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
