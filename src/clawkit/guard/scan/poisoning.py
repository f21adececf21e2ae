"""Tool poisoning: definitions that steer the model instead of saying what they are for.

A definition is what a model reads before anybody has called anything. It may say what a tool does;
it has no reason to name files of secrets, to put itself before or in place of other tools, to
redirect what others send, or to ask for silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec

from clawkit.text.injections import find_injections
from clawkit.text.normalization import plain

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN_WORDS = re.compile(r"[\W_]+")
_SEAM = "\n\n"
_LONGEST = 100_000
_MOST_REMEMBERED = 512
_PART = re.compile(r"<([a-z]+)>")


class _Phrase(msgspec.Struct, frozen=True):
    needed: list[str]
    patterns: list[str]


class _Patterns(msgspec.Struct, frozen=True):
    """What `poisoning.toml` lists."""

    files: list[str]
    posing: list[str]
    parts: dict[str, str]
    phrases: dict[str, _Phrase]


@cache
def _patterns() -> _Patterns:
    return msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=_Patterns)


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
    for name, phrase in _patterns().phrases.items():
        if any(word in words for word in phrase.needed) and _wordings(name).search(words):
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
    return tuple(map(re.compile, _patterns().files))


@cache
def _posing() -> re.Pattern[str]:
    return re.compile("|".join(_patterns().posing))


@cache
def _wordings(name: str) -> re.Pattern[str]:
    found = _patterns()
    text = "|".join(found.phrases[name].patterns)
    return re.compile(_PART.sub(lambda part: found.parts[part[1]], text))
