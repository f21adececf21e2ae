"""Who is looked at: the best by words, the nearest by meaning, and their neighbours."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from clawkit.memory import people
from clawkit.memory.recall.index_text import day_terms, names_of
from clawkit.memory.recall.signals import Pool, RecallQuestion
from clawkit.memory.store import marks, nodes, postings
from clawkit.text import calendar
from clawkit.text.tokenizer import asked, content

if TYPE_CHECKING:
    from clawkit.memory.arrays import Floats, Seqs
    from clawkit.memory.embed.protocol import Embedder
    from clawkit.memory.store.database import Unit

Kind = Literal["vector", "keyword", "hybrid"]
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

_IS_QUESTION = re.compile(
    r"[?\uff1f]|^\s*(?:what|which|who|whom|whose|when|where|why|how|did|does|do|is|are|was|were|can|"
    r"could|would|should|has|have|had)\b|(?:ですか|ますか|の|かな|っけ|だった)[。\s]*$",
    re.IGNORECASE,
)


_PAST = re.compile(
    r"\b(?:used to|before|previous(?:ly)?|earlier|former(?:ly)?|old|was|were|did|had|originally"
    r"|früher\w*|vorher\w*|zuvor|war|waren|hatten?|damals|ehemalig\w*|alte[rnsm]?"
    r"|avant|était|étaient|ancien\w*|antes|era|eran|anterior|tenía|prima|aveva|vecchi[oa]"
    r"|tinha|vroeger|vorige|oude|раньше|был[аои]?|eskiden|önce)\b|以前|前は|昔|之前|전에",
    re.IGNORECASE,
)
"""Asks about what was so once."""


class Gathered(msgspec.Struct, frozen=True):
    """A question and its candidates."""

    kind: Kind
    question: RecallQuestion
    pool: Pool
    rarities: dict[str, float]
    """How much each word that was asked for says, whether or not it is known."""

    having: dict[str, Seqs]
    """Who has which of these words."""


def gather(
    unit: Unit,
    query: str,
    *,
    embedder: Embedder | None,
    mode: Mode = "or",
    as_of: float | None = None,
    exclude: Collection[int] = (),
    asker: str = "",
    now: float,
) -> Gathered:
    """Ask both indexes, and look up everybody who may be the answer; `asker` says "I"."""
    asked_for = tuple(calendar.ranges(query, now))
    question = RecallQuestion(query, _meant(unit, query, asker), asked_for, now, asker.casefold())
    voices = names_of(people.voices(unit))
    past = _PAST.search(query) is not None
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
    seqs |= _neighbours(seqs, words, near, hidden)
    kind = _kind(words, near, embedder is not None and vector is not None)
    if embedder is not None and vector is not None:
        rest = sorted(seqs - near.keys())
        near |= unit.vectors.cosines(embedder.name, vector, rest)
    pool = _pool(unit, seqs, words, near)
    return Gathered(kind, question, pool, _rarities(wanted, known), known.having)


def _meant(unit: Unit, query: str, asker: str) -> frozenset[str]:
    """Who is asked about: those who are named, and the asker where others speak here, too."""
    named = names_of(marks.names(unit)).named(query)
    named -= {name.casefold() for name in people.own_names(unit)}
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
    vector = make([text])[0]
    return vector if vector.any() else None


def _best(words: Floats, count: int) -> list[int]:
    there = np.flatnonzero(words)
    if len(there) > count:
        there = there[np.argpartition(-words[there], count)[:count]]
    return [int(seq) for seq in there]


def _neighbours(
    seqs: set[int], words: Floats, near: dict[int, float], hidden: set[int]
) -> set[int]:
    """Those who stand around the best; whether in the same conversation is seen later."""
    by_words = sorted(seqs, key=lambda seq: -words[seq])[:WITH_NEIGHBOURS]
    by_meaning = sorted(near, key=lambda seq: -near[seq])[:WITH_NEIGHBOURS]
    around = {seq + step for seq in (*by_words, *by_meaning) for step in _STEPS}
    return {seq for seq in around if 0 < seq < len(words)} - hidden


def _kind(words: Floats, near: dict[int, float], by_meaning: bool) -> Kind:
    if not by_meaning or not near:
        return "keyword"
    return "hybrid" if words.any() else "vector"


def _pool(unit: Unit, seqs: set[int], words: Floats, near: dict[int, float]) -> Pool:
    found = nodes.fetch(unit, sorted(seqs))
    ordered = sorted(found)
    return Pool(
        nodes=tuple(found[seq] for seq in ordered),
        words=words[ordered].astype(np.float32),
        meaning=np.array([near.get(seq, 0.0) for seq in ordered], np.float32),
        best_words=float(words.max(initial=0.0)),
    )


def _rarities(wanted: dict[str, float], known: postings.WordMatches) -> dict[str, float]:
    having = known.having
    return {
        word: weight * _rarity(known.top, len(having.get(word, ())))
        for word, weight in wanted.items()
    }


def _rarity(top: int, there: int) -> float:
    """As if there were a thousand memories more: among a few, every word is in most of them."""
    return math.log(1 + (top + _ORDINARY - there + 0.5) / (there + 0.5))
