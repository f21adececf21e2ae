"""Two sets of weights for signals, and the gate that rejects results that are noise.

The weights for talk between people are fitted on made conversations (`weights`), those for what
people told an assistant on made lives (benchmarks/lives). Each has a gate of its own: one cannot
serve both.

Ranking always has a first; the gate looks at what speaks for it in absolute terms: how much of
what was asked for is there, and whether it is about the one who was named. It is a logistic over
a few features, fitted where the weights are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.memory.recall import weights
from clawkit.memory.recall.signals import SIGNALS


class SignalWeights(msgspec.Struct, frozen=True):
    """Weights of signals, and of the features by which the gate opens."""

    weights: dict[str, float]
    gate: dict[str, float]
    threshold: float
    far_behind: float
    """Scores are logarithms of chances: who is so far behind has a small one."""


DIALOGUE = SignalWeights(weights.WEIGHTS, weights.GATE, weights.THRESHOLD, 3.0)

NOTES = SignalWeights(
    weights={
        "meaning": 1.0,
        "words": 0.07,
        "time": 0.6,
        "mentioned": 0.1,
        "question": -1.0,
        "recent": 0.23,
        "length": 0.17,
        "session_meaning": 0.27,
        "tells_when": 0.13,
        "another_self": -0.1,
    },
    gate={"bias": -3.07, "nearest": 7.2, "most_covered": 1.6, "named": -1.2, "dated": 3.2},
    threshold=0.3,
    far_behind=0.35,
)
WORDS_ONLY = SignalWeights(
    weights={**NOTES.weights, "words": 1.0},
    gate={"bias": -2.0, "most_covered": 5.0, "dated": 3.0},
    threshold=0.5,
    far_behind=0.6,
)
"""Where there are no vectors, most of what was asked for has to be there."""

ABOUT_PERSON = SignalWeights(
    weights={
        "mentioned": 1.0,
        "importance": 0.5,
        "meaning": 0.2,
        "recent": 0.2,
        "length": 0.1,
        "question": -1.0,
    },
    gate={"bias": -4.0, "mentioned": 8.0},
    threshold=0.5,
    far_behind=1.0,
)
"""For "Who is Jonas?", which asks for nothing but what is about him."""

if TYPE_CHECKING:
    from clawkit.memory.arrays import Floats
    from clawkit.memory.recall.candidates import Gathered


_LOOKED_AT = 3
_WEIGHED = 60
_TEMPERATURE = 1.5
_DOUBT = 2.0
"""How many times a remark has to say "I" before it is rather about its speaker."""

_SPEAKER, _OTHER = SIGNALS.index("speaker"), SIGNALS.index("other_speaker")
_TIME, _MENTIONED = SIGNALS.index("time"), SIGNALS.index("mentioned")
_PERSON = re.compile(r"\b(?:(i|my|me|mine|myself|we|our|us)|you|your|yours|yourself)\b")


def confidence(gathered: Gathered, matrix: Floats, scores: Floats, way: SignalWeights) -> float:
    """How sure it is, from 0 to 1, that an answer is among the best."""
    found = features(gathered, matrix, scores, speaker_weights())
    total = way.gate.get("bias", 0.0)
    total += sum(way.gate.get(name, 0.0) * value for name, value in found.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def speaker_weights() -> tuple[float, float]:
    """What a score owes to who is speaking."""
    return weights.WEIGHTS.get("speaker", 0.0), weights.WEIGHTS.get("other_speaker", 0.0)


def features(
    gathered: Gathered, matrix: Floats, scores: Floats, by_speaker: tuple[float, float]
) -> dict[str, float]:
    """What tells an answer from the best of what is no answer."""
    best = np.argsort(-scores, kind="stable")[:_LOOKED_AT]
    nodes = [gathered.pool.nodes[int(at)].seq for at in best]
    covered = _coverage(gathered, nodes)
    nearest = float(gathered.pool.meaning.max(initial=0.0))
    alike = {
        "nearest": nearest,
        "most_covered": max(_coverage(gathered, [node]) for node in nodes),
        "dated": float(matrix[best, _TIME].max()),
        "mentioned": float(matrix[best, _MENTIONED].max()),
    }
    if gathered.question.named:
        owed: Floats = matrix[:, [_SPEAKER, _OTHER]] @ np.array(by_speaker, dtype=np.float32)
        about = _about(gathered, matrix, scores - owed)
        others = gathered.question.named - {gathered.question.asker}
        return {**alike, "named": float(bool(others)), "about": about, "covered": covered}
    unnamed = {"unnamed_covered": covered, "unnamed_meaning": nearest}
    return {**alike, **unnamed, "covered": covered}


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
