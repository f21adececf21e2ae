"""Search: candidates, their signals weighed into one score each, and the gate before noise.

Candidates are the best by words, the nearest by meaning, and in talk between people what was said
around them.

The weights for talk between people (`dialogue` in `weights.json`) are fitted on made conversations,
in English and Japanese, by `python -m benchmarks.recall.fitting` (decision 024), those for what
people told an assistant on made lives (benchmarks/lives). Nothing was fitted on a public set: those
measure. Each has a gate of its own: one cannot serve both.

Ranking always has a first; whether it is worth telling is for the `gate`.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import msgspec
import numpy as np

from clawkit.errors import ModelError
from clawkit.memory import people
from clawkit.memory.recall.gate import (
    GATED,
    Gathered,
    Kind,
    SignalWeights,
    confidence,
    of_asked_days,
    rare_seqs,
)
from clawkit.memory.recall.index_text import day_terms
from clawkit.memory.recall.signals import SIGNALS, Pool, RecallQuestion, asks_about_past, matrix
from clawkit.memory.records import Node
from clawkit.memory.store import nodes, postings
from clawkit.text import calendar
from clawkit.text.tokenizer import asked, content, folded, terms

if TYPE_CHECKING:
    from clawkit.memory.embed import Embedder
    from clawkit.store.arrays import Floats
    from clawkit.store.database import Unit

Mode = Literal["or", "and"]

BY_WORDS = 30
BY_MEANING = 30
BY_DAYS = 60
MOST_DAYS = 62
WITH_NEIGHBOURS = 8
_STEPS = (-2, -1, 1, 2)
_COMPLETE = 0.95
"""A few vectors that are still to come do not take meaning out of a search."""

_ORDINARY = 1000

_log = logging.getLogger("clawkit.memory")
_IS_QUESTION = re.compile(
    r"[?\uff1f]|^\s*(?:what|which|who|whom|whose|when|where|why|how|did|does|do|is|are|was|were|can|"
    r"could|would|should|has|have|had)\b|(?:ですか|ますか|の|かな|っけ|だった)[。\s]*$",
    re.IGNORECASE,
)


class SearchOptions(TypedDict, total=False):
    """How memories are searched."""

    mode: Mode
    as_of: float | None
    exclude: Collection[int]
    asker: str


def gather(
    unit: Unit,
    query: str,
    embedder: Embedder | None,
    now: float,
    *,
    mode: Mode = "or",
    as_of: float | None = None,
    exclude: Collection[int] = (),
    asker: str = "",
) -> Gathered:
    """Ask both indexes, and look up everybody who may be the answer; `asker` says "I"."""
    asked_for = tuple(calendar.ranges(query, now))
    there = people.known(unit)
    names = people.names_of(there.names | there.own)
    question = RecallQuestion(
        query, _meant(there, query, asker), asked_for, now, asker.casefold(), names.masked(query)
    )
    voices = people.names_of(there.voices)
    past = asks_about_past(query)
    hidden = {*map(int, nodes.hidden(unit, as_of, past=past)), *exclude}
    wanted = asked(query)
    known = postings.find(unit, wanted)
    words = _allowed(unit, known.scores, query, mode, hidden)
    vector = _vector(unit, embedder, voices.masked(query), known.top)
    seqs = set(_best(words, BY_WORDS)) | _on_days(unit, asked_for, words, hidden)
    near: dict[int, float] = {}
    if embedder is not None and vector is not None:
        found, cosines = unit.vectors.nearest(embedder.name, vector, BY_MEANING, hidden)
        near = dict(zip(found, cosines, strict=True))
        seqs.update(found)
    kind = _kind(words, near, embedder is not None and vector is not None)
    found = nodes.fetch(unit, sorted(seqs))
    talk = _is_talk(found.values())
    if talk:
        around = _neighbours(seqs, words, near, hidden)
        found |= nodes.fetch(unit, sorted(around - found.keys()))
    if embedder is not None and vector is not None:
        rest = sorted(found.keys() - near.keys())
        near |= unit.vectors.cosines(embedder.name, vector, rest)
    return Gathered(
        kind,
        question,
        _pool(found, words, near),
        talk,
        there,
        _rarities(wanted, known),
        known.having,
        known.top,
        _nearness(embedder, "ordinary", vector),
        _nearness(embedder, "chatter", vector),
        getattr(embedder, "words", None),
    )


def _nearness(embedder: Embedder | None, to: str, vector: Floats | None) -> float:
    """How near a question is to a kind of sentences, where the embedder can say it."""
    nearness = getattr(embedder, to, None)
    return nearness(vector) if nearness is not None and vector is not None else 0.0


def _meant(there: people.KnownPeople, query: str, asker: str) -> frozenset[str]:
    """Who is asked about: those who are named, and the asker where others speak here, too."""
    named = people.names_of(there.names).named(query)
    named -= {name.casefold() for name in there.own}
    if asker and people.speaks_of_self(query):
        named |= {asker.casefold()}
    return named


def _on_days(
    unit: Unit, asked_for: Sequence[calendar.Range], words: Floats, hidden: set[int]
) -> set[int]:
    """Memories of the days that are asked for, the newest if there are many."""
    days = [
        first + timedelta(step)
        for first, last in asked_for
        for step in range((last - first).days + 1)
        if (last - first).days < MOST_DAYS
    ]
    if not days:
        return set()
    found = postings.having_any(unit, day_terms(days))
    there = [int(seq) for seq in found if seq not in hidden and seq < len(words)]
    return set(there[-BY_DAYS:])


def is_question(text: str) -> bool:
    return bool(_IS_QUESTION.search(text))


def _allowed(unit: Unit, words: Floats, query: str, mode: Mode, hidden: set[int]) -> Floats:
    """The scores of those who are known and have all words where all are asked for."""
    if mode == "and":
        every = [term for word in content(query) for term in word]
        kept = np.zeros(len(words), bool)
        kept[postings.having_all(unit, every)] = True
        words = np.where(kept, words, np.float32(0.0))
    if hidden:
        known = [seq for seq in hidden if seq < len(words)]
        words[known] = 0.0
    return words


def _vector(unit: Unit, embedder: Embedder | None, text: str, top: int) -> Floats | None:
    """The question's vector; None where only words can be compared."""
    if embedder is None:
        return None
    there = unit.vectors.counts().get(embedder.name, 0)
    if there == 0 or there < _COMPLETE * top:
        return None
    make = getattr(embedder, "ask", embedder.embed) if is_question(text) else embedder.embed
    try:
        vector = make([text])[0]
    except ModelError as error:
        _log.warning("memories are searched by keywords: %s", error)
        return None
    return vector if vector.any() else None


