"""Secrets in text by their issuers' formats: a fast prefilter, and redaction."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from clawkit.text.keyword_search import KeywordSearch, encoded

Format = tuple[str, Callable[[str, str], tuple[str, int]]]
"""The kind of a secret, and what redacts each of them in a text and counts them.

Its second argument is the end of the marker that is left.
"""
Formats = Callable[[], tuple[Format, ...]]

WORD = r"[A-Za-z0-9]"
DASHED = r"[A-Za-z0-9_-]"
BASE64 = r"[A-Za-z0-9+/]"
_ASSIGNED = r"[\"'\\]{0,4}\s{0,8}[:=]\s{0,8}[\"'\\]{0,4}"
_PEM = r"(?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_LINE_END = r"(?:\s|\\[nr])"
# How a private key begins in base64: of OpenSSH, of RSA alone and in PKCS 8, of elliptic curves.
_KEY_STARTS = (
    r"b3BlbnNzaC1rZXktdj|MII[A-Za-z0-9+/]{3}IBAAK[BC]|MII[A-Za-z0-9+/]{3}IBADANBgkqhkiG9w0BAQEF"
    r"|MHcCAQEEI|MIGkAgEBBD|MIGHAgEAMBMGByqGSM49|MC4CAQAwBQYDK2VwBC"
)
_AWS_ID = r"[0-9A-Z]{16}(?![A-Za-z0-9])"
_AWS_SECRET = rf"({BASE64}{{40}})(?![\w+/=])"
_CREDENTIALS = r"(?i:bearer|basic|token)\s{1,8}([\w.~+/-]{12,4000}={0,2})"


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
    """Not a hash: those have letters of one case only."""
    return value.lower() != value != value.upper() and not value.isalpha()


def _is_password(value: str) -> bool:
    """Not a place where one would be filled in."""
    return value[0] not in "${<%[*" and set(value) != {"x"}


def _any(_value: str) -> bool:
    return True


@cache
def with_underscore() -> tuple[Format, ...]:
    return (
        *(
            _token("github-token", f"gh{c}_", WORD + r"{36,255}(?![A-Za-z0-9])", "")
            for c in "pousr"
        ),
        _token("github-token", "github_pat_", r"[A-Za-z0-9]{20}[A-Za-z0-9_]{20,255}", ""),
        *(
            _token("stripe-key", f"{kind}_{mode}_", WORD + r"{16,255}")
            for kind in ("sk", "rk")
            for mode in ("live", "test")
        ),
        _token("npm-token", "npm_", WORD + r"{36}(?![A-Za-z0-9])", ""),
        _token("huggingface-token", "hf_", WORD + r"{34}(?![A-Za-z0-9])"),
        _token("being-token", "brt_", DASHED + r"{16,255}"),
        _token("being-token", "bto_", DASHED + r"{16,255}"),
        _part("aws-secret-key", f"ecret_access_key{_ASSIGNED}{_AWS_SECRET}", _is_mixed),
    )


@cache
def with_dash() -> tuple[Format, ...]:
    body = r"(?:[^-]|-(?!-)){40,20000}"
    end = _LINE_END
    cut_off = (
        rf"{end}{{0,9}}{BASE64}{{40,20000}}={{0,2}}(?:{end}{{1,4}}{BASE64}{{16,20000}}={{0,2}})*"
    )
    return (
        _token("private-key", "-----BEGIN ", f"{_PEM}{body}-----END {_PEM}", "-"),
        _token("private-key", "-----BEGIN ", f"{_PEM}{cut_off}", "-"),
        *(
            _token("gitlab-token", f"gl{kind}-", DASHED + r"{20,255}", "")
            for kind in ("pat", "dt", "rt", "ptt", "cbt")
        ),
        *(
            _token("slack-token", f"xox{c}-", r"(?=[A-Za-z-]{0,32}\d)[A-Za-z0-9-]{20,255}", "")
            for c in "abeprs"
        ),
        _token("slack-token", "xapp-", r"\d-[A-Za-z0-9-]{20,255}", ""),
        _token("anthropic-key", "sk-ant-", r"[a-z0-9]{3,12}-[A-Za-z0-9_-]{20,255}"),
        *(
            _token("openai-key", f"sk-{kind}-", DASHED + r"{20,255}")
            for kind in ("proj", "svcacct", "admin", "None")
        ),
        _token("openrouter-key", "sk-or-v1-", r"[0-9a-f]{64}"),
        _token("openai-key", "sk-", WORD + r"{40,255}(?![A-Za-z0-9])"),
        _token("pypi-token", "pypi-AgE", DASHED + r"{50,512}", ""),
    )


@cache
def with_key_body() -> tuple[Format, ...]:
    """A private key without the line that says so."""
    lines = rf"(?:{_LINE_END}{{1,4}}{BASE64}{{60,20000}})*"
    last = rf"(?:{_LINE_END}{{1,4}}{BASE64}{{1,76}}(?=={{0,2}}(?:[\r\n\"'\\-]|$)))?={{0,2}}"
    body = rf"((?:{_KEY_STARTS}){BASE64}{{32,20000}}{lines}{last})"
    return (_part("private-key", body, _any),)


@cache
def with_capital_a() -> tuple[Format, ...]:
    next_to_id = rf"{_AWS_ID}[\s\S]{{1,160}}?(?<![\w+/]){_AWS_SECRET}"
    return (
        # The secret first, while the id next to it is there to be seen.
        _part("aws-secret-key", f"AKIA{next_to_id}", _is_mixed),
        _part("aws-secret-key", f"ASIA{next_to_id}", _is_mixed),
        _token("aws-access-key", "AKIA", _AWS_ID, ""),
        _token("aws-access-key", "ASIA", _AWS_ID, ""),
        _part("aws-secret-key", f"ecretAccessKey{_ASSIGNED}{_AWS_SECRET}", _is_mixed),
        _part("aws-secret-key", f"ECRET_ACCESS_KEY{_ASSIGNED}{_AWS_SECRET}", _is_mixed),
        _token("google-api-key", "AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])", ""),
        _part("azure-storage-key", rf"AccountKey=({BASE64}{{60,100}}={{0,2}})", _any),
    )


@cache
def with_capital_j() -> tuple[Format, ...]:
    claims = r"[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,32000}\.[A-Za-z0-9_-]{16,2000}"
    return (_token("jwt", "eyJ", claims, "A-Za-z0-9_-"),)


@cache
def with_at_sign() -> tuple[Format, ...]:
    address = r"://[^\s:@/?#\"'\\]{0,128}:([^\s@/\"'\\]{1,256})@"
    return (_part("url-password", address, _is_password),)


@cache
def with_authorization() -> tuple[Format, ...]:
    return (
        _part("authorization", f"uthorization{_ASSIGNED}{_CREDENTIALS}", _any),
        _part("authorization", f"UTHORIZATION{_ASSIGNED}{_CREDENTIALS}", _any),
    )


EVERY: tuple[Formats, ...] = (
    with_underscore,
    with_dash,
    with_capital_a,
    with_capital_j,
    with_at_sign,
    with_authorization,
    with_key_body,
)
"""All of them, in the order in which a text is redacted."""

_MOST_ROUNDS = 4

# Words, one of which is in every text with a secret of these formats, and what follows it there.
# The text may be a line of JSON: quotes, slashes and ends of lines are escaped then.
_GROUPS = (
    (
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ sk_live_ sk_test_ rk_live_ rk_test_ npm_ hf_",
        rb"[A-Za-z0-9]{16}",
        with_underscore,
    ),
    ("brt_ bto_", rb"[\w-]{16}", with_underscore),
    ("ecret_access_key", rb"", with_underscore),
    ("-BEGIN", rb"(?<=-----BEGIN) ", with_dash),
    (
        "sk- xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp- pypi-AgE glpat- gldt- glrt- glptt- glcbt-",
        rb"[\w-]{16}",
        with_dash,
    ),
    ("AKIA ASIA", rb"[0-9A-Z]{16}", with_capital_a),
    ("AIza", rb"[\w-]{35}", with_capital_a),
    ("ccountKey= ecretAccessKey ECRET_ACCESS_KEY", rb"", with_capital_a),
    (".eyJ", rb"[\w-]{8}", with_capital_j),
    ("uthorization UTHORIZATION", rb"", with_authorization),
    (
        (
            "b3BlbnNzaC1rZXktdj IBAAKB IBAAKC IBADANBgkqhkiG9w0BAQEF MHcCAQ MIGkAgEBBD"
            " gEAMBMGByqGSM49 MC4CAQAwBQYDK2VwBC"
        ),
        rb"[\w+/\\]{16}",
        with_key_body,
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
def _words() -> KeywordSearch:
    return KeywordSearch(word.encode() for word, _, _ in _FOLLOWED)


@cache
def _addresses() -> KeywordSearch:
    return KeywordSearch(_ADDRESS)


def may_hold_secret(content: bytes) -> bool:
    """Whether to look closer: never False for a text, or a line of JSON, that holds a secret."""
    return bool(_worth_trying(content))


def _worth_trying(content: bytes) -> list[Formats]:
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
        found.add(with_at_sign)
    return [known for known in EVERY if known in found]


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
    if name.endswith(_AWS_NAMES) and re.fullmatch(BASE64 + "{40}", value):
        return f"[redacted: aws-secret-key{tail}]", "aws-secret-key"
    if name.endswith(_HEADER_NAMES) and (found := re.match(_HEADER, value)):
        return f"{found[1]}[redacted: authorization{tail}]", "authorization"
    return value, ""
