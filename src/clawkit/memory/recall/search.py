"""Search: gathers candidates, scores them, and decides whether the best is worth telling.

Candidates are the best by words, the nearest by meaning, and in talk between people what was said
around them. A score is the weighted sum of a candidate's signals.

Ranking always has a first; whether it is worth telling is decided by a gate, a logistic over a few
features. What speaks for it counts in absolute terms: how much of what was asked for is there, by
its words and by what they mean, and whether it is about the one who was named. How near the best is
says little alone: a question about everyday things is near to whatever people tell, so its distance
from the centroid of such things is a feature, too, and means the same among five memories and
thousands.

The weights for talk between people (`dialogue` in `weights.json`) are fitted on made conversations,
in English and Japanese, by `python -m benchmarks.recall.fitting` (decision 024), those for what
people told an assistant on made lives (benchmarks/lives). Nothing was fitted on a public set: those
measure. Each has a gate of its own: one cannot serve both.
"""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import msgspec
import numpy as np

from clawkit.errors import ModelError
from clawkit.memory import people
from clawkit.memory.embed.embedder import BuiltinEmbedder
from clawkit.memory.recall.index_text import ASKING, day_terms
from clawkit.memory.recall.signals import (
    SIGNALS,
    Candidates,
    RecallQuestion,
    matrix,
    parse_question,
)
from clawkit.memory.records import Node
from clawkit.memory.store import nodes
from clawkit.text.cues import is_question
from clawkit.text.tokenizer import folded_words, telling_words

if TYPE_CHECKING:
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.store.arrays import Bools, Floats, Seqs
    from clawkit.store.database import Unit

Mode = Literal["or", "and"]
Kind = Literal["vector", "keyword", "hybrid"]

_SPARE = 2
"""So many times the hits that are wanted are looked at, as some say the same."""

_WITH_RARE_WORD = 3
"""How many memories are told for a rare word that they have."""

_log = logging.getLogger("clawkit.memory")


class Hit(msgspec.Struct, frozen=True):
    """A memory that was found. `score` orders the hits of a search; if asked, `signals` say why."""

    node: Node
    score: float
    signals: dict[str, float]
    earlier: bool = False
    """Whether what was told beside it says that the matter has changed since."""


class SearchResult(msgspec.Struct, frozen=True):
    """What a search found; `confidence`, from 0 to 1, that an answer is among it.

    Of a search that explains nothing it is only as exact as `relevant` needs.
    """

    kind: Kind
    hits: tuple[Hit, ...]
    question: RecallQuestion
    confidence: float = 0.0
    relevant: bool = False
    """Whether anything of it is worth telling."""

    far_behind: float = 0.0
    """By how much a hit on the matter of the best may score less and still be told."""

    not_far_behind: float = 0.0
    """The same for any hit: less among a few memories, where nothing else fits better."""

    only_asking: frozenset[int] = frozenset()
    """The numbers of those that only ask something, and tell nothing."""

    rare: frozenset[int] = frozenset()
    """The numbers of those that have a word that was asked for and that few have."""


class SearchOptions(TypedDict, total=False):
    """How memories are searched; `asker` says "I" in the question.

    With `only_telling`, what only asks weighs nothing, so that asking changes no later answer.
    Where people talk to each other it stays: a question is part of what its answer tells.
    """

    mode: Mode
    as_of: float | None
    exclude: Collection[int]
    asker: str
    only_telling: bool


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
    candidates = gathered.candidates
    if not candidates.nodes:
        return SearchResult(gathered.kind, (), gathered.question)
    profile = profile_for(gathered)
    rows = matrix(gathered.question, candidates, SIGNALS if explain else profile.signals)
    scores = weighted(rows, profile)
    if gathered.kind == "keyword":
        scores[candidates.words <= 0] = -np.inf
    on_days = _on_asked_days(gathered, rows)
    if on_days.any():
        scores[~on_days] = -np.inf
    best = np.argsort(-scores, kind="stable")[: limit * _SPARE]
    order: list[int] = best[scores[best] > -np.inf].tolist()
    kept = [order[place] for place in without_repetition([candidates.nodes[at] for at in order])]
    rare = frozenset(int(seq) for seqs in _rare(gathered).values() for seq in seqs)
    hits = tuple(
        Hit(
            candidates.nodes[at], round(float(scores[at]), 4), _signals(rows[at]) if explain else {}
        )
        for at in _with_rare(kept, [node.seq for node in candidates.nodes], rare, limit)
    )
    enough = 1.0 if explain else profile.threshold
    sure = confidence(gathered, rows, scores, profile, enough=enough)
    return SearchResult(
        gathered.kind,
        hits,
        gathered.question,
        sure,
        sure >= profile.threshold,
        profile.far_behind,
        profile.far_behind * (1 - _CLOSER * few(gathered.memories)),
        frozenset(candidates.nodes[at].seq for at in np.flatnonzero(rows[:, _QUESTION])),
        rare,
    )


