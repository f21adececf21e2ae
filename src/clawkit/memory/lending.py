"""Model keys that callers lend for the patrol that their notes start, in this process alone.

They are written nowhere, shown in no log, and forgotten after that patrol or some minutes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec

KEPT_SECONDS = 600.0


class Lent(msgspec.Struct, frozen=True, eq=False):
    """One key, and when it is too old to serve."""

    key: str
    until: float

    def __repr__(self) -> str:
        return "Lent(…)"


class LentKeys:
    """The key that was lent to each Being last, until it has served or is too old."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._lent: dict[int, Lent] = {}

    def __len__(self) -> int:
        return len(self._lent)

    def lend(self, being: int, key: str) -> None:
        with self._guard:
            self._lent[being] = Lent(key, self._clock() + KEPT_SECONDS)

    def find(self, being: int) -> Lent | None:
        """The key that may serve now."""
        self.forget_old()
        with self._guard:
            return self._lent.get(being)

    def forget(self, being: int, served: Lent) -> None:
        """The key has served; what was lent meanwhile has not yet."""
        with self._guard:
            if self._lent.get(being) is served:
                del self._lent[being]

    def forget_old(self) -> None:
        now = self._clock()
        with self._guard:
            self._lent = {being: lent for being, lent in self._lent.items() if lent.until > now}