def _best(words: Floats, count: int) -> list[int]:
    there = np.flatnonzero(words)
    if len(there) > count:
        there = there[np.argpartition(-words[there], count)[:count]]
    return [int(seq) for seq in there]


def _neighbours(
    seqs: set[int], words: Floats, near: dict[int, float], hidden: set[int]
) -> set[int]:
    """Those who stand around the best: a remark is understood by what was said around it."""
    by_words = sorted(seqs, key=lambda seq: -words[seq])[:WITH_NEIGHBOURS]
    by_meaning = sorted(near, key=lambda seq: -near[seq])[:WITH_NEIGHBOURS]
    around = {seq + step for seq in (*by_words, *by_meaning) for step in _STEPS}
    return {seq for seq in around if 0 < seq < len(words)} - hidden


def _kind(words: Floats, near: dict[int, float], by_meaning: bool) -> Kind:
    if not by_meaning or not near:
        return "keyword"
    return "hybrid" if words.any() else "vector"


def _is_talk(found: Collection[Node]) -> bool:
    """Whether most of these were said in conversations between people.

    What came through two tokens is two conversations, whatever their clients call them.
    """
    speakers: dict[tuple[str, str], set[str]] = {}
    for node in found:
        if node.source.conversation and node.source.speaker:
            where = node.source.conversation, node.source.token
            speakers.setdefault(where, set()).add(node.source.speaker)
    between = sum(
        len(speakers.get((node.source.conversation, node.source.token), ())) > 1 for node in found
    )
    return between > len(found) / 2