def _with_rare(
    kept: Sequence[int], seqs: Sequence[int], rare: Collection[int], most: int
) -> list[int]:
    """The best so many, among them the best few of those that have a rare word."""
    best = kept[:most]
    having = [at for at in kept if seqs[at] in rare][:_WITH_RARE_WORD]
    others = [at for at in having if at not in best][: most - 1]
    return [*best[: most - len(others)], *others]


def without_repetition(nodes: Sequence[Node]) -> list[int]:
    """The places of those that say something new, in the order they came; of two, the newest."""
    kept: dict[tuple[object, ...], int] = {}
    words = [" ".join(folded_words(node.scene.action)) or node.scene.action for node in nodes]
    times = Counter(words)
    for at, node in enumerate(nodes):
        said = _people(node) if times[words[at]] > 1 else None, words[at]
        earlier = kept.setdefault(said, at)
        if node.created > nodes[earlier].created:
            kept[said] = at
    return list(kept.values())


def _people(node: Node) -> frozenset[str]:
    if node.source.speaker:
        return frozenset((node.source.speaker.casefold(),))
    return frozenset(actor.casefold() for actor in node.scene.actors)


def _signals(row: Floats) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in zip(SIGNALS, row, strict=True) if value}


_BY_WORDS = 30
_BY_MEANING = 30
_BY_DAYS = 60
_MOST_DAYS = 62
_WITH_NEIGHBOURS = 8
_STEPS = (-2, -1, 1, 2)
_COMPLETE = 0.95
"""A few vectors that are still to come do not take meaning out of a search."""

_ORDINARY = 1000


class Gathered(msgspec.Struct, frozen=True):
    """A question, its candidates, and what is known of all memories."""

    question: RecallQuestion
    candidates: Candidates
    kind: Kind
    is_dialogue: bool
    """Whether most of the candidates were said in conversations between people."""

    having: dict[str, Seqs]
    """Who has which of the words that were asked for."""

    memories: int
    """How many there are altogether."""

    embedder: BuiltinEmbedder | None = None
    """What knows questions and words, where the embedder does."""

    vector: Floats | None = None
    """The question's; None where only words can be compared."""


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
    only_telling: bool = False,
) -> Gathered:
    """Ask both indexes, and look up everybody who may be the answer."""
    question = parse_question(query, now, asker, people.known(unit))
    hidden = {*map(int, nodes.hidden(unit, as_of, past=question.is_about_past)), *exclude}
    top = nodes.top(unit)
    vector = _vector(unit, embedder, question.text_to_embed, top)
    look_up = partial(_look_up, unit, question, embedder, vector, mode, hidden, top)
    found = look_up(ASKING if only_telling else "")
    return look_up("") if found.is_dialogue and found.memories < top else found


