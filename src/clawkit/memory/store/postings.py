"""The index of words: for each word of a Being, the nodes that have it, and how often.

Postings lie in blocks; a full block only changes when one of its nodes is erased. A search reads
the blocks of its words and computes BM25 for all nodes at once. How rare a word is, and how long a
node is usually, are counted in this Being alone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.store.database import Unit

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats, Seqs

_BLOCK = 512
_ENTRY = np.dtype([("seq", "<u4"), ("times", "<u2"), ("length", "<u2")])
_MOST = 65535
_SATURATION = 1.2
_LENGTH = 0.75


def add(unit: Unit, words: Mapping[int, Mapping[str, int]]) -> None:
    """Let nodes be found by their words; `words` has each node's, and how often it has them."""
    new: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    total = 0
    for seq, counts in sorted(words.items()):
        length = sum(counts.values())
        total += length
        for word, times in counts.items():
            new[word].append((seq, min(times, _MOST), min(length, _MOST)))
    last = _last_blocks(unit, sorted(new))
    unit.many(
        "INSERT INTO postings (being, term, block, size, data) VALUES ($being, ?, ?, ?, ?) "
        "ON CONFLICT (being, term, block) DO UPDATE SET size = excluded.size, data = excluded.data",
        [row for word in sorted(new) for row in _extended(word, last.get(word), new[word])],
    )
    unit.run("UPDATE beings SET words = words + ? WHERE n = $being", total)


def remove(unit: Unit, seqs: Iterable[int]) -> None:
    """Let nodes be found by no word any more; words that no other node has are gone.

    All blocks are read, since nobody knows any more by which words a node was kept.
    """
    gone = np.array(sorted(seqs), dtype="<u4")
    if not len(gone):
        return
    lengths: dict[int, int] = {}
    smaller: list[tuple[int, bytes, str, int]] = []
    empty: list[tuple[str, int]] = []
    for term, block, data in unit.rows(
        "SELECT term, block, data FROM postings WHERE being = $being"
    ):
        entries = np.frombuffer(data, dtype=_ENTRY)
        theirs = np.isin(entries["seq"], gone)
        if not theirs.any():
            continue
        lengths.update((int(one["seq"]), int(one["length"])) for one in entries[theirs])
        kept = entries[~theirs]
        if len(kept):
            smaller.append((len(kept), kept.tobytes(), term, block))
        else:
            empty.append((term, block))
    unit.many(
        "UPDATE postings SET size = ?, data = ? WHERE being = $being AND term = ? AND block = ?",
        smaller,
    )
    unit.many("DELETE FROM postings WHERE being = $being AND term = ? AND block = ?", empty)
    lost = sum(lengths.values())
    sql = "UPDATE beings SET words = CASE WHEN words > ? THEN words - ? ELSE 0 END WHERE n = $being"
    unit.run(sql, lost, lost)


class WordMatches(msgspec.Struct, frozen=True):
    """What words find: the score of every node, by its number, and who has which word."""

    scores: Floats
    having: dict[str, Seqs]


def find(unit: Unit, words: Mapping[str, float], without: Collection[int] = ()) -> WordMatches:
    """BM25 of every node, as if some were not there; a word's weight multiplies what it says."""
    top, usual = _size(unit)
    count, absent = top - len(without), np.fromiter(without, np.uint32)
    scores = np.zeros(top + 1, dtype=np.float32)
    having: dict[str, Seqs] = {}
    for word, every in _entries(unit, list(words)).items():
        entries = every[~np.isin(every["seq"], absent)] if without else every
        seqs = having[word] = entries["seq"].astype(np.int64)
        times = entries["times"].astype(np.float32)
        damping = entries["length"] * np.float32(_SATURATION * _LENGTH / usual)
        damping += np.float32(_SATURATION * (1 - _LENGTH)) + times
        rarity = math.log(1 + (count - len(seqs) + 0.5) / (len(seqs) + 0.5))
        scores[seqs] += times * np.float32(words[word] * rarity * (_SATURATION + 1)) / damping
    return WordMatches(scores, having)


def having_all(unit: Unit, words: list[str]) -> Seqs:
    """The nodes that have every one of these words."""
    found = _entries(unit, words)
    if not words or len(found) < len(set(words)):
        return np.empty(0, dtype=np.int64)
    common: Seqs | None = None
    for entries in sorted(found.values(), key=len):
        seqs = entries["seq"].astype(np.int64)
        common = seqs if common is None else np.intersect1d(common, seqs, assume_unique=True)
    return common if common is not None else np.empty(0, dtype=np.int64)


def having_any(unit: Unit, words: list[str]) -> list[int]:
    """The nodes that have at least one of these words, in the order of their numbers."""
    found = _entries(unit, words)
    return sorted({int(seq) for entries in found.values() for seq in entries["seq"]})


def frequencies(unit: Unit, words: list[str]) -> dict[str, int]:
    """In how many nodes each word is."""
    sql = "SELECT term, sum(size) FROM postings WHERE being = $being AND term IN (??) GROUP BY term"
    return {word: int(size) for word, size in unit.among(sql, words)}


def top(unit: Unit) -> int:
    """The highest number that a node has."""
    return _size(unit)[0]


def _size(unit: Unit) -> tuple[int, float]:
    """How many nodes there are, and how many words one has on average."""
    row = unit.row("SELECT top, words FROM beings WHERE n = $being")
    top, words = row or (0, 0)
    return top, max(1.0, words / max(1, top))


def _entries(unit: Unit, words: list[str]) -> dict[str, np.ndarray[tuple[int], np.dtype[np.void]]]:
    sql = (
        "SELECT term, data FROM postings WHERE being = $being AND term IN (??) ORDER BY term, block"
    )
    parts: dict[str, list[bytes]] = defaultdict(list)
    for word, data in unit.among(sql, words):
        parts[word].append(data)
    return {word: np.frombuffer(b"".join(data), dtype=_ENTRY) for word, data in parts.items()}


def _last_blocks(unit: Unit, words: list[str]) -> dict[str, tuple[int, bytes]]:
    sql = (
        "SELECT p.term, p.block, p.data FROM (VALUES (??)) AS wanted JOIN postings p "
        "ON p.being = $being AND p.term = wanted.column1 AND p.block = (SELECT max(q.block) "
        "FROM postings q WHERE q.being = $being AND q.term = wanted.column1)"
    )
    return {word: (block, bytes(data)) for word, block, data in unit.among(sql, words)}


def _extended(
    word: str, last: tuple[int, bytes] | None, new: list[tuple[int, int, int]]
) -> list[tuple[str, int, int, bytes]]:
    """The word's last block with the new postings behind it, and further blocks if it is full."""
    block, data = last or (0, b"")
    data += np.array(new, dtype=_ENTRY).tobytes()
    width = _BLOCK * _ENTRY.itemsize
    parts = [data[start : start + width] for start in range(0, len(data), width)]
    return [(word, block + at, len(part) // _ENTRY.itemsize, part) for at, part in enumerate(parts)]