def _pool(found: Mapping[int, Node], words: Floats, near: dict[int, float]) -> Pool:
    ordered = sorted(found)
    return Pool(
        nodes=tuple(found[seq] for seq in ordered),
        words=words[ordered].astype(np.float32),
        meaning=np.array([near.get(seq, 0.0) for seq in ordered], np.float32),
        best_words=float(words.max(initial=0.0)),
    )


def _rarities(wanted: dict[str, float], known: postings.WordMatches) -> dict[str, float]:
    having, top = known.having, known.top
    return {
        word: weight * _rarity(top, len(having.get(word, ()))) for word, weight in wanted.items()
    }


def _rarity(top: int, there: int) -> float:
    """As if there were a thousand memories more: among a few, every word is in most of them."""
    return math.log(1 + (top + _ORDINARY - there + 0.5) / (there + 0.5))


WAYS = msgspec.json.decode(
    Path(__file__).with_name("weights.json").read_bytes(), type=dict[str, SignalWeights]
)
DIALOGUE = WAYS["dialogue"]
NOTES = WAYS["notes"]
OTHER_VECTORS = WAYS["other_vectors"]
"""Where the embedder does not know what words mean, which the gate for notes asks it."""

WORDS_ONLY = WAYS["words_only"]
"""Where there are no vectors, most of what was asked for has to be there."""

ABOUT_PERSON = WAYS["about_person"]
"""For "Who is Jonas?", which asks for nothing but what is about him."""

ABOUT_SELF = WAYS["about_self"]
"""For "What do you know about me?", to which whatever is known is an answer."""


_WORD = re.compile(r"\w+")


def without_repetition(nodes: Sequence[Node]) -> list[int]:
    """The places of those that say something new, in the order they came; of two, the newest."""
    kept: dict[tuple[object, ...], int] = {}
    words = [folded(node.scene.action) for node in nodes]
    for at, node in enumerate(nodes):
        said = _people(node), " ".join(_WORD.findall(words[at])) or node.scene.action
        earlier = kept.setdefault(said, at)
        if node.created > nodes[earlier].created:
            kept[said] = at
    return list(kept.values())


def _people(node: Node) -> frozenset[str]:
    if node.source.speaker:
        return frozenset((node.source.speaker.casefold(),))
    return frozenset(actor.casefold() for actor in node.scene.actors)


_WORDS_ABOUT = (
    "tell know say everything anything remember heard wer bin "
    "erzähl erzähle weißt weisst weiß über alles "
    "sabes dime cuéntame sobre todo sais dis raconte sur tout sai dimmi raccontami su tutto "
    "sabe conta tudo weet vertel over знаешь расскажи biliyorsun anlat"
)
_ABOUT = frozenset(terms(_WORDS_ABOUT))
"""Words of questions that ask for whatever is known about somebody."""

_SPARE = 2
"""So many times the hits that are wanted are looked at, as some say the same."""

_NAMED = 3
"""How many memories are told for a rare word that they have."""


class Hit(msgspec.Struct, frozen=True):
    """A memory that was found. `score` orders the hits of a search; if asked, `signals` say why."""

    node: Node
    score: float
    signals: dict[str, float]