def _look_up(
    unit: Unit,
    question: RecallQuestion,
    embedder: Embedder | None,
    vector: Floats | None,
    mode: Mode,
    known_no_more: Collection[int],
    top: int,
    without: str,
) -> Gathered:
    """The same, as if those that have the term `without` were not there."""
    matches = nodes.by_words(unit, question.terms, without)
    hidden = {*known_no_more, *matches.absent}
    words = _allowed(unit, matches.scores, question, mode, hidden)
    seqs = set(_best(words, _BY_WORDS)) | _on_days(unit, question, len(words), hidden)
    near: dict[int, float] = {}
    if embedder is not None and vector is not None:
        nearest, cosines = unit.vectors.nearest(embedder.name, vector, _BY_MEANING, hidden)
        near = dict(zip(nearest, cosines, strict=True))
        seqs.update(nearest)
    kind: Kind = ("hybrid" if words.any() else "vector") if near else "keyword"
    found = nodes.fetch(unit, sorted(seqs))
    is_dialogue = _is_dialogue(found.values())
    if is_dialogue:
        around = _neighbours(seqs, words, near, hidden)
        found |= nodes.fetch(unit, sorted(around - found.keys()))
    if embedder is not None and vector is not None:
        rest = sorted(found.keys() - near.keys())
        if rest:
            near |= unit.vectors.cosines(embedder.name, vector, rest)
    return Gathered(
        question,
        _candidates(found, words, near),
        kind,
        is_dialogue,
        matches.having,
        top - len(matches.absent),
        embedder if isinstance(embedder, BuiltinEmbedder) else None,
        vector,
    )


def _allowed(
    unit: Unit, words: Floats, question: RecallQuestion, mode: Mode, hidden: set[int]
) -> Floats:
    """The scores of those who are known and have all words where all are asked for."""
    if mode == "and":
        kept = np.zeros(len(words), bool)
        kept[nodes.having_all(unit, list(question.content))] = True
        words = np.where(kept, words, np.float32(0.0))
    if hidden:
        words[[seq for seq in hidden if seq < len(words)]] = 0.0
    return words


def _best(words: Floats, count: int) -> list[int]:
    there = np.flatnonzero(words)
    if len(there) > count:
        there = there[np.argpartition(-words[there], count)[:count]]
    return there.tolist()


def _on_days(unit: Unit, question: RecallQuestion, top: int, hidden: set[int]) -> set[int]:
    """Memories of the days that are asked for, the newest if there are many."""
    days = [
        first + timedelta(step)
        for first, last in question.days
        for step in range((last - first).days + 1)
        if (last - first).days < _MOST_DAYS
    ]
    if not days:
        return set()
    found = nodes.having_any(unit, day_terms(days))
    there = [int(seq) for seq in found if seq not in hidden and seq < top]
    return set(there[-_BY_DAYS:])


def _vector(unit: Unit, embedder: Embedder | None, text: str, top: int) -> Floats | None:
    """The question's vector; None where only words can be compared."""
    if embedder is None:
        return None
    there = unit.vectors.count(embedder.name)
    if there == 0 or there < _COMPLETE * top:
        return None
    make = embedder.embed
    if isinstance(embedder, BuiltinEmbedder) and is_question(text):
        make = embedder.ask
    try:
        vector = make([text])[0]
    except ModelError as error:
        _log.warning("memories are searched by keywords: %s", error)
        return None
    return vector if vector.any() else None


def _neighbours(
    seqs: set[int], words: Floats, near: dict[int, float], hidden: set[int]
) -> set[int]:
    """Those who stand around the best: a remark is understood by what was said around it."""
    by_words = sorted(seqs, key=lambda seq: -words[seq])[:_WITH_NEIGHBOURS]
    by_meaning = sorted(near, key=lambda seq: -near[seq])[:_WITH_NEIGHBOURS]
    around = {seq + step for seq in (*by_words, *by_meaning) for step in _STEPS}
    return {seq for seq in around if 0 < seq < len(words)} - hidden


def _is_dialogue(found: Collection[Node]) -> bool:
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


def _candidates(found: Mapping[int, Node], words: Floats, near: Mapping[int, float]) -> Candidates:
    ordered = sorted(found)
    return Candidates(
        nodes=tuple(found[seq] for seq in ordered),
        words=words[ordered].astype(np.float32),
        meaning=np.array([near.get(seq, 0.0) for seq in ordered], np.float32),
        best_words=float(words.max(initial=0.0)),
    )


_SPEAKERS = ("speaker", "other_speaker")
_GATED = (*_SPEAKERS, "question", "time", "mentioned")
"""The signals that the gate looks at itself."""

_GATED_READ = ("question", "mentioned")
"""The same for a gate that reads the best memories word by word."""

_SPEAKER, _OTHER, _QUESTION, _TIME, _MENTIONED = map(SIGNALS.index, _GATED)


