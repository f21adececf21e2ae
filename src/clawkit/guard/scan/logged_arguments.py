"""Redacts and shortens a call's arguments for the audit log."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from string import ascii_letters, digits
from typing import Any, cast

from clawkit.text.keyword_search import KeywordSearch, encoded
from clawkit.text.secrets import redact_secrets

_LONG = 512
_START = 256
_DEPTH = 6
_TOTAL = 4096
_SECRET_NAME = re.compile(
    r"pass(?:wor[dt]|wd|phrase|code)|secret|token|api_?key|apikey|private_?key|access_?key|_key$"
    r"|credential|authorization|cookie|bearer|^(?:pwd|pin|otp|cvv|cvc|ssn|auth)$"
)
_HARMLESS_NAME = re.compile(r"tokens$|(?:max|num|count|limit)_?token|token_?(?:count|limit|type)")
# `DB_PASSWORD=…`, `"password": "…"` and `--api-key …` in a text.
_HINTS = (
    *("pass", "pwd", "secret", "token", "key", "credential", "auth", "cookie", "bearer"),
    *("pin", "otp", "cvv", "cvc", "ssn"),
)
_NAME = rf"[\w-]{{0,40}}?(?:{'|'.join(_HINTS)})[\w-]{{0,40}}"
_VALUE = r"(\"[^\"]*\"?|'[^']*'?|(?:(?:bearer|basic|token)\s)?[^\s\"'&;,\[]+)"
_ASSIGNED = re.compile(
    rf"(?<![\w-])({_NAME})([\"'\\]{{0,4}}\s{{0,4}}[=:]\s{{0,4}}){_VALUE}", re.IGNORECASE
)
_OPTION = re.compile(rf"(?<![\w-])(--{_NAME})(\s){_VALUE}", re.IGNORECASE)
_IN_NAMES = f"{ascii_letters}{digits}_-"
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def redact_arguments(value: Any) -> Any:
    """A JSON value for the log: secrets replaced, long text cut, about 4 KB in all."""
    return _Redaction().shorten(value, _DEPTH)


def kept_arguments(
    arguments: dict[str, Any], first: Callable[[], AbstractSet[str]]
) -> tuple[dict[str, Any], bool]:
    """The same for arguments, and whether anything was cut.

    If so, those that are named `first` come first, so that others cannot push them out.
    """
    redaction = _Redaction()
    kept = redaction.shorten(arguments, _DEPTH)
    if not redaction.cut:
        return kept, False
    if all(key in kept for key in arguments):
        return kept, True
    names = first()
    before = {key: value for key, value in arguments.items() if key.casefold() in names}
    if any(key not in kept for key in before):
        kept = _Redaction().shorten({**before, **arguments}, _DEPTH)
    return kept, True


@lru_cache(maxsize=1024)
def names_secret(name: str) -> bool:
    """Whether a member with this name holds a secret, whatever it looks like."""
    if len(name) > _LONG:
        return False
    snake = _CAMEL.sub("_", name).lower().replace("-", "_").replace(" ", "_")
    return _SECRET_NAME.search(snake) is not None and _HARMLESS_NAME.search(snake) is None


class _Redaction:
    """One walk, with what is left of the size that the whole may have."""

    def __init__(self) -> None:
        self._left = _TOTAL
        self.cut = False

    def shorten(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return self._object(cast("dict[str, Any]", value), depth)
        if isinstance(value, list):
            return self._list(cast("list[Any]", value), depth)
        if isinstance(value, int) and abs(value) >= 1 << 64:
            self.cut = True
            return self._text(f"{value:x}"[:_START] + "…")
        self._left -= 8
        return value

    def _object(self, members: dict[str, Any], depth: int) -> Any:
        if not depth:
            self.cut = True
            return f"…({len(members)} members)"
        kept: dict[str, Any] = {}
        for key, value in members.items():
            if self._left <= 0:
                kept["…"] = f"{len(members) - len(kept)} more members"
                self.cut = True
                break
            name = self._name(key)
            self.cut = self.cut or name in kept  # two names can be the same without their secrets
            kept[name] = "[redacted]" if _is_secret(key, value) else self.shorten(value, depth - 1)
        return kept

    def _list(self, items: list[Any], depth: int) -> Any:
        if not depth:
            self.cut = True
            return f"…({len(items)} items)"
        kept: list[Any] = []
        for item in items:
            if self._left <= 0:
                kept.append(f"…({len(items) - len(kept)} more items)")
                self.cut = True
                break
            kept.append(self.shorten(item, depth - 1))
        return kept

    def _name(self, name: str) -> str:
        if len(name) > _LONG:
            return self._text(name)
        short = _known_name(name)
        self._left -= len(short) + 4
        return short

    def _text(self, text: str) -> str:
        if len(text) <= _LONG:
            short = _without_secrets(text)
        else:
            # A secret that begins before the cut must be whole to be known.
            start = _without_secrets(text[: 2 * _LONG])[:_START]
            short = f"{start}…({len(text)} characters)"
            self.cut = True
        self._left -= len(short) + 4
        return short


def _without_secrets(text: str) -> str:
    return _without_values(redact_secrets(text)[0])


@lru_cache(maxsize=1024)
def _known_name(name: str) -> str:
    """The name of an argument without secrets; most are the same in every call."""
    return _without_secrets(name)


def _without_values(text: str) -> str:
    """A text without what it assigns to names of secrets."""
    hints = [start for _, start, _ in _hints().places(encoded(text.lower()))]
    if not hints:
        return text
    ascii = text.isascii()
    text = _without_assigned(text, hints) if ascii else _ASSIGNED.sub(_without_value, text)
    return _OPTION.sub(_without_value, text) if "--" in text else text


def _without_assigned(text: str, hints: list[int]) -> str:
    """What `_ASSIGNED` would leave of a text in ASCII, looked for only where there are hints."""
    kept, done = "", 0
    for hint in hints:
        start = len(text[:hint].rstrip(_IN_NAMES))
        if start >= done and (found := _ASSIGNED.match(text, start)):
            kept += text[done:start] + _without_value(found)
            done = found.end()
    return kept + text[done:]


@cache
def _hints() -> KeywordSearch:
    return KeywordSearch(hint.encode() for hint in _HINTS)


def _without_value(found: re.Match[str]) -> str:
    name, sign, value = found.groups()
    if not names_secret(name.lstrip("-")):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{name}{sign}{quote}[redacted]{quote}"


def _is_secret(key: str, value: Any) -> bool:
    return value not in (None, "", True, False) and names_secret(key)
