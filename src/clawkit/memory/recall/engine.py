"""Search: candidates, their signals, one score each, no duplicates."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.memory.recall import gate, signals
from clawkit.memory.recall.candidates import Gathered, Kind, Mode, gather
from clawkit.memory.recall.gate import ABOUT_PERSON, DIALOGUE, NOTES, WORDS_ONLY, SignalWeights
from clawkit.memory.records import Node
from clawkit.text.tokenizer import content, folded, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawkit.memory.arrays import Floats
    from clawkit.memory.embed.protocol import Embedder
    from clawkit.memory.store.database import Unit

_WORD = re.compile(r"\w+")


def without_repetition(nodes: Sequence[Node]) -> list[int]:
    """The places of those that say something new, in the order they came; of two, the newest."""
    kept: dict[tuple[object, ...], int] = {}
    for at, node in enumerate(nodes):
        said = _people(node), _words(node)
        earlier = kept.setdefault(said, at)
        if node.created > nodes[earlier].created:
            kept[said] = at
    return list(kept.values())


def _words(node: Node) -> str:
    return " ".join(_WORD.findall(folded(node.scene.action))) or node.scene.action


def _people(node: Node) -> frozenset[str]:
    if node.source.speaker:
        return frozenset((node.source.speaker.casefold(),))
    return frozenset(actor.casefold() for actor in node.scene.actors)


_WORDS_ABOUT = (
    "tell know say everything anything remember heard erzähl erzähle weißt weisst weiß über alles "
    "sabes dime cuéntame sobre todo sais dis raconte sur tout sai dimmi raccontami su tutto "
    "sabe conta tudo weet vertel over знаешь расскажи biliyorsun anlat"
)
_ABOUT = frozenset(terms(_WORDS_ABOUT))
"""Words of questions that ask for whatever is known about somebody."""

_SPARE = 4
"""So many times the hits that are wanted are looked at, as some say the same."""


class Hit(msgspec.Struct, frozen=True):
    """A memory that was found. `score` orders the hits of one search, `signals` say why."""

    node: Node
    score: float
    signals: dict[str, float]


class SearchResult(msgspec.Struct, frozen=True):
    """What a search found; `confidence`, from 0 to 1, that an answer is among it."""

    kind: Kind
    hits: tuple[Hit, ...]
    confidence: float
    relevant: bool = False
    """Whether anything of it is worth telling."""

    far_behind: float = 0.0
    """By how much a hit may score less than the best and still be told."""


def search(
    unit: Unit,
    query: str,
    *,
    embedder: Embedder | None,
    limit: int,
    mode: Mode = "or",
    as_of: float | None = None,
    exclude: Collection[int] = (),
    asker: str = "",
    now: float,
) -> SearchResult:
    """The memories that fit a query best, the best first; what is not known is not among them."""
    gathered = gather(
        unit,
        query,
        embedder=embedder,
        mode=mode,
        as_of=as_of,
        exclude=exclude,
        asker=asker,
        now=now,
    )
    if not gathered.pool.nodes:
        return SearchResult(gathered.kind, (), 0.0)
    matrix = signals.matrix(gathered.question, gathered.pool)
    way = way_for(gathered)
    scores = fused(matrix, way)
    if gathered.kind == "keyword":
        scores[gathered.pool.words <= 0] = -np.inf
    best = np.argsort(-scores, kind="stable")[: limit * _SPARE]
    order = [int(at) for at in best if scores[at] > -np.inf]
    kept = [order[place] for place in without_repetition([gathered.pool.nodes[at] for at in order])]
    hits = [_hit(gathered, matrix, scores, at) for at in kept[:limit]]
    sure = gate.confidence(gathered, matrix, scores, way)
    return SearchResult(gathered.kind, tuple(hits), sure, sure >= way.threshold, way.far_behind)


def worth_telling(found: SearchResult) -> tuple[Hit, ...]:
    """The hits that may be the answer: nothing where the gate is closed, nobody far behind."""
    if not found.relevant or not found.hits:
        return ()
    best = found.hits[0].score
    return tuple(hit for hit in found.hits if best - hit.score <= found.far_behind)


def way_for(gathered: Gathered) -> SignalWeights:
    """How these are weighed: as a conversation between people, or as what people told."""
    pool = gathered.pool
    speakers: dict[str, set[str]] = {}
    for node in pool.nodes:
        if node.source.conversation and node.source.speaker:
            speakers.setdefault(node.source.conversation, set()).add(node.source.speaker)
    between = sum(len(speakers.get(node.source.conversation, ())) > 1 for node in pool.nodes)
    if between > len(pool.nodes) / 2:
        return DIALOGUE
    if _names_only(gathered.question):
        return ABOUT_PERSON
    return WORDS_ONLY if gathered.kind == "keyword" else NOTES


def _names_only(question: signals.RecallQuestion) -> bool:
    """Whether a question says nothing but whom it is about."""
    words = {term for word in content(question.text) for term in word} - _ABOUT
    return bool(question.named and words) and words <= set(terms(" ".join(question.named)))


def fused(matrix: Floats, way: SignalWeights) -> Floats:
    """One score for each candidate."""
    return matrix @ np.array([way.weights.get(name, 0.0) for name in signals.SIGNALS], np.float32)


def _hit(gathered: Gathered, matrix: Floats, scores: Floats, at: int) -> Hit:
    shown = zip(signals.SIGNALS, matrix[at], strict=True)
    return Hit(
        gathered.pool.nodes[at],
        round(float(scores[at]), 4),
        {name: round(float(value), 4) for name, value in shown if value},
    )
