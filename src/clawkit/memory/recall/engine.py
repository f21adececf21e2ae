"""Search: candidates, their signals, one score, and nothing twice."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.memory.recall import gate, signals
from clawkit.memory.recall.candidates import Gathered, Kind, Mode, gather
from clawkit.memory.recall.same import without_repetition
from clawkit.memory.recall.weights import WEIGHTS
from clawkit.memory.records import Node

if TYPE_CHECKING:
    from clawkit.memory.arrays import Floats
    from clawkit.memory.embed.protocol import Embedder
    from clawkit.memory.store.database import Unit

_SPARE = 3
"""So many times the hits that are wanted are looked at, as some say the same."""


_FAR_BEHIND = 3.0
"""Scores are logarithms of chances: whoever is so far behind has a twentieth of the best one's."""


class Hit(msgspec.Struct, frozen=True):
    """A memory that was found. `score` orders the hits of one search, `signals` say why."""

    node: Node
    score: float
    signals: dict[str, float]


class Found(msgspec.Struct, frozen=True):
    """What a search found; `confidence`, from 0 to 1, that an answer is among it."""

    kind: Kind
    hits: tuple[Hit, ...]
    confidence: float


def search(
    unit: Unit,
    query: str,
    *,
    embedder: Embedder | None,
    limit: int,
    mode: Mode = "or",
    as_of: float | None = None,
    exclude: Collection[int] = (),
    now: float,
) -> Found:
    """The memories that fit a query best, the best first; what is not known is not among them."""
    gathered = gather(
        unit, query, embedder=embedder, mode=mode, as_of=as_of, exclude=exclude, now=now
    )
    if not gathered.pool.nodes:
        return Found(gathered.kind, (), 0.0)
    matrix = signals.matrix(gathered.question, gathered.pool)
    scores = fused(matrix)
    if gathered.kind == "keyword":
        scores[gathered.pool.words <= 0] = -np.inf
    best = np.argsort(-scores, kind="stable")[: limit * _SPARE]
    order = [int(at) for at in best if scores[at] > -np.inf]
    model = embedder.name if embedder is not None and gathered.kind != "keyword" else None
    kept = without_repetition(unit, model, [gathered.pool.nodes[at] for at in order])
    hits = [_hit(gathered, matrix, scores, order[place]) for place in kept[:limit]]
    return Found(gathered.kind, tuple(hits), gate.confidence(gathered, matrix, scores))


def relevant(found: Found) -> bool:
    """Whether anything that was found is worth telling."""
    return bool(found.hits) and found.confidence >= gate.THRESHOLD


def worth_telling(found: Found) -> tuple[Hit, ...]:
    """The hits that may be the answer: nothing where the gate is closed, nobody far behind."""
    if not relevant(found):
        return ()
    best = found.hits[0].score
    return tuple(hit for hit in found.hits if best - hit.score <= _FAR_BEHIND)


def fused(matrix: Floats) -> Floats:
    """One score for each candidate."""
    return matrix @ np.array([WEIGHTS.get(name, 0.0) for name in signals.SIGNALS], np.float32)


def _hit(gathered: Gathered, matrix: Floats, scores: Floats, at: int) -> Hit:
    shown = zip(signals.SIGNALS, matrix[at], strict=True)
    return Hit(
        gathered.pool.nodes[at],
        round(float(scores[at]), 4),
        {name: round(float(value), 4) for name, value in shown if value},
    )
