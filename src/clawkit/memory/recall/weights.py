"""How much each signal says. Written by `python -m benchmarks.recall.fitting`; see decision 024.

The numbers are fitted on conversations that were made for it (benchmarks/recall/data), in English
and Japanese. Nothing was fitted on a public set: those measure.
"""

from __future__ import annotations

WEIGHTS: dict[str, float] = {
    "words": 2.0,
    "words_before": 0.5,
    "words_after": 0.3,
    "meaning": 2.0,
    "meaning_top": 1.0,
    "meaning_before": 0.3,
    "meaning_after": 0.2,
    "rank_words": 1.0,
    "rank_meaning": 1.0,
    "speaker": 0.5,
    "session_spread": 0.3,
    "time": 0.5,
    "length": 0.2,
    "asks": -0.3,
    "importance": 0.1,
}

GATE: dict[str, float] = {"bias": 0.0}
THRESHOLD = 0.5
