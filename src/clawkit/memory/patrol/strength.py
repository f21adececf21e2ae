"""How alive a memory is: its importance, fading with each patrol in which nobody asked for it."""

from __future__ import annotations

import math

LIFE = 30.0
FAINT = 0.05
"""At this strength or below a memory is dying; above it, it lives again."""


def strength(importance: float, session_count: int, asked_for: int = 0) -> float:
    """`asked_for` counts as that many patrols that have not been."""
    return importance * math.exp(-max(0, session_count - asked_for) / LIFE)


def is_faint(importance: float, session_count: int, asked_for: int = 0) -> bool:
    return strength(importance, session_count, asked_for) <= FAINT
