"""Full-text search in one conversation: tokenizes, indexes, and ranks by BM25.

Case and accents do not matter. Scripts that put no spaces between words are cut into pairs of
characters, and single ones beside them so that one character can be looked for. An emoji is a
word. No word contains anything that means something in a match expression.

Every word in the index begins with the conversation it was said in, so no other is ever looked at,
slows the search down, or crowds anything out. For each word no more than a few hundred messages
are considered, the newest: a word that is in more of them says little about any, and fewer are for
one that is everywhere. Whatever holds a rare word is found however long ago it was said.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter

from msgspec import Struct

from clawkit.text.tokenizer import folded, pairs, split

LONGEST_INDEXED = 200_000
"""Characters of one message that can be found; what lies behind is in the message all the same."""

_MOST_ASKED = 24
_LONGEST_WORD = 64


def indexed(text: str) -> str:
    """The words of what was said, with spaces between them."""
    found: list[str] = []
    for word, unspaced in list(split(folded(text[:LONGEST_INDEXED]))):
        found += (*word, *pairs(word)) if unspaced else (word[:_LONGEST_WORD],)
    return " ".join(found)


def asked(text: str) -> tuple[str, ...]:
    """The words of what is looked for, each once; of a very long text, the first ones."""
    found: dict[str, None] = {}
    for word, unspaced in split(folded(text[:LONGEST_INDEXED])):
        found |= dict.fromkeys((pairs(word) or [word]) if unspaced else [word[:_LONGEST_WORD]])
        if len(found) >= _MOST_ASKED:
            break
    return tuple(found)[:_MOST_ASKED]


_CONSIDERED = 200
_COMMON = 10
"""A word in every tenth message or more, as `the` and `is` are, says next to nothing of any."""
_OF_COMMON = 100
"""Messages that are considered for such a word, and how often it must have been said to be one:
a name that comes up again and again for a while is none yet."""
_WEIGHED = 12
_READ = 20_000
_LAST = 1 << 62
_SATURATION = 1.2
_LENGTH = 0.5


class _Match(Struct, frozen=True):
    """Messages that have a word, and how much it says about them."""

    messages: set[int]
    weight: float


Matches = dict[str, _Match]


def place(session: int, epoch: int) -> str:
    """How the words of this conversation begin, and those of no other.

    No vowel, because the index cuts off English endings and counts syllables for that.
    """
    return f"{session}z{epoch}z"


def add(connection: sqlite3.Connection, message: int, where: str, words: str) -> None:
    """Let a message be found by its words."""
    if words:
        placed = where + words.replace(" ", f" {where}")
        connection.execute("INSERT INTO said (rowid, words) VALUES (?, ?)", (message, placed))


def best(
    connection: sqlite3.Connection, where: str, text: str, limit: int, outside: int | None
) -> list[int]:
    """The messages that have most to do with a text, the best first."""
    if limit < 1:
        return []
    matches = _matches(connection, [where + word for word in asked(text)], outside)
    rough: dict[int, float] = {}
    for match in matches.values():
        weight = match.weight
        for message in match.messages:
            rough[message] = rough.get(message, 0) + weight
    first = sorted(rough, key=lambda message: (rough[message], message), reverse=True)
    return _weighed(connection, matches, first[: max(limit, _WEIGHED)])[:limit]


def _matches(connection: sqlite3.Connection, words: list[str], outside: int | None) -> Matches:
    """The words that are in any message."""
    every = {word: _match(connection, word, outside) for word in words}
    return {word: match for word, match in every.items() if match.messages}


def _match(connection: sqlite3.Connection, word: str, outside: int | None) -> _Match:
    rows = connection.execute(
        "SELECT rowid FROM said WHERE said MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?",
        (f'"{word}"', _LAST if outside is None else outside, _CONSIDERED),
    )
    newest: list[int] = [message for (message,) in rows.fetchmany(_OF_COMMON)]
    if len(newest) == _OF_COMMON and newest[0] - newest[-1] < _COMMON * _OF_COMMON:
        rows.close()
        return _Match(set(newest), _weight(_CONSIDERED))
    newest += [message for (message,) in rows]
    return _Match(set(newest), _weight(len(newest)))


def _weight(count: int) -> float:
    """What a word says that so many messages have: the rarer, the more."""
    return math.log(1 + _CONSIDERED / max(1, count))


def _weighed(connection: sqlite3.Connection, matches: Matches, messages: list[int]) -> list[int]:
    """The messages in order of how often and among how many others they have the words (BM25)."""
    marks = ", ".join("?" * len(messages))
    rows: list[tuple[int, str]] = connection.execute(
        f"SELECT rowid, substr(words, 1, {_READ}) FROM said WHERE rowid IN ({marks})", messages
    ).fetchall()
    counts = {message: Counter(words.split(" ")) for message, words in rows}
    usual = sum(count.total() for count in counts.values()) / max(1, len(counts))

    def score(message: int) -> float:
        count = counts[message]
        damping = _SATURATION * (1 - _LENGTH + _LENGTH * count.total() / usual)
        total = 0.0
        for word, match in matches.items():
            # Another form of the word counts once.
            times = count[word] or (message in match.messages)
            if times:
                total += match.weight * times / (times + damping)
        return total

    return sorted(counts, key=lambda message: (score(message), message), reverse=True)
