"""Tables of words in many languages: the TOML files beside this one, read when first needed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


def word_lists(group: str) -> dict[str, frozenset[str]]:
    """The lists of one group in `word_lists.toml`, by name."""
    return {name: frozenset(words.split()) for name, words in table("word_lists")[group].items()}


def listed(text: str) -> list[str]:
    """Words and phrases that commas separate; lines may end anywhere between them."""
    return [word for word in unbroken(text).split(",") if word]


def unbroken(text: str) -> str:
    """A pattern or a list that is written on several lines, as one."""
    return text.replace("\n", "")


def expanded(pattern: str, parts: dict[str, str]) -> str:
    """A pattern with its parts in the place of their names in angle brackets."""
    return re.sub(r"<(\w+)>", lambda name: expanded(parts[name[1]], parts), unbroken(pattern))


def by_word(meanings: dict[str, str]) -> dict[str, str]:
    """What each word means, from the words of each meaning."""
    return {word: meaning for meaning, words in meanings.items() for word in listed(words)}
