"""Secrets in text: which formats are worth trying, and redaction."""

from __future__ import annotations

import re
from functools import cache

from clawkit.text import formats
from clawkit.text.keyword_search import Words, encoded

_MOST_ROUNDS = 4

# Words, one of which is in every text with a secret of these formats, and what follows it there.
# The text may be a line of JSON: quotes, slashes and ends of lines are escaped then.
_GROUPS = (
    (
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ sk_live_ sk_test_ rk_live_ rk_test_ npm_ hf_",
        rb"[A-Za-z0-9]{16}",
        formats.with_underscore,
    ),
    ("brt_ bto_", rb"[\w-]{16}", formats.with_underscore),
    ("ecret_access_key", rb"", formats.with_underscore),
    ("-BEGIN", rb"(?<=-----BEGIN) ", formats.with_dash),
    (
        "sk- xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp- pypi-AgE glpat- gldt- glrt- glptt- glcbt-",
        rb"[\w-]{16}",
        formats.with_dash,
    ),
    ("AKIA ASIA", rb"[0-9A-Z]{16}", formats.with_capital_a),
    ("AIza", rb"[\w-]{35}", formats.with_capital_a),
    ("ccountKey= ecretAccessKey ECRET_ACCESS_KEY", rb"", formats.with_capital_a),
    (".eyJ", rb"[\w-]{8}", formats.with_capital_j),
    ("uthorization UTHORIZATION", rb"", formats.with_authorization),
    (
        (
            "b3BlbnNzaC1rZXktdj IBAAKB IBAAKC IBADANBgkqhkiG9w0BAQEF MHcCAQ MIGkAgEBBD"
            " gEAMBMGByqGSM49 MC4CAQAwBQYDK2VwBC"
        ),
        rb"[\w+/\\]{16}",
        formats.with_key_body,
    ),
)
_FOLLOWED = [
    (word, re.compile(rest), known) for words, rest, known in _GROUPS for word in words.split()
]
_ADDRESS = (b"://", b":\\/\\/", b":/\\/", b":\\//")
_PASSWORD = re.compile(rb"[^\s:@/?#\"]{0,512}:[^\s@/\"]{1,1024}@")
_AWS_NAMES = ("ecret_access_key", "ecretAccessKey", "ECRET_ACCESS_KEY")
_HEADER_NAMES = ("uthorization", "UTHORIZATION")
_HEADER = r"((?i:bearer|basic|token)\s{1,8})[\w.~+/-]{12}"


@cache
def _words() -> Words:
    return Words(word.encode() for word, _, _ in _FOLLOWED)


@cache
def _addresses() -> Words:
    return Words(_ADDRESS)


def may_hold_secret(content: bytes) -> bool:
    """Whether to look closer: never False for a text, or a line of JSON, that holds a secret."""
    return bool(_worth_trying(content))


def _worth_trying(content: bytes) -> list[formats.Formats]:
    places = _words().places(content)
    # Many texts are full of addresses, few have the @ that ends a password.
    addresses = _addresses().places(content) if b"@" in content else ()
    if not places and not addresses:
        return []
    found = {
        _FOLLOWED[number][2]
        for number, _, end in places
        if _FOLLOWED[number][1].match(content, end)
    }
    if any(_PASSWORD.match(content, end) for _, _, end in addresses):
        found.add(formats.with_at_sign)
    return [known for known in formats.EVERY if known in found]


def redact_secrets(text: str, tail: str = "") -> tuple[str, tuple[str, ...]]:
    """A text with `[redacted: kind]` for each secret in it, and their kinds.

    The `tail` stands before the bracket is closed.
    """
    redacted, kinds = _redact(text, tail)
    if kinds or text.isascii():
        return redacted, kinds
    if not _has_wide_letters(text):
        return text, ()
    import unicodedata

    redacted, kinds = _redact(unicodedata.normalize("NFKC", text), tail)
    return (redacted, kinds) if kinds else (text, ())


def _has_wide_letters(text: str) -> bool:
    """Whether a text has letters or digits that are taken for the plain ones."""
    content = encoded(text)
    if b"\xef" not in content and b"\xf0" not in content:  # with which all of them begin
        return False
    from clawkit.text.non_ascii import non_ascii

    return _wide_letters().search(non_ascii(text)) is not None


@cache
def _wide_letters() -> re.Pattern[str]:
    return re.compile("[\uff10-\uff19\uff21-\uff3a\uff3f\uff41-\uff5a\U0001d400-\U0001d7ff]")


def _redact(text: str, tail: str) -> tuple[str, tuple[str, ...]]:
    kinds: dict[str, None] = {}
    for _ in range(_MOST_ROUNDS):  # what stood next to a secret may only now begin a word
        redacted = _redact_once(text, kinds, tail)
        if redacted == text:
            break
        text = redacted
    return text, tuple(kinds)


def _redact_once(text: str, kinds: dict[str, None], tail: str) -> str:
    for known in _worth_trying(encoded(text)):
        for kind, redact in known():
            text, count = redact(text, tail)
            if count:
                kinds[kind] = None
    return text


def redact_named(name: str, value: str, tail: str = "") -> tuple[str, str]:
    """A value whose name in an object makes it a secret: redacted, and its kind."""
    if name.endswith(_AWS_NAMES) and re.fullmatch(formats.BASE64 + "{40}", value):
        return f"[redacted: aws-secret-key{tail}]", "aws-secret-key"
    if name.endswith(_HEADER_NAMES) and (found := re.match(_HEADER, value)):
        return f"{found[1]}[redacted: authorization{tail}]", "authorization"
    return value, ""
