"""Tool poisoning: definitions that steer the model instead of saying what they are for.

A definition is what a model reads before anybody has called anything. It may say what a tool does;
it has no reason to name files of secrets, to put itself before or in place of other tools, to
redirect what others send, or to ask for silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, cast

from clawkit.text.injections import find_injections
from clawkit.text.normalization import plain

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN_WORDS = re.compile(r"[\W_]+")
_SEAM = "\n\n"
_LONGEST = 100_000
_MOST_REMEMBERED = 512

# Files of secrets, in text as it stands. Each pattern begins with letters that are found fast.
_FILES = (
    (
        r"\.(?<![\w.*]\.)(?:ssh\b|gnupg\b|env\b(?!\.(?:example|sample|template))|git-credentials\b"
        r"|(?:claude|cursor|codeium|windsurf)(?:\.json|/)|(?:aws|azure|kube|docker)/|config/(?:gh|gcloud)\b"
        r"|(?:netrc|pgpass|npmrc|pypirc|vault-token|bash_history|zsh_history)\b)"
    ),
    r"\.keychain\b",
    r"id_(?<!\wid_)(?:rsa|dsa|ecdsa|ed25519)\b",
    r"mcp(?<!\wmcp)(?:_config|[_-]settings)?\.json\b",
    r"/etc/(?:passwd|shadow|sudoers)\b",
    r"claude_desktop_config",
    r"authorized_keys",
    r"wallet\.dat",
)
# Notes that pose as somebody else's, and what a page would not show.
_POSING = (
    r"<!--|\[(?:important|system|critical|hidden|secret)(?: note| instructions?)? ?[:\]]"
    r"|</?(?:important|system|critical|hidden|secret)\b[^>]{0,40}>"
    r"|\b(?:system|admin|administrator|developer) (?:note|notice|message|override|directive)s? ?:"
)
_CALL = r"(?:us(?:e|ed|ing)|call(?:ed|ing)?|invok(?:e|ed|ing)|run(?:ning)?|execut(?:e|ed|ing))"
_TOOL = r"(?:tools?|functions?|servers?)"
_HIDE = (
    r"(?:tell|inform|notify|reveal|disclos\w{1,3}|alert|show|display|report|explain|mention|let)"
)
_WHOM = r"(?:users?|humans?|person|people|anyone|anybody|them|operator|owner|this|it|that)"
_NOT = r"(?:do not|don t|never|without|not to)"
_SEND = r"(?:pass|include|supply|attach|forward|send|upload|post|provide|insert|embed|append|put)"
_MESSAGES = r"(?:e ?mails?|messages?|payments?|transfers?)"
_TALK = (
    r"(?:system prompt|(?:conversation|chat|message) history|environment variables"
    r"|(?:full|entire|whole|previous) conversation)"
)

# Phrases in words, with one space between them and no signs.
_WORDINGS: dict[str, tuple[str, ...]] = {
    "secret-file": (r"\bid (?:rsa|dsa|ecdsa|ed25519)\b", r"\bssh private keys?\b"),
    "comes-first": (
        (
            rf"\b(?:before|prior to) (?:you )?(?:ever )?{_CALL} "
            rf"(?:this|any|another|other|the other|all)\b.{{0,20}}\b{_TOOL}\b"
        ),
        rf"\b(?:before|prior to) (?:any|every|all|each) (?:other )?{_TOOL}\b",
        (
            r"\bbefore (?:you )?(?:perform|do|mak|answer|respond|reply)\w{0,4} "
            r"(?:to )?(?:any|every|all)\b"
        ),
        (
            rf"\b(?:always|must|shall) (?:first )?(?:be )?{_CALL} (?:this|it)\b"
            r".{0,20}\b(?:first|before)\b"
        ),
        rf"\b(?:this|the) {_TOOL} (?:must|shall|should) (?:always )?be {_CALL} (?:first|before)\b",
    ),
    "replaces-others": (
        r"\b(?:always|must|only|never)\b.{0,60}\binstead of\b",
        r"\buse this\b.{0,20}\binstead of (?:the |any |all )?other\b",
        (
            rf"\b{_NOT} {_CALL} (?:the |any )?(?:other|built ?in|native|original)\b"
            rf".{{0,30}}\b{_TOOL}\b"
        ),
    ),
    "steers-others": (
        (
            rf"\b(?:when|whenever|if|while|as long as) this {_TOOL} is "
            r"(?:available|present|loaded|installed|connected)\b"
        ),
        (
            rf"\b(?:when|whenever|every time|each time|any time) (?:you )?{_CALL} "
            rf"(?:any|every|another|all)\b.{{0,20}}\b{_TOOL}\b"
        ),
        rf"\beffects? on other {_TOOL}\b",
        rf"\b{_TOOL} (?:from|of|on) (?:any|all|every|other) (?:other )?servers?\b",
        r"\bchange the (?:recipient|destination|address|phone number|number|amount|target|payee)\b",
        (
            rf"\b(?:all|any|every) {_MESSAGES}\b.{{0,30}}\b(?:must|shall|should) be "
            r"(?:sent|forwarded|routed|made)\b"
        ),
        rf"\bmust (?:send|forward|route) (?:all|any|every) {_MESSAGES}\b",
    ),
    "asks-for-silence": (
        rf"\b{_NOT} (?:ever )?mention(?:ing)?\b",
        rf"\b{_NOT} (?:ever )?{_HIDE}(?:ing)? (?:\w{{1,12}} )?{_WHOM}\b",
        (
            r"\bwithout (?:the )?(?:users?|their|his|her)(?: s)? "
            r"(?:knowledge|noticing|knowing|consent|approval)\b"
        ),
        r"\b(?:keep|keeping) (?:this|it|that) (?:secret|hidden|confidential)\b.{0,20}\bfrom\b",
        r"\b(?:upset|alarm|scare|frighten|worry) the (?:user|human|person)\b",
    ),
    "takes-along": (
        rf"\bread\b.{{0,80}}\b(?:and|then) {_SEND} (?:its|their|the|all|them|it|full|entire)\b",
        (
            rf"\b{_SEND}\b.{{0,30}}\b(?:its|their|file|full|entire|complete|raw)(?: s)? contents?\b"
            r".{0,30}\b(?:as|in|into|to|via|through|with)\b"
        ),
        rf"\b{_SEND}\b.{{0,40}}\b{_TALK}\b",
        r"\bcontents? from reading\b",
    ),
}
# Without one of these words a phrase is not there: ordinary definitions are not looked at closer.
_NEEDED: dict[str, tuple[str, ...]] = {
    "secret-file": ("id ", "ssh "),
    "comes-first": ("before", "prior to", " first"),
    "replaces-others": ("instead of", "not use", "never", "don t"),
    "steers-others": ("this ", "any", "every", "change the", "effect", "must", "server", "another"),
    "asks-for-silence": (
        "not ",
        "never",
        "don t",
        "without",
        "keep",
        "the user",
        "the human",
        "the person",
    ),
    "takes-along": ("content", "read", "prompt", "history", "conversation", "environment"),
}


def suspicions(definition: dict[str, Any]) -> tuple[str, ...]:
    """What in a definition, anywhere in it, steers the model; empty where nothing does."""
    text = _SEAM.join(_texts(definition))
    if len(text) <= _LONGEST:
        return _suspicions(text)
    # Nothing honest is that long, and to read all of it would keep everybody waiting.
    return ("too-long", *_suspicions(text[:_LONGEST]))


@lru_cache(_MOST_REMEMBERED)
def _suspicions(text: str) -> tuple[str, ...]:
    folded = plain(text)
    words = _BETWEEN_WORDS.sub(" ", plain(_CAMEL.sub(" ", text)))
    found = dict.fromkeys(find_injections(text))
    if _holds_file(folded):
        found["secret-file"] = None
    if _posing().search(folded):
        found["poses-as-note"] = None
    for name, needed in _NEEDED.items():
        if any(word in words for word in needed) and _wordings(name).search(words):
            found[name] = None
    return tuple(found)


def names_secret_file(text: str) -> bool:
    """Whether a text speaks of a file of secrets, such as `~/.ssh/id_rsa` or `.env`."""
    return _holds_file(plain(text))


def _holds_file(folded: str) -> bool:
    return any(pattern.search(folded) for pattern in _files())


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield key
            yield from _texts(item)


@cache
def _files() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, _FILES))


@cache
def _posing() -> re.Pattern[str]:
    return re.compile(_POSING)


@cache
def _wordings(name: str) -> re.Pattern[str]:
    return re.compile("|".join(_WORDINGS[name]))