class SearchResult(msgspec.Struct, frozen=True):
    """What a search found; `confidence`, from 0 to 1, that an answer is among it.

    Of a search that explains nothing it is only as exact as `relevant` needs.
    """

    kind: Kind
    hits: tuple[Hit, ...]
    people: people.KnownPeople
    confidence: float = 0.0
    relevant: bool = False
    """Whether anything of it is worth telling."""

    far_behind: float = 0.0
    """By how much a hit may score less than the best and still be told."""

    rare: frozenset[int] = frozenset()
    """The numbers of those that have a word that was asked for and that few have."""


def search(
    unit: Unit,
    query: str,
    *,
    embedder: Embedder | None,
    limit: int,
    now: float,
    explain: bool = False,
    **options: Unpack[SearchOptions],
) -> SearchResult:
    """The memories that fit a query best, the best first; what is not known is not among them."""
    gathered = gather(unit, query, embedder, now, **options)
    if not gathered.pool.nodes:
        return SearchResult(gathered.kind, (), gathered.people)
    way = way_for(gathered)
    rows = matrix(gathered.question, gathered.pool, SIGNALS if explain else (*way.weights, *GATED))
    scores = fused(rows, way)
    if gathered.kind == "keyword":
        scores[gathered.pool.words <= 0] = -np.inf
    of_days = of_asked_days(gathered, rows)
    if of_days.any():
        scores[~of_days] = -np.inf
    best = np.argsort(-scores, kind="stable")[: limit * _SPARE]
    order = [int(at) for at in best if scores[at] > -np.inf]
    kept = [order[place] for place in without_repetition([gathered.pool.nodes[at] for at in order])]
    rare = rare_seqs(gathered)
    hits = tuple(
        Hit(
            gathered.pool.nodes[at],
            round(float(scores[at]), 4),
            _signals(rows[at]) if explain else {},
        )
        for at in _with_rare(kept, [node.seq for node in gathered.pool.nodes], rare, limit)
    )
    enough = 1.0 if explain else way.threshold
    sure = confidence(gathered, rows, scores, way, speaker_weights(), enough=enough)
    relevant = sure >= way.threshold
    return SearchResult(gathered.kind, hits, gathered.people, sure, relevant, way.far_behind, rare)


def _with_rare(
    kept: Sequence[int], seqs: Sequence[int], rare: Collection[int], most: int
) -> list[int]:
    """The best so many, among them the best few of those that have a rare word."""
    best = kept[:most]
    named = [at for at in kept if seqs[at] in rare][:_NAMED]
    others = [at for at in named if at not in best][: most - 1]
    return [*best[: most - len(others)], *others]


def way_for(gathered: Gathered) -> SignalWeights:
    """How these are weighed: as a conversation between people, or as what people told."""
    if gathered.talk:
        return DIALOGUE
    if _asks_for_all(gathered.question):
        return ABOUT_PERSON if gathered.question.named else ABOUT_SELF
    if gathered.kind == "keyword":
        return WORDS_ONLY
    return NOTES if gathered.word_vectors is not None else OTHER_VECTORS


def _asks_for_all(question: RecallQuestion) -> bool:
    """Whether a question says nothing but whom it is about: somebody, or the one who asks."""
    words = _matter(question.text)
    if question.named and words:
        return words <= set(terms(" ".join(question.named)))
    return asks_about_self(question.text)


def asks_about_self(text: str) -> bool:
    """Whether a question says nothing but that it is about the one who asks."""
    return people.speaks_of_self(text) and all(map(people.speaks_of_self, _matter(text)))


def _matter(text: str) -> set[str]:
    return {term for word in content(text) for term in word} - _ABOUT


def speaker_weights() -> tuple[float, float]:
    """What a score owes to who is speaking."""
    return DIALOGUE.weights["speaker"], DIALOGUE.weights["other_speaker"]


def fused(matrix: Floats, way: SignalWeights) -> Floats:
    """One score for each candidate."""
    return matrix @ np.array([way.weights.get(name, 0.0) for name in SIGNALS], np.float32)


def _signals(row: Floats) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in zip(SIGNALS, row, strict=True) if value}
