"""Questions of a server that a person must not answer: they ask for a secret, or lead astray."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from clawkit.guard.scan.folding import plain

_DEPTH = 100
_LONGEST = 10_000
_LONGEST_NAME = 80
_SECRET = (
    r"\bpass ?(?:words?|wd|phrases?|codes?)\b|\bpwd\b|\bpsw\b|\bkenn ?w[oö]rt|\bpass ?wort"
    r"|\bmot de passe|\bcode (?:secret|pin)\b|\bc[oó]digo (?:secreto|pin)\b"
    r"|\b(?:api|private|secret|access|ssh|encryption|signing|recovery|licen[cs]e) ?keys?\b|\bapikey"
    r"|\b(?:access|auth|bearer|refresh|api|session|security|personal access|bot|id)? ?token\b"
    r"|\bsecrets?\b|\bcredentials?\b|\bcvv\d?\b|\bcvc\d?\b|\botp\b|\bmfa\b|\b2fa\b|\btotp\b"
    r"|\bone time (?:code|pass)|\b(?:verification|authentication|security) codes?\b"
    r"|\b(?:credit|debit|bank|payment) ?card|\bcard ?(?:number|no)\b|\biban\b"
    r"|\bssn\b|\bsocial security|\bseed phrase|\bmnemonic|\brecovery phrase"
)
_PIN = r"\bpin\b(?! (?:this|it|the|to|message|post|note|comment))"
_HARMLESS = (
    r"\b(?:max|number of|count|limit) tokens?\b"
    r"|\btoken (?:count|counts|limit|limits|budget|usage|symbol|type)\b"
)
# The same word elsewhere, folded as the texts are: in letters that have no look-alike in others
# some are changed by that.
_PASSWORDS = (
    "contraseña senha palavra-passe wachtwoord lösenord adgangskode kodeord passord salasana hasło"
    " heslo jelszó şifre lozinka geslo slaptažodis пароль парола лозинка"
    " κωδικός-πρόσβασης συνθηματικό סיסמה סיסמא كلمة-المرور كلمة-السر رمز-عبور"
    " پاس-ورد پاسورڈ पासवर्ड পাসওয়ার্ড รหัสผ่าน mật-khẩu kata-sandi"
    " 密码 密碼 口令 パスワード 暗証番号 비밀번호 암호"
)
# A field may be called by these alone, while a text may well have them in it.
_NAMES = frozenset({"pass", "pw", "parola", "clave", "pasword", "passwrd", "psswd"})
_IN_NAMES = ("password", "passwd", "passwort", "passphrase", "passcode", "apikey", "privatekey")
_NOT_PASSWORDS = re.compile(r"(?:com|by|sur|tres|encom)pass")
_SEPARATORS = re.compile(r"[\W_]+")
_SPACED_OUT = re.compile(r"\b(?:\w ){2,}\w\b")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DIGITS_AS_LETTERS = str.maketrans("013457@$!", "oieastasi")
_ASKS = re.compile(
    r"\b(?:enter|provide|type|paste|give|confirm|send|share|supply|submit|need|require|input|what"
    r"|your|please|fill|unlock|log ?in|sign in|authenticate)"
)
_NO_TEXT = frozenset({"type", "required", "enum", "const", "pattern", "$schema", "$id"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_CHOICES = ("anyOf", "oneOf")


def asks_for_secret(schema: Any, message: str = "") -> str | None:
    """What a question asks for if that is a password, a key, a token, a PIN or a card.

    The name of the field, or "a secret" if only the message asks for it.
    """
    fields = _Fields()
    fields.look(schema, "a secret", _DEPTH)
    for name, text in fields.texts:
        if _is_secret(text):
            return name
    for name in fields.names:
        if _is_secret_name(name):
            return name
    if fields.is_too_deep:
        return "a secret"
    # Where there are only choices, nothing can be written.
    if fields.has_free or not fields.has_choices:
        if any(_ASKS.search(words) and _names(words) for words in _readings(message)):
            return fields.names[0] if fields.names else "a secret"
        if _is_password_elsewhere(message):
            return "a secret"
    return None


class _Fields:
    """The fields of a form in which a person can write, at any depth, and what is said of them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.texts: list[tuple[str, str]] = []
        """What is said of each, its name too."""
        self.is_too_deep = False
        self.has_free = False
        self.has_choices = False

    def look(self, schema: Any, name: str, depth: int) -> None:
        if not depth:
            self.is_too_deep = self.is_too_deep or isinstance(schema, (dict, list))
        elif isinstance(schema, list):
            for part in cast("list[Any]", schema):
                self._look_at(part, name, depth)
        elif isinstance(schema, dict):
            for key, value in cast("dict[str, Any]", schema).items():
                if key in _NAMED and isinstance(value, dict):
                    self._look_at_fields(cast("dict[str, Any]", value), depth)
                elif key not in _NO_TEXT:
                    self._look_at(value, name, depth)

    def _look_at_fields(self, fields: dict[str, Any], depth: int) -> None:
        for name, field in fields.items():
            if _is_choice(field, depth):
                self.has_choices = True
            else:
                self.has_free = True
                self.names.append(name)
                self.texts.append((name, name))
                if _is_marked(field):
                    self.texts.append((name, "password"))
                self.look(field, name, depth - 1)

    def _look_at(self, value: Any, name: str, depth: int) -> None:
        if isinstance(value, str):
            self.texts.append((name, value))
        elif not _is_choice(value, depth):
            self.look(value, name, depth - 1)


