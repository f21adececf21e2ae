"""Scenes that wait for the next patrol, found by their words meanwhile.

Nobody should have to wait for a patrol to be reminded of what was noted an hour ago. There are few
of them, so they are read one by one; most of the words that carry the question must be there.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING
from zlib import crc32

from clawkit.memory.recall.engine import Hit
from clawkit.memory.recall.texts import words_of
from clawkit.memory.recall.words import asked, content
from clawkit.memory.records import Node, Note
from clawkit.memory.store import notes

if TYPE_CHECKING:
    from clawkit.memory.store.database import Unit

_MOST = 200
_ENOUGH = 0.6
_FEWEST_WORDS = 2


def waiting_hits(
    unit: Unit, query: str, limit: int, *, mode: str = "or", exclude: Collection[int] = ()
) -> list[Hit]:
    """Waiting scenes that answer a query, the best first; their numbers are below zero."""
    there = notes.waiting(unit, "scene", _MOST)
    words = content(query) if there else []
    if not words:
        return []
    weights = asked(query)
    total = sum(weights.values())
    hits: list[Hit] = []
    for note in there:
        node = _as_node(note)
        has = words_of(node.scene, note.source)
        answered = sum(all(term in has for term in word) for word in words)
        share = sum(weight for term, weight in weights.items() if term in has) / total
        needed = len(words) if mode == "and" else min(_FEWEST_WORDS, len(words))
        if node.seq not in exclude and answered >= needed and share >= _ENOUGH:
            hits.append(Hit(node, share, {"waiting": share}))
    return sorted(hits, key=lambda hit: -hit.score)[:limit]


def _as_node(note: Note) -> Node:
    assert note.scene is not None
    seq = -(crc32(note.id.encode()) >> 1) - 1
    return Node(seq, note.id, note.scene, note.created, note.source)
