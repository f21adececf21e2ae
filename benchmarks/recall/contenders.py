"""Ways to rank one pool's memories: ours and its halves; a peer is one more `Contender`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clawkit.memory.people import names_of
from clawkit.memory.recall.search import SearchResult, search
from clawkit.memory.store import nodes
from clawkit.text.cues import is_question
from clawkit.text.tokenizer import asked

if TYPE_CHECKING:
    from benchmarks.recall.pools import Asked, Stored
    from clawkit.memory.embed.embedder import BuiltinEmbedder

DEEP = 10
Ranked = Callable[["Stored", "Asked"], Sequence[int]]
"""The numbers of the best memories, the best first; a memory's number is its place, from 1."""


@dataclass(frozen=True)
class Contender:
    """Somebody who ranks."""

    name: str
    ranked: Ranked


def words_alone(stored: Stored, question: Asked) -> Sequence[int]:
    """BM25 of the product's own index."""
    with stored.database.read(stored.being) as unit:
        scores = nodes.by_words(unit, asked(question.text)).scores
    return [int(seq) for seq in np.argsort(-scores, kind="stable")[:DEEP] if scores[seq] > 0]


def meaning_alone(embedder: BuiltinEmbedder) -> Ranked:
    """The nearest vectors, names masked."""

    def ranked(stored: Stored, question: Asked) -> Sequence[int]:
        masked = names_of(stored.pool.people).masked(question.text)
        make = embedder.ask if is_question(masked) else embedder.embed
        with stored.database.read(stored.being) as unit:
            return unit.vectors.nearest(embedder.name, make([masked])[0], DEEP)[0]

    return ranked


def found(embedder: BuiltinEmbedder, stored: Stored, question: Asked) -> SearchResult:
    """The product's own search."""
    with stored.database.read(stored.being) as unit:
        return search(unit, question.text, embedder=embedder, limit=DEEP, now=stored.pool.now)
