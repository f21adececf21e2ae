"""The two ways to weigh what was found: talk between people, and what people told an assistant.

The first is fitted on made conversations (`weights`), the second on made lives
(benchmarks/lives). Each has a gate of its own: one cannot serve both.
"""

from __future__ import annotations

import msgspec

from clawkit.memory.recall import weights


class Way(msgspec.Struct, frozen=True):
    """Weights of signals, and of the features by which the gate opens."""

    weights: dict[str, float]
    gate: dict[str, float]
    threshold: float
    far_behind: float
    """Scores are logarithms of chances: who is so far behind has a small one."""


DIALOGUE = Way(weights.WEIGHTS, weights.GATE, weights.THRESHOLD, 3.0)

NOTES = Way(
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
        "another_self": -0.2,
    },
    gate={"bias": -3.07, "nearest": 7.2, "most_covered": 1.6, "named": -1.2, "dated": 3.2},
    threshold=0.3,
    far_behind=0.35,
)
WORDS_ONLY = Way(
    weights={**NOTES.weights, "words": 1.0},
    gate={"bias": -2.0, "most_covered": 5.0, "dated": 3.0},
    threshold=0.5,
    far_behind=0.6,
)
"""Where there are no vectors, most of what was asked for has to be there."""

ABOUT_PERSON = Way(
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
