"""Questions of a server that a person must not answer: they ask for a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from clawkit.guard.scan.folding import plain

_DEPTH = 64
_SECRET = (
    r"\bpass(?:words?|wd|phrases?|codes?)\b|\bpwd\b|\bkennw[oö]rt|\bpasswort|\bmot de passe"
    r"|\bcontraseña|密码|密碼"
    r"|\b(?:api|private|secret|access|ssh|encryption|signing|recovery|licen[cs]e) ?keys?\b|\bapikey"
    r"|\b(?:access|auth|bearer|refresh|api|session|security|personal access|bot|id)? ?token\b"
    r"|\bsecrets?\b|\bcredentials?\b|\bcvv\d?\b|\bcvc\d?\b|\botp\b|\bmfa\b|\b2fa\b|\btotp\b"
    r"|\bone time (?:code|pass)|\b(?:verification|authentication|security) codes?\b"
    r"|\b(?:credit|debit|bank|payment) ?card|\bcard ?(?:number|no)\b|\biban\b"
    r"|\bssn\b|\bsocial security|\bseed phrase|\bmnemonic|\brecovery phrase"
)
_PIN = r"\bpin\b(?! (?:this|it|the|to|message|post|note|comment))"
_HARMLESS = r"\b(?:max|number of|count|limit) tokens?\b|\btoken (?:count|limit|budget)\b"
_SEPARATORS = r"[\W_]+"
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])"
_ASKS = (
    r"\b(?:enter|provide|type|paste|give|confirm|send|share|supply|submit|need|require|input|what)"
)


def asks_for_secret(schema: Any, message: str = "") -> str | None:
    """The field of a requested schema that asks for a password, a key, a token, a PIN or a card."""
    fields = list(_fields(schema, _DEPTH))
    for name, field in fields:
        if _names_secret(name, field):
            return name
    words = _plain(message)
    if fields and re.search(_ASKS, words) and _is_secret(words):
        return fields[0][0]
    return None


def _fields(schema: Any, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The fields, at any depth, in which a person can write something."""
    if isinstance(schema, list) and depth:
        for part in cast("list[Any]", schema):
            yield from _fields(part, depth - 1)
    if not isinstance(schema, dict) or not depth:
        return
    for key, value in cast("dict[str, Any]", schema).items():
        if key in ("properties", "patternProperties") and isinstance(value, dict):
            for name, field in cast("dict[str, Any]", value).items():
                if isinstance(field, dict) and _is_free(cast("dict[str, Any]", field)):
                    yield name, cast("dict[str, Any]", field)
                yield from _fields(field, depth - 1)
        elif isinstance(value, (dict, list)):
            yield from _fields(value, depth - 1)


def _is_free(field: dict[str, Any]) -> bool:
    return field.get("type") != "boolean" and not any(
        choice in field for choice in ("enum", "const", "oneOf", "anyOf")
    )


def _names_secret(name: str, field: dict[str, Any]) -> bool:
    if field.get("format") == "password" or field.get("writeOnly") is True:
        return True
    told = (name, *(str(field.get(key, "")) for key in ("title", "description")))
    return any(_is_secret(_plain(text)) for text in told)


def _is_secret(words: str) -> bool:
    words = re.sub(_HARMLESS, " ", words)
    return re.search(_SECRET, words) is not None or re.search(_PIN, words) is not None


def _plain(text: str) -> str:
    """Words in small letters with one space between them, however they were written."""
    words = re.sub(_CAMEL, " ", text[:10_000])
    return re.sub(_SEPARATORS, " ", plain(words)).strip()