def _is_choice(field: Any, depth: int) -> bool:
    """Whether a person can only choose among what is given."""
    if not isinstance(field, dict) or not depth:
        return False
    schema = cast("dict[str, Any]", field)
    if "properties" in schema or _is_marked(schema):
        return False
    branches = [schema[key] for key in _CHOICES if isinstance(schema.get(key), list)]
    found = [branch for listed in branches for branch in cast("list[Any]", listed)]
    if found:
        return all(_is_choice(branch, depth - 1) for branch in found)
    if "items" in schema:
        return _is_choice(schema["items"], depth - 1)
    return (
        schema.get("type") in ("boolean", "null") or "const" in schema or bool(schema.get("enum"))
    )


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


def _is_secret_name(name: str) -> bool:
    for words in _readings(name[:_LONGEST_NAME]):
        compact = words.replace(" ", "")
        if compact in _NAMES:
            return True
        if any(word in compact for word in _IN_NAMES) and not _NOT_PASSWORDS.search(compact):
            return True
    return False


def _is_secret(text: str) -> bool:
    return any(map(_names, _readings(text))) or _is_password_elsewhere(text)


def _names(words: str) -> bool:
    words = re.sub(_HARMLESS, " ", words)
    return re.search(_SECRET, words) is not None or re.search(_PIN, words) is not None


def _is_password_elsewhere(text: str) -> bool:
    if text.isascii() and not _latin_passwords().search(text.lower()):
        return False
    words = f" {_worded(text)} "
    return any(word in words for word in _foreign_passwords())


@cache
def _latin_passwords() -> re.Pattern[str]:
    latin = (word.replace("-", ".?") for word in _PASSWORDS.split() if word.isascii())
    return re.compile("|".join(latin))


@cache
def _foreign_passwords() -> tuple[str, ...]:
    """Each word as texts are read; those in Latin letters must begin where a word begins."""
    return tuple(
        f" {folded}" if folded.isascii() else folded
        for folded in (_worded(word) for word in _PASSWORDS.split())
    )


def _readings(text: str) -> Iterator[str]:
    """A text in words, as it stands and with the letters that digits and signs stand for."""
    yield _worded(text)
    if any(sign in text for sign in "013457@$!"):
        yield _worded(text.translate(_DIGITS_AS_LETTERS))


def _worded(text: str) -> str:
    """Words in small letters with one space between them, however they were written."""
    words = _SEPARATORS.sub(" ", plain(_CAMEL.sub(" ", text[:_LONGEST]))).strip()
    return _SPACED_OUT.sub(lambda found: found[0].replace(" ", ""), words)


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

    if not url.isascii() or not url.isprintable() or any(sign in url for sign in ' \\"<>`'):
        return ""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if "@" in parts.netloc or not re.fullmatch(r"[a-z0-9.-]+|[0-9a-f:.]+", host):
        return ""
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_here(host)):
        return ""
    return parts.netloc.lower()


def _is_here(host: str) -> bool:
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
