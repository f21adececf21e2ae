"""Secrets in text by their issuers' formats, in `tables/secrets.toml`: prefilter and redaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any

from clawkit.text.keyword_search import KeywordSearch, encoded
from clawkit.text.tables import expanded, table

Format = tuple[str, Callable[[str, str], tuple[str, int]]]
"""The kind of a secret, and what redacts each of them in a text and counts them.

Its second argument is the end of the marker that is left.
"""
_AWS_SECRET = r"[A-Za-z0-9+/]{40}"


def _token(kind: str, prefix: str, rest: str, inner: str = "A-Za-z0-9") -> Format:
    """A secret with a fixed start that no inner character of a word precedes.

    Where no word ends like that start, `inner` is empty: nothing put before it hides the secret.
    The start comes first in the pattern, because that is what makes the search fast.
    """
    start = re.escape(prefix)
    alone = f"(?<![{inner}]{start})" if inner else ""
    pattern = re.compile(f"{start}{alone}(?:{rest})")
    return kind, lambda text, tail: pattern.subn(f"[redacted: {kind}{tail}]", text)


def _part(kind: str, pattern: str, is_secret: Callable[[str], bool]) -> Format:
    """A secret in a place: the group of the pattern."""
    compiled = re.compile(pattern)

    def redact(text: str, tail: str) -> tuple[str, int]:
        count = 0

        def replace(found: re.Match[str]) -> str:
            nonlocal count
            if not is_secret(found[1]):
                return found[0]
            count += 1
            before, after = found.start(1) - found.start(), found.end(1) - found.start()
            return f"{found[0][:before]}[redacted: {kind}{tail}]{found[0][after:]}"

        return compiled.sub(replace, text), count

    return kind, redact


def _is_mixed(value: str) -> bool:
    """Whether letters of both cases are in it: a hash has one case only."""
    return value.lower() != value != value.upper() and not value.isalpha()


def _is_password(value: str) -> bool:
    """Whether it is a value and no placeholder for one."""
    return value[0] not in "${<%[*" and set(value) != {"x"}


_CHECKS: dict[str, Callable[[str], bool]] = {
    "mixed": _is_mixed,
    "filled in": _is_password,
    "": lambda _: True,
}


class SecretGroup:
    """Formats that are looked for together, once a text has one of their hints."""

    def __init__(self, written: dict[str, Any]) -> None:
        parts = table("secrets")["parts"]
        self.hints = [
            (word, re.compile(expanded(hint["then"], parts).encode()))
            for hint in written["hints"]
            for word in hint["words"].split()
        ]
        self._formats = written["formats"]

    @cached_property
    def formats(self) -> tuple[Format, ...]:
        """Compiled when first needed: most processes never do."""
        return tuple(one for written in self._formats for one in _compiled(written))


def _compiled(written: dict[str, Any]) -> Iterator[Format]:
    kind, parts = written["kind"], table("secrets")["parts"]
    if "pattern" in written:
        check = _CHECKS[written.get("check", "")]
        yield _part(kind, expanded(written["pattern"], parts), check)
    for start in written.get("starts", ()):
        rest = expanded(written["rest"], parts)
        yield _token(kind, start, rest, written.get("inner", "A-Za-z0-9"))


@cache
def groups() -> dict[str, SecretGroup]:
    """All of them, in the order in which a text is redacted."""
    return {n: SecretGroup(group) for n, group in table("secrets").items() if n != "parts"}


@cache
def _hints() -> list[tuple[str, re.Pattern[bytes], SecretGroup]]:
    return [(*hint, group) for group in groups().values() for hint in group.hints]


_MOST_ROUNDS = 4

_ADDRESS = (b"://", b":\\/\\/", b":/\\/", b":\\//")
_PASSWORD = re.compile(rb"[^\s:@/?#\"]{0,512}:[^\s@/\"]{1,1024}@")
_AWS_NAMES = ("ecret_access_key", "ecretAccessKey", "ECRET_ACCESS_KEY")
_HEADER_NAMES = ("uthorization", "UTHORIZATION")
_HEADER = r"((?i:bearer|basic|token)\s{1,8})[\w.~+/-]{12}"


@cache
def _words() -> KeywordSearch:
    return KeywordSearch(word.encode() for word, _, _ in _hints())


@cache
def _addresses() -> KeywordSearch:
    return KeywordSearch(_ADDRESS)


def may_hold_secret(content: bytes) -> bool:
    """Whether to look closer: never False for a text, or a line of JSON, that holds a secret."""
    return bool(_worth_trying(content))


def _worth_trying(content: bytes) -> list[SecretGroup]:
    places = _words().places(content)
    # Many texts are full of addresses, few have the @ that ends a password.
    addresses = _addresses().places(content) if b"@" in content else ()
    if not places and not addresses:
        return []
    hints = _hints()
    found = {hints[number][2] for number, _, end in places if hints[number][1].match(content, end)}
    if any(_PASSWORD.match(content, end) for _, _, end in addresses):
        found.add(groups()["at_sign"])
    return [group for group in groups().values() if group in found]


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
    for group in _worth_trying(encoded(text)):
        for kind, redact in group.formats:
            text, count = redact(text, tail)
            if count:
                kinds[kind] = None
    return text


def redact_named(name: str, value: str, tail: str = "") -> tuple[str, str]:
    """A value whose name in an object makes it a secret: redacted, and its kind."""
    if name.endswith(_AWS_NAMES) and re.fullmatch(_AWS_SECRET, value):
        return f"[redacted: aws-secret-key{tail}]", "aws-secret-key"
    if name.endswith(_HEADER_NAMES) and (found := re.match(_HEADER, value)):
        return f"{found[1]}[redacted: authorization{tail}]", "authorization"
    return value, ""
