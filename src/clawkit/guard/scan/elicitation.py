"""Detects elicitations that ask for a secret, or lead to an address that hides where it goes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from clawkit.guard.scan.poisoning import names_secret_file
from clawkit.text.normalization import plain

_A_SECRET = "a secret"
_DEPTH = 100
_LONGEST = 100_000
_LONGEST_NAME = 80
# A field or a short text may be these alone, while a longer one may well have them in it.
_NAMES = frozenset({"pass", "pw", "parola", "clave", "chave", "pasword", "passwrd", "psswd"})
_LAST_NAMES = re.compile(
    r"^(?:\w+ )?(?:pass|pw)$"
    r"|\b(?:user|db|my|login|root|admin|e?mail|smtp|ftp|sudo|wifi|sql|mysql|pg)pass$"
)
_IN_NAMES = ("password", "passwd", "passwort", "passphrase", "passcode", "apikey", "privatekey")
_NOT_PASSWORDS = re.compile(r"(?:com|by|sur|tres|encom)pass")
_SEPARATORS = re.compile(r"[\W_]+")
_SPACED_OUT = re.compile(r"\b(?:\w ){2,}\w\b")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DIGITS_AS_LETTERS = str.maketrans("013457@$!", "oieastasi")
_NOT_SHOWN = frozenset({"type", "required", "pattern", "$schema", "$id", "$ref"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_CHOICES = ("anyOf", "oneOf")


class _Words(NamedTuple):
    """What names a secret, as `elicitation.toml` lists it."""

    words: re.Pattern[str]
    numbers: re.Pattern[str]
    harmless: re.Pattern[str]
    elsewhere: tuple[str, ...]
    """Of other languages; those in Latin letters must begin where a word begins."""


@cache
def _words() -> _Words:
    data = Path(__file__).with_suffix(".toml").read_bytes()
    found = msgspec.toml.decode(data, type=dict[str, list[str]])
    folded = (_plain_words(word) for word in found["other_languages"])
    return _Words(
        words=re.compile("|".join(found["words"])),
        numbers=re.compile("|".join(found["numbers"])),
        harmless=re.compile("|".join(found["harmless"])),
        elsewhere=tuple(f" {word}" if word.isascii() else word for word in folded),
    )


def asks_for_secret(schema: Any, message: str = "") -> str | None:
    """What a question asks for if that is a password, a key, a token, a PIN or a card.

    The name of the field, or "a secret" if something else than a field says so.
    """
    form = _Form()
    form.look(schema, _A_SECRET, _DEPTH)
    for name, text in form.fields:
        if _is_secret(text):
            return name
    if form.is_too_deep:
        return _A_SECRET
    said = (message, *form.said)
    if form.takes_text:
        return _A_SECRET if any(map(_is_secret, said)) else None
    if form.takes_numbers:
        return _A_SECRET if any(map(_is_secret_number, said)) else None
    return None  # Where there are only choices, nothing can be written.


class _Form:
    """What is said in a form at any depth, and what a person can write there."""

    def __init__(self) -> None:
        self.fields: list[tuple[str, str]] = []
        """What is said of each field in which a person can write, its name too."""
        self.said: list[str] = []
        """What is said elsewhere: of the form, and of choices."""
        self.is_too_deep = False
        self.takes_numbers = False
        self._takes_text = False
        self._has_choices = False

    @property
    def takes_text(self) -> bool:
        """A question without a form may be answered by anything."""
        return self._takes_text or not (self.takes_numbers or self._has_choices)

    def look(self, schema: Any, name: str, depth: int) -> None:
        if isinstance(schema, str):
            self._hear(name, schema)
        elif not depth:
            self.is_too_deep = self.is_too_deep or isinstance(schema, (dict, list))
        elif isinstance(schema, list):
            for part in cast("list[Any]", schema):
                self._look_at(part, name, depth)
        elif isinstance(schema, dict):
            for key, value in cast("dict[str, Any]", schema).items():
                if key in _NAMED and isinstance(value, dict):
                    self._look_at_fields(cast("dict[str, Any]", value), depth)
                elif key not in _NOT_SHOWN:
                    self._look_at(value, name, depth)

    def _hear(self, name: str, text: str) -> None:
        if name is _A_SECRET:
            self.said.append(text)
        else:
            self.fields.append((name, text))

    def _look_at_fields(self, fields: dict[str, Any], depth: int) -> None:
        for name, field in fields.items():
            if _is_choice(field, depth):
                self._has_choices = True
                self.said.append(name)
                self.look(field, _A_SECRET, depth - 1)
                continue
            if _is_number(field):
                self.takes_numbers = True
            else:
                self._takes_text = True
            self.fields.append((name, name))
            if _is_marked(field):
                self.fields.append((name, "password"))
            self.look(field, name, depth - 1)

    def _look_at(self, value: Any, name: str, depth: int) -> None:
        of = _A_SECRET if _is_choice(value, depth, is_option=True) else name
        self.look(value, of, depth - 1)


def _is_choice(field: Any, depth: int, *, is_option: bool = False) -> bool:
    """Whether a person can only choose among what is given.

    A field with a constant is none: a client that does not know `const` has it filled in.
    """
    if not isinstance(field, dict) or not depth:
        return False
    schema = cast("dict[str, Any]", field)
    if "properties" in schema or _is_marked(schema):
        return False
    branches = [schema[key] for key in _CHOICES if isinstance(schema.get(key), list)]
    found = [branch for listed in branches for branch in cast("list[Any]", listed)]
    if found:
        return all(_is_choice(branch, depth - 1, is_option=True) for branch in found)
    if "items" in schema:
        return _is_choice(schema["items"], depth - 1, is_option=True)
    if is_option and "const" in schema:
        return True
    if schema.get("type") in ("boolean", "null"):
        return True
    return isinstance(schema.get("enum"), list) and bool(schema["enum"])


def _is_number(field: Any) -> bool:
    if not isinstance(field, dict):
        return False
    schema = cast("dict[str, Any]", field)
    is_simple = not any(isinstance(value, (dict, list)) for value in schema.values())
    return is_simple and schema.get("type") in ("number", "integer")


def _is_marked(field: Any) -> bool:
    """Whether a field says of itself that it is for a secret."""
    if not isinstance(field, dict):
        return False
    schema = cast("dict[str, Any]", field)
    return (
        "password" in str(schema.get("format")).lower()
        or schema.get("writeOnly") is True
        or any(value is True and _is_secret(key) for key, value in schema.items())
    )


def _is_secret(text: str) -> bool:
    if len(text) > _LONGEST:
        return True  # Nothing honest is that long, and to read all of it would keep others waiting.
    if names_secret_file(text):
        return True
    return any(map(_names_secret, _readings(text)))


def _is_secret_number(text: str) -> bool:
    """Whether a text names a secret that can be written in digits."""
    if len(text) > _LONGEST:
        return True
    found = _words()
    return any(found.numbers.search(found.harmless.sub(" ", each)) for each in _readings(text))


def _names_secret(words: str) -> bool:
    if len(words) <= _LONGEST_NAME and _is_secret_name(words):
        return True
    found = _words()
    rest = found.harmless.sub(" ", words)
    if found.words.search(rest) or found.numbers.search(rest):
        return True
    return any(word in f" {words} " for word in found.elsewhere)


def _is_secret_name(words: str) -> bool:
    compact = words.replace(" ", "")
    if compact in _NAMES or _LAST_NAMES.search(_words().harmless.sub(" ", words)):
        return True
    return any(word in compact for word in _IN_NAMES) and not _NOT_PASSWORDS.search(compact)


def _readings(text: str) -> set[str]:
    """A text in words, as it stands, by its capitals, and with digits for letters."""
    spelled = (text, text.translate(_DIGITS_AS_LETTERS))
    return {_plain_words(form) for each in spelled for form in (each, _CAMEL.sub(" ", each))}


def _plain_words(text: str) -> str:
    """Words in small letters with one space between them, however they were written."""
    words = _SEPARATORS.sub(" ", _unaccented(plain(text))).strip()
    return _SPACED_OUT.sub(lambda found: found[0].replace(" ", ""), words)


def _unaccented(text: str) -> str:
    if text.isascii():
        return text
    import unicodedata

    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def link_of(params: dict[str, Any]) -> str | None:
    """The address that a question wants a person to open, if it does; empty if it is no text."""
    if "url" not in params and params.get("mode") in (None, "form"):
        return None
    url = params.get("url")
    return url if isinstance(url, str) else ""


def host_of(url: str) -> str:
    """The host that an address leads to; empty where it is not one that may be opened.

    Only https, or http to this machine, and nothing in it that hides where it leads.
    """
    from urllib.parse import urlsplit

    from clawkit.system.addresses import is_loopback_host

    if not url.isascii() or not url.isprintable() or any(sign in url for sign in ' \\"<>`'):
        return ""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if "@" in parts.netloc or not re.fullmatch(r"[a-z0-9.-]+|[0-9a-f:.]+", host):
        return ""
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback_host(host)):
        return ""
    return parts.netloc.lower()
