"""Decides whether the best of what was found is worth telling: a logistic over a few features.

What speaks for it counts in absolute terms: how much of what was asked for is there, by its words
and by what they mean, and whether it is about the one who was named. How near the best is says
little alone: a question about everyday things is near to whatever people tell, so its distance from
the centroid of such things is a feature, too, and means the same among five memories and thousands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from clawkit.memory.people import KnownPeople, speaks_of_self
from clawkit.memory.recall.signals import SIGNALS, Pool, RecallQuestion, is_sum
from clawkit.text import calendar
from clawkit.text.tokenizer import telling_words

if TYPE_CHECKING:
    from clawkit.store.arrays import Bools, Floats, Seqs

    WordVectors = Callable[[list[str]], Floats]

Kind = Literal["vector", "keyword", "hybrid"]

_LOOKED_AT = 3
_MANY = 300
"""How many memories the lives have that gates are fitted on."""

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

_FEW, _RARE = 3, 0.01
"""How many memories have a word that is rare: a few, or a share of many."""

_TELLS = 2
"""How many words more than were asked for a memory has that is no small talk itself."""

_HAPPENED = frozenset(
    [
        "happen",
        "happened",
        "happening",
        "going",
        "passiert",
        "passierte",
        "geschehen",
        "geschah",
        "los",
        "war",
        "gemacht",
        "gesagt",
        "erzählt",
        "told",
        "said",
        "did",
        "done",
        "pasó",
        "pasado",
        "ocurrió",
        "hice",
        "hicimos",
        "passé",
        "fait",
        "successo",
        "fatto",
        "aconteceu",
        "feito",
        "gebeurd",
        "gebeurde",
        "gedaan",
        "случилось",
        "было",
        "произошло",
        "oldu",
    ]
)
"""Words of questions that ask for whatever there was on a day."""

GATED = ("speaker", "other_speaker", "question", "time", "mentioned")
"""The signals that it looks at itself."""

_SPEAKER, _OTHER, _QUESTION, _TIME, _MENTIONED = map(SIGNALS.index, GATED)
_PERSON = re.compile(r"\b(?:(i|my|me|mine|myself|we|our|us)|you|your|yours|yourself)\b")


class Gathered(msgspec.Struct, frozen=True):
    """A question and its candidates."""

    kind: Kind
    question: RecallQuestion
    pool: Pool
    talk: bool
    """Whether most of the candidates were said in conversations between people."""

    people: KnownPeople
    rarities: dict[str, float]
    """How much each word that was asked for says, whether or not it is known."""

    having: dict[str, Seqs]
    """Who has which of these words."""

    memories: int
    """How many there are altogether."""

    ordinary: float = 0.0
    """How near the question is to whatever people tell."""

    chatter: float = 0.0
    """How near it is to what people say to any assistant."""

    word_vectors: WordVectors | None = None
    """What words mean, where the embedder can say it at once."""


class SignalWeights(msgspec.Struct, frozen=True):
    """Weights of signals, and of the features by which the gate opens."""

    weights: dict[str, float]
    gate: dict[str, float]
    threshold: float
    far_behind: float
    """Scores are logarithms of chances: who is so far behind has a small one."""


def confidence(
    gathered: Gathered,
    matrix: Floats,
    scores: Floats,
    way: SignalWeights,
    by_speaker: tuple[float, float],
    *,
    enough: float = 1.0,
) -> float:
    """How sure it is, from 0 to 1, that an answer is among the best; whoever only asks whether it
    is `enough` gets less than that only if it is less.

    What words mean can only add to what they say, and is the dearest to ask for.
    """
    if is_sum(gathered.question.text):
        return 0.0
    if _has_all(gathered, matrix) or of_asked_days(gathered, matrix).any():
        return 1.0
    if _is_chatter(gathered):
        return 0.0
    if "answered" not in way.gate:
        return _logistic(way, features(gathered, matrix, scores, by_speaker))
    found = _nearest(gathered, _told(matrix, scores))
    read = ReadMemories(gathered, matrix, scores)
    least = _logistic(way, found | read.features())
    if least >= enough:
        return least
    return _logistic(way, found | read.features(gathered.word_vectors))


def of_asked_days(gathered: Gathered, matrix: Floats) -> Bools:
    """Which candidates are of the days that are asked for, where nothing else is; no questions."""
    asked = gathered.question
    only_days = bool(asked.times) and asked.nameless in ("", asked.text) and _is_of_days(asked)
    return (matrix[:, _TIME] >= 1) & (matrix[:, _QUESTION] <= 0) & only_days


def _is_of_days(asked: RecallQuestion) -> bool:
    """Whether a question says nothing but days, as "What happened last week?"."""
    parts: list[str] = []
    end = 0
    for day in calendar.mentions(asked.text, calendar.day_of(asked.now), asking=True):
        parts.append(asked.text[end : day.start])
        end = day.end
    rest = " ".join((*parts, asked.text[end:]))
    return telling_words(rest).keys() <= _HAPPENED


def rare_seqs(gathered: Gathered) -> frozenset[int]:
    """The memories that have a word that was asked for and that few others have."""
    return frozenset(int(seq) for seqs in _rare(gathered).values() for seq in seqs)


def _rare(gathered: Gathered) -> dict[str, Seqs]:
    """The rare words that were asked for, no names among them, and who has each."""
    most = max(_FEW, _RARE * gathered.memories)
    found = {word: gathered.having.get(word) for word in _wanted(gathered.question)}
    return {word: seqs for word, seqs in found.items() if seqs is not None and len(seqs) <= most}


def _wanted(question: RecallQuestion) -> set[str]:
    return set(telling_words(question.nameless or question.text).values())


def _has_all(gathered: Gathered, matrix: Floats) -> bool:
    """Whether nothing but rare words is asked for, and a memory that is no question has them.

    Of a person something is asked: "Anna's birthday" is not answered by that of another.
    """
    rare, wanted = _rare(gathered), _wanted(gathered.question)
    about_person = gathered.question.nameless not in ("", gathered.question.text)
    if about_person or not wanted or rare.keys() != wanted:
        return False
    told = (gathered.pool.nodes[int(at)] for at in np.flatnonzero(matrix[:, _QUESTION] <= 0))
    return any(
        all(node.seq in seqs for seqs in rare.values())
        and len(telling_words(node.scene.action)) >= len(wanted) + _TELLS
        for node in told
    )


def _is_chatter(gathered: Gathered) -> bool:
    """Whether it is thanks, a greeting or a request to any assistant, and about nobody here."""
    asked = gathered.question
    about_somebody = asked.nameless != asked.text or speaks_of_self(asked.text)
    if about_somebody or asked.times:
        return False
    return gathered.chatter > _CHATTER or not telling_words(asked.text)


def _logistic(way: SignalWeights, found: dict[str, float]) -> float:
    total = way.gate.get("bias", 0.0)
    total += sum(way.gate.get(name, 0.0) * value for name, value in found.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def few(memories: int) -> float:
    """How much fewer memories there are than gates are fitted on, as a logarithm.

    The nearest of many is near by chance; the nearest of a few is so for a reason.
    """
    return max(0.0, math.log(_MANY / max(1, memories)))


def features(
    gathered: Gathered, matrix: Floats, scores: Floats, by_speaker: tuple[float, float]
) -> dict[str, float]:
    """What tells an answer from the best of what is no answer."""
    told = _told(matrix, scores)
    best = told[:_LOOKED_AT]
    nodes = [gathered.pool.nodes[int(at)].seq for at in best]
    covered = _coverage(gathered, nodes)
    near = _nearest(gathered, told)
    alike = {
        **near,
        "most_covered": max((_coverage(gathered, [node]) for node in nodes), default=0.0),
        "dated": float(matrix[best, _TIME].max(initial=0.0)),
        "mentioned": float(matrix[best, _MENTIONED].max(initial=0.0)),
    }
    if gathered.question.named:
        owed: Floats = matrix[:, [_SPEAKER, _OTHER]] @ np.array(by_speaker, dtype=np.float32)
        about = _about(gathered, matrix, scores - owed)
        named = float(bool(_others(gathered.question)))
        return {**alike, "named": named, "about": about, "covered": covered}
    unnamed = {"unnamed_covered": covered, "unnamed_meaning": near["nearest"]}
    return {**alike, **unnamed, "covered": covered}


def _nearest(gathered: Gathered, told: Seqs) -> dict[str, float]:
    """How near the best comes in meaning, and among how many."""
    nearest = float(gathered.pool.meaning[told].max(initial=0.0))
    return {"nearest": nearest, "few": few(gathered.memories)}


def _told(matrix: Floats, scores: Floats) -> Seqs:
    """Places of candidates, the best first; who asked the same before is no answer."""
    told = np.flatnonzero(matrix[:, _QUESTION] <= 0)
    return told[np.argsort(-scores[told], kind="stable")]


def _others(question: RecallQuestion) -> frozenset[str]:
    return question.named - {question.asker}


def _about(gathered: Gathered, matrix: Floats, content: Floats) -> float:
    """The odds, as a logarithm, that what fits is about the one who was named.

    A remark is about its speaker where it says "I", and about the other where it says "you".
    """
    best = np.argsort(-content, kind="stable")[:_WEIGHED]
    own = np.array([_of_oneself(gathered.pool.nodes[int(at)].scene.action) for at in best])
    mine = np.where(matrix[best, _SPEAKER] > 0, own, 1 - own)
    mass = np.exp((content[best] - content[best[0]]) / _TEMPERATURE)
    return math.log(float(mass @ mine) + 1e-3) - math.log(float(mass @ (1 - mine)) + 1e-3)


def _of_oneself(text: str) -> float:
    """How far a remark is about its speaker, from 0 to 1."""
    said = _PERSON.findall(text.lower())
    second = said.count("")
    first = len(said) - second + _DOUBT
    return first / (first + second)


def _coverage(gathered: Gathered, best: Sequence[int]) -> float:
    """The share of what was asked for, by how much each word says, that stands in these."""
    total = sum(gathered.rarities.values()) * len(best)
    if total <= 0:
        return 0.0
    there = (
        gathered.rarities[word]
        for word, seqs in gathered.having.items()
        for seq in best
        if (seqs == seq).any()
    )
    return sum(there) / total


class ReadMemories:
    """The best memories, read word by word: a long word that nothing comes near to is missing."""

    def __init__(self, gathered: Gathered, matrix: Floats, scores: Floats) -> None:
        best = _told(matrix, scores)[:_LOOKED_AT]
        self._wanted = telling_words(gathered.question.nameless or gathered.question.text)
        self._texts = [telling_words(gathered.pool.nodes[int(at)].scene.action) for at in best]
        self._about = matrix[best, _MENTIONED]
        self._named = bool(_others(gathered.question))
        self._read = {
            "ordinary": gathered.ordinary,
            "best": float(scores[best].max(initial=-np.inf)),
            "asked_words": float(len(self._wanted)),
            "about_named": float(self._about[:1].sum()) * self._named,
        }

    def features(self, word_vectors: WordVectors | None = None) -> dict[str, float]:
        """What they say, by what words mean where `word_vectors` are given."""
        if not self._texts:
            return {}
        if not self._wanted:
            return {**self._read, "answered": _UNKNOWN}
        stems = [set(text.values()) for text in self._texts]
        same = np.array([[stem in text for stem in self._wanted.values()] for text in stems], "f4")
        near = same if word_vectors is None else np.maximum(self._nearness(word_vectors), same)
        weights = np.array([_weight(word) for word in self._wanted], np.float32)
        share = weights / weights.sum()
        spoken_of = self._about > 0 if self._named else np.ones(len(self._about), bool)
        return {
            **self._read,
            "answered": float(((near @ share) * spoken_of).max()),
            "missing": float((weights * (1 - near.max(axis=0))).max()),
            "same_words": float((same @ share).max()),
        }

    def _nearness(self, word_vectors: WordVectors) -> Floats:
        """How near each memory comes to each word that is asked for."""
        every = list(dict.fromkeys((*self._wanted, *chain(*self._texts))))
        places = {word: at for at, word in enumerate(every)}
        vectors = word_vectors(every)
        alike = vectors[: len(self._wanted)] @ vectors.T
        columns = [[places[word] for word in text] for text in self._texts]
        return np.array([alike[:, at].max(axis=1, initial=0.0) for at in columns], np.float32)


def _weight(word: str) -> float:
    """Longer words say more, in every language."""
    return min(_LONG, len(word) * (1 if word.isascii() or word[0] < "\u0e00" else _EAST_ASIAN))