class WeightsProfile(msgspec.Struct, frozen=True):
    """Weights of signals, and of the features by which the gate opens."""

    weights: dict[str, float]
    gate: dict[str, float]
    threshold: float
    far_behind: float
    """Scores are logarithms of chances: who is so far behind has a small one."""

    @property
    def reads_words(self) -> bool:
        """Whether its gate reads the best memories word by word."""
        return "answered" in self.gate

    @property
    def signals(self) -> set[str]:
        """Those that it needs."""
        return {*self.weights, *(_GATED_READ if self.reads_words else _GATED)}


PROFILES = msgspec.json.decode(
    Path(__file__).with_name("weights.json").read_bytes(), type=dict[str, WeightsProfile]
)
DIALOGUE = PROFILES["dialogue"]
NOTES = PROFILES["notes"]
OTHER_VECTORS = PROFILES["other_vectors"]
"""Where the embedder does not know what words mean, which the gate for notes asks it."""

WORDS_ONLY = PROFILES["words_only"]
"""Where there are no vectors, most of what was asked for has to be there."""

ABOUT_PERSON = PROFILES["about_person"]
"""For "Who is Jonas?", which asks for nothing but what is about him."""

ABOUT_SELF = PROFILES["about_self"]
"""For "What do you know about me?", to which whatever is known is an answer."""

_BY_SPEAKER = tuple(DIALOGUE.weights[name] for name in _SPEAKERS)
"""What a score owes to who is speaking."""


def profile_for(gathered: Gathered) -> WeightsProfile:
    """How these are weighed: as a conversation between people, or as what people told."""
    if gathered.is_dialogue:
        return DIALOGUE
    if gathered.question.asks_for_everything:
        return ABOUT_PERSON if gathered.question.named else ABOUT_SELF
    if gathered.kind == "keyword":
        return WORDS_ONLY
    return NOTES if gathered.embedder is not None else OTHER_VECTORS


def weighted(matrix: Floats, profile: WeightsProfile) -> Floats:
    """One score for each candidate."""
    return matrix @ np.array([profile.weights.get(name, 0.0) for name in SIGNALS], np.float32)


_LOOKED_AT = 3
_MANY, _FEWEST = 300, 5
"""How many memories the lives have that gates are fitted on, and their smallest samples."""

_WEIGHED = 60
_TEMPERATURE = 1.5
_DOUBT = 2.0
"""How many times a remark has to say "I" before it is rather about its speaker."""

_LONG = 9
_EAST_ASIAN = 3
"""How many letters a character of a script without spaces counts for."""

_UNKNOWN = 0.6
"""How much is taken to be there of a question that says nothing, as "What did I do then?"."""

_CHATTER = 0.22
"""No question about the made lives comes so near to it; a bare "spare key" comes up to 0.17."""

_FEW, _RARE_OF, _RARE_SHARE = 3, 4, 0.01
"""How many memories have a word that is rare: a few, one of so many, or a share of many."""

_CLOSER = 0.1
"""By which share less one may be behind the best, the fewer there are (`few`)."""

_TELLS = 2
"""How many words more than were asked for a memory has that is no small talk itself."""

_PERSON = re.compile(r"\b(?:(i|my|me|mine|myself|we|our|us)|you|your|yours|yourself)\b")


def confidence(
    gathered: Gathered,
    matrix: Floats,
    scores: Floats,
    profile: WeightsProfile,
    *,
    enough: float = 1.0,
) -> float:
    """How sure it is, from 0 to 1, that an answer is among the best; whoever only asks whether it
    is `enough` gets less than that only if it is less.

    What words mean can only add to what they say, and is the dearest to ask for.
    """
    if gathered.question.is_sum:
        return 0.0
    if _has_all(gathered, matrix) or _on_asked_days(gathered, matrix).any():
        return 1.0
    if gathered.question.asks_for_one_day or _is_chatter(gathered):
        return 0.0
    if not profile.reads_words:
        return _logistic(profile, features(gathered, matrix, scores))
    read = ReadMemories(gathered, matrix, scores)
    least = _logistic(profile, read.features())
    if least >= enough or gathered.embedder is None:
        return least
    return _logistic(profile, read.features(gathered.embedder))


def _on_asked_days(gathered: Gathered, matrix: Floats) -> Bools:
    """Which candidates are of the days that are asked for, where nothing else is; no questions."""
    only_days = gathered.question.asks_for_days
    return (matrix[:, _TIME] >= 1) & (matrix[:, _QUESTION] <= 0) & only_days


