"""The two ways to weigh what was found: talk between people, and what people told an assistant.

The first is fitted on made conversations (`weights`), the second chosen on made lives
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
        "words": 0.05,
        "time": 0.4,
        "mentioned": 0.2,
        "question": -0.5,
        "recent": 0.05,
        "length": 0.05,
        "session_meaning": 0.05,
        "tells_when": 0.05,
    },
    gate={"bias": -2.43, "best": 4.16, "most_covered": 1.24, "named": -1.04, "dated": 1.42},
    threshold=0.36,
    far_behind=0.35,
)
WORDS_ONLY = Way(
    weights={**NOTES.weights, "words": 1.0},
    gate={"bias": -2.0, "most_covered": 5.0, "dated": 3.0},
    threshold=0.5,
    far_behind=0.6,
)
"""Where there are no vectors, most of what was asked for has to be there."""
