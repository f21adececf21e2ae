"""How alive a memory is: its importance, fading with the days in which nobody asked for it.

Patrols are not counted: what is tidied up ten times a day must not age ten times as fast. Use makes
a memory last: each doubling of how often it was asked for adds another `LIFE`.
"""

from __future__ import annotations

import math

DAY = 86_400.0
LIFE = 180.0
"""Days after which a memory that was never asked for has 37 % of its importance left."""

FAINT = 0.05
"""At this strength or below a memory is dying; above it, it lives again."""

GRACE = 7.0
"""Days in which a faint memory is dying and can be merged or asked for, before it is dead."""


class Age:
    """How old memories are at one moment."""

    def __init__(self, now: float) -> None:
        self._now = now

    def is_faint(self, importance: float, last_activated: float, uses: int) -> bool:
        return strength(importance, self._days(last_activated), uses) <= FAINT

    def is_over(self, importance: float, last_activated: float, uses: int) -> bool:
        """Whether it has been faint for as long as a memory may be dying."""
        days = self._days(last_activated) - GRACE
        return days >= 0 and strength(importance, days, uses) <= FAINT

    def strength(self, importance: float, last_activated: float, uses: int) -> float:
        return strength(importance, self._days(last_activated), uses)

    def _days(self, last_activated: float) -> float:
        """A clock that went back makes nothing older."""
        return max(0.0, self._now - last_activated) / DAY


def strength(importance: float, days: float, uses: int = 0) -> float:
    """What is left after `days` without use of a memory that was asked for `uses` times."""
    return importance * math.exp(-days / (LIFE * (1 + math.log2(1 + uses))))