def _rare(gathered: Gathered) -> dict[str, Seqs]:
    """The rare words that were asked for, no names among them, and who has each."""
    few_of_all = min(_FEW, gathered.memories // _RARE_OF)
    most = max(few_of_all, _RARE_SHARE * gathered.memories)
    stems = set(gathered.question.telling_words.values())
    found = {stem: gathered.having.get(stem) for stem in stems}
    return {stem: seqs for stem, seqs in found.items() if seqs is not None and len(seqs) <= most}


def _has_all(gathered: Gathered, matrix: Floats) -> bool:
    """Whether nothing but rare words is asked for, and a memory that is no question has them.

    Of a person something is asked: "Anna's birthday" is not answered by that of another.
    """
    question = gathered.question
    rare, wanted = _rare(gathered), set(question.telling_words.values())
    if question.masked != question.text or not wanted or rare.keys() != wanted:
        return False
    told = (gathered.candidates.nodes[int(at)] for at in np.flatnonzero(matrix[:, _QUESTION] <= 0))
    return any(
        all(node.seq in seqs for seqs in rare.values())
        and len(telling_words(node.scene.action)) >= len(wanted) + _TELLS
        for node in told
    )


def _is_chatter(gathered: Gathered) -> bool:
    """Whether it is thanks, a greeting or a request to any assistant, and about nobody here."""
    question, embedder, vector = gathered.question, gathered.embedder, gathered.vector
    if question.is_about_somebody:
        return False
    near = 0.0 if embedder is None or vector is None else embedder.chatter(vector)
    return near > _CHATTER or not question.telling_words


def _logistic(profile: WeightsProfile, found: dict[str, float]) -> float:
    total = profile.gate.get("bias", 0.0)
    total += sum(profile.gate.get(name, 0.0) * value for name, value in found.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def few(memories: int) -> float:
    """How much fewer memories there are than gates are fitted on, as a logarithm.

    The nearest of many is near by chance; the nearest of a few is so for a reason.
    """
    return max(0.0, math.log(_MANY / max(_FEWEST, memories)))


def features(
    gathered: Gathered,
    matrix: Floats,
    scores: Floats,
    by_speaker: Sequence[float] = _BY_SPEAKER,
) -> dict[str, float]:
    """What tells an answer from the best of what is no answer."""
    told = _told(matrix, scores)
    best = told[:_LOOKED_AT]
    seqs = [gathered.candidates.nodes[int(at)].seq for at in best]
    rarities = _rarities(gathered)
    covered = _coverage(gathered, rarities, seqs)
    near = _nearest(gathered, told)
    alike = {
        **near,
        "most_covered": max((_coverage(gathered, rarities, [seq]) for seq in seqs), default=0.0),
        "dated": float(matrix[best, _TIME].max(initial=0.0)),
        "mentioned": float(matrix[best, _MENTIONED].max(initial=0.0)),
    }
    if gathered.question.named:
        owed: Floats = matrix[:, [_SPEAKER, _OTHER]] @ np.array(by_speaker, dtype=np.float32)
        about = _about(gathered, matrix, scores - owed)
        named = float(_names_others(gathered.question))
        return {**alike, "named": named, "about": about, "covered": covered}
    unnamed = {"unnamed_covered": covered, "unnamed_meaning": near["nearest"]}
    return {**alike, **unnamed, "covered": covered}


def _nearest(gathered: Gathered, told: Seqs) -> dict[str, float]:
    """How near the best comes in meaning, and among how many."""
    nearest = float(gathered.candidates.meaning[told].max(initial=0.0))
    return {"nearest": nearest, "few": few(gathered.memories)}


def _told(matrix: Floats, scores: Floats) -> Seqs:
    """Places of candidates, the best first; who asked the same before is no answer."""
    told = np.flatnonzero(matrix[:, _QUESTION] <= 0)
    return told[np.argsort(-scores[told], kind="stable")]


def _names_others(question: RecallQuestion) -> bool:
    """Whether somebody is asked about who is not the asker."""
    return bool(question.named - {question.asker})


def _about(gathered: Gathered, matrix: Floats, content: Floats) -> float:
    """The odds, as a logarithm, that what fits is about the one who was named.

    A remark is about its speaker where it says "I", and about the other where it says "you".
    """
    best = np.argsort(-content, kind="stable")[:_WEIGHED]
    own = np.array([_of_oneself(gathered.candidates.nodes[int(at)].scene.action) for at in best])
    mine = np.where(matrix[best, _SPEAKER] > 0, own, 1 - own)
    mass = np.exp((content[best] - content[best[0]]) / _TEMPERATURE)
    return math.log(float(mass @ mine) + 1e-3) - math.log(float(mass @ (1 - mine)) + 1e-3)


def _of_oneself(text: str) -> float:
    """How far a remark is about its speaker, from 0 to 1."""
    said = _PERSON.findall(text.lower())
    second = said.count("")
    first = len(said) - second + _DOUBT
    return first / (first + second)


def _rarities(gathered: Gathered) -> dict[str, float]:
    """How much each word that was asked for says, whether or not it is known.

    As if there were a thousand memories more: among a few, every word is in most of them.
    """
    every = gathered.memories + _ORDINARY
    return {
        word: weight * math.log(1 + (every - there + 0.5) / (there + 0.5))
        for word, weight in gathered.question.terms.items()
        for there in (len(gathered.having.get(word, ())),)
    }


def _coverage(gathered: Gathered, rarities: Mapping[str, float], best: Sequence[int]) -> float:
    """The share of what was asked for, by how much each word says, that stands in these."""
    total = sum(rarities.values()) * len(best)
    if total <= 0:
        return 0.0
    there = (
        rarities[word]
        for word, seqs in gathered.having.items()
        for seq in best
        if (seqs == seq).any()
    )
    return sum(there) / total


class ReadMemories:
    """The best memories, read word by word: a long word that nothing comes near to is missing."""

    def __init__(self, gathered: Gathered, matrix: Floats, scores: Floats) -> None:
        told = _told(matrix, scores)
        best = told[:_LOOKED_AT]
        question, embedder, vector = gathered.question, gathered.embedder, gathered.vector
        near = 0.0 if embedder is None or vector is None else embedder.ordinary(vector)
        self._wanted = question.telling_words
        self._texts = [
            telling_words(gathered.candidates.nodes[int(at)].scene.action) for at in best
        ]
        self._about = matrix[best, _MENTIONED]
        self._named = _names_others(question)
        self._nearest = _nearest(gathered, told)
        self._read = {
            **self._nearest,
            "ordinary": near,
            "best": float(scores[best].max(initial=-np.inf)),
            "asked_words": float(len(self._wanted)),
            "about_named": float(self._about[:1].sum()) * self._named,
        }

    def features(self, embedder: BuiltinEmbedder | None = None) -> dict[str, float]:
        """What they say, by what words mean where an embedder knows it."""
        if not self._texts:
            return self._nearest
        if not self._wanted:
            return {**self._read, "answered": _UNKNOWN}
        stems = [set(text.values()) for text in self._texts]
        same = np.array([[stem in text for stem in self._wanted.values()] for text in stems], "f4")
        near = same if embedder is None else np.maximum(self._nearness(embedder), same)
        weights = np.array([_weight(word) for word in self._wanted], np.float32)
        share = weights / weights.sum()
        spoken_of = self._about > 0 if self._named else np.ones(len(self._about), bool)
        return {
            **self._read,
            "answered": float(((near @ share) * spoken_of).max()),
            "missing": float((weights * (1 - near.max(axis=0))).max()),
            "same_words": float((same @ share).max()),
        }

    def _nearness(self, embedder: BuiltinEmbedder) -> Floats:
        """How near each memory comes to each word that is asked for."""
        every = list(dict.fromkeys((*self._wanted, *chain(*self._texts))))
        places = {word: at for at, word in enumerate(every)}
        vectors = embedder.words(every)
        alike = vectors[: len(self._wanted)] @ vectors.T
        columns = [[places[word] for word in text] for text in self._texts]
        return np.array([alike[:, at].max(axis=1, initial=0.0) for at in columns], np.float32)


def _weight(word: str) -> float:
    """Longer words say more, in every language."""
    return min(_LONG, len(word) * (1 if word.isascii() or word[0] < "\u0e00" else _EAST_ASIAN))
