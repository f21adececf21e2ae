"""The words of a text, as they are looked for: the same for what was said and for what is asked.

Case and accents do not matter. Scripts that put no spaces between words are cut into pairs of
characters, and single ones beside them so that one character can be looked for. An emoji is a
word. What comes out contains nothing that means anything in a match expression.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

LONGEST_INDEXED = 200_000
"""Characters of one message that can be found; what lies behind is in the message all the same."""

_MOST_ASKED = 24
_LONGEST_WORD = 64

# Marks of scripts where they are part of the word; `\w` has none of them.
_MARKS = "\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0e3e\u0e40-\u109f\u1780-\u17d3"
_UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+|[^\w\s\x00-\x7f]")
_RUN = re.compile(f"[{_UNSPACED}]+")
_ACCENTS = re.compile("[\u0300-\u036f]")


def indexed(text: str) -> str:
    """The words of what was said, with spaces between them."""
    found: list[str] = []
    for word in _words(text[:LONGEST_INDEXED]):
        for piece, unspaced in _pieces(word):
            found += (*piece, *_pairs(piece)) if unspaced else (piece,)
    return " ".join(found)


def asked(text: str) -> tuple[str, ...]:
    """The words of what is looked for, each once; of a very long text, the first ones."""
    found: dict[str, None] = {}
    for word in _words(text[:LONGEST_INDEXED]):
        for piece, unspaced in _pieces(word):
            found |= dict.fromkeys((_pairs(piece) or [piece]) if unspaced else [piece])
        if len(found) >= _MOST_ASKED:
            break
    return tuple(found)[:_MOST_ASKED]


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(_folded(text)):
        word = match[0]
        if len(word) > 1 or word.isalnum() or unicodedata.category(word)[0] == "S":
            yield word[:_LONGEST_WORD] if not _RUN.search(word) else word


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", text).casefold()
    text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
    return text.encode("utf-8", "ignore").decode()  # a lone surrogate fits into no database


def _pieces(word: str) -> Iterator[tuple[str, bool]]:
    """The parts of a word with and without spaces around its words: `第2回go` is four parts."""
    end = 0
    for run in _RUN.finditer(word):
        if run.start() > end:
            yield word[end : run.start()], False
        yield run[0], True
        end = run.end()
    if end < len(word):
        yield word[end:], False


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]
