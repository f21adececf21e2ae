"""How much each signal says. Written by `python -m benchmarks.recall.fitting`; see decision 024.

The numbers are fitted on conversations that were made for it (benchmarks/recall/data), in English
and Japanese. Nothing was fitted on a public set: those measure.
"""

from __future__ import annotations

WEIGHTS: dict[str, float] = {
    "words": 1.8346,
    "words_before": 0.9223,
    "words_after": -0.2990,
    "words_around": 0.7053,
    "meaning": 1.2881,
    "meaning_top": 3.1573,
    "meaning_before": 0.3977,
    "meaning_after": 1.5811,
    "meaning_around": 2.0558,
    "rank_words": 1.0384,
    "rank_meaning": 1.4745,
    "both": -1.9013,
    "speaker": 1.0259,
    "other_speaker": -1.0183,
    "session_words": 0.6033,
    "session_meaning": 1.2633,
    "session_spread": 0.2868,
    "time": 2.2926,
    "length": 2.1000,
    "asks": -2.0146,
    "answers_words": -0.3852,
    "answers_meaning": 2.9074,
    "tells_when": 2.2777,
    "tells_number": 1.4804,
    "importance": 0.3000,
}

GATE: dict[str, float] = {
    "bias": -2.2665,
    "about": 1.5463,
    "covered": 2.8362,
    "named": 1.5312,
    "unnamed_covered": 2.7661,
    "unnamed_meaning": 4.6122,
}

THRESHOLD = 0.3866
