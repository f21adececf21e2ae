"""The lists of words in `word_lists.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


def word_lists(table: str) -> dict[str, frozenset[str]]:
    """The lists of one table, by name."""
    return {name: frozenset(words.split()) for name, words in _tables()[table].items()}


@cache
def _tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
