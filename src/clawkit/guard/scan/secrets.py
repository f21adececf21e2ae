"""Secrets in text: which formats are worth trying, and redaction."""

from __future__ import annotations

import re

from clawkit.guard.anchors import holds
from clawkit.guard.scan import formats

_MOST_ROUNDS = 4

# A sign, what must begin there in a text that holds one of these formats, or a word around it, and
# the formats. The text may be a line of JSON: quotes, slashes and ends of lines are escaped then.
_GROUPS = (
    (
        "_",
        re.compile(r"_(?:[A-Za-z0-9]{16}|access_key|(?=[\w-]{16})(?:(?<=brt_)|(?<=bto_)))"),
        formats.with_underscore,
    ),
    (
        "-",
        re.compile(
            r"-(?:----BEGIN |(?=[\w-]{16})(?:(?<=sk-)|(?<=xox[abeprs]-)|(?<=xapp-)|(?<=pypi-)"
            r"|(?<=glpat-)|(?<=gl[dr]t-)|(?<=glptt-)|(?<=glcbt-)))"
        ),
        formats.with_dash,
    ),
    (
        "A",
        re.compile(
            r"A(?:[KS]IA[0-9A-Z]{16}|Iza[\w-]{35}|ccountKey=|ccessKey(?<=ecretAccessKey)"
            r"|CCESS_KEY(?<=ECRET_ACCESS_KEY))"
        ),
        formats.with_capital_a,
    ),
    ("J", re.compile(r"J(?<=\.eyJ)[\w-]{8}"), formats.with_capital_j),
    (
        ":",
        re.compile(r":(?:\\?/){2}[^\s:@/?#\"]{0,128}:[^\s@/\"]{1,256}@"),
        formats.with_at_sign,
    ),
    ("z", "uthorization", formats.with_authorization),
    ("Z", "UTHORIZATION", formats.with_authorization),
)
_AWS_NAMES = ("ecret_access_key", "ecretAccessKey", "ECRET_ACCESS_KEY")
_HEADER_NAMES = ("uthorization", "UTHORIZATION")
_HEADER = r"((?i:bearer|basic|token)\s{1,8})[\w.~+/-]{12}"


def may_hold_secret(text: str) -> bool:
    """Whether to look closer: never False for a text, or a line of JSON, that holds a secret."""
    # any() would take as long as all the rest in a short line.
    for sign, pattern, _ in _GROUPS:  # noqa: SIM110
        if sign in text and _may_hold(text, sign, pattern):
            return True
    return False


def _may_hold(text: str, sign: str, pattern: re.Pattern[str] | str) -> bool:
    if isinstance(pattern, str):
        return sign in text and pattern in text
    # Every line of JSON is full of colons, few have the @ that ends a password.
    return (sign != ":" or "@" in text) and holds(text, sign, pattern)


def redact_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """A text with `[redacted: kind]` for each secret in it, and their kinds."""
    if not may_hold_secret(text):
        return text, ()
    kinds: dict[str, None] = {}
    for _ in range(_MOST_ROUNDS):  # what stood next to a secret may only now begin a word
        redacted = _redact_once(text, kinds)
        if redacted == text:
            break
        text = redacted
    return text, tuple(kinds)


def _redact_once(text: str, kinds: dict[str, None]) -> str:
    for sign, pattern, known in _GROUPS:
        if not _may_hold(text, sign, pattern):
            continue
        for kind, redact in known():
            text, count = redact(text)
            if count:
                kinds[kind] = None
    return text


def redact_named(name: str, value: str) -> tuple[str, str]:
    """A value whose name in an object makes it a secret: redacted, and its kind."""
    if name.endswith(_AWS_NAMES) and re.fullmatch(formats.BASE64 + "{40}", value):
        return "[redacted: aws-secret-key]", "aws-secret-key"
    if name.endswith(_HEADER_NAMES) and (found := re.match(_HEADER, value)):
        return f"{found[1]}[redacted: authorization]", "authorization"
    return value, ""
