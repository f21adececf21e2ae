"""Token buckets: a rate limit for one caller, and one for each of many."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

Clock = Callable[[], float]


class TokenBucket:
    """`burst` steps at once, and `rate` a second in the long run."""

    __slots__ = ("_at", "_burst", "_clock", "_left", "_rate")

    def __init__(self, rate: float, burst: int, clock: Clock = time.monotonic) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._left = self._burst
        self._at = clock()

    def wait(self) -> float:
        """How many seconds until the next step is free; 0 if it is."""
        self._refill()
        return 0.0 if self._left >= 1 else (1 - self._left) / self._rate

    def take(self) -> float:
        """Make a step; where none is free, nothing is taken and this says when one will be."""
        seconds = self.wait()
        if not seconds:
            self._left -= 1
        return seconds

    @property
    def rested(self) -> bool:
        """Whether it is as good as new."""
        self._refill()
        return self._left >= self._burst

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now


class TokenBuckets:
    """A pace for each key; those that are rested are forgotten when there are many.

    A rate of 0 sets no limit.
    """

    MOST = 20_000

    def __init__(self, rate: float, burst: int, clock: Clock = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._of: dict[Hashable, TokenBucket] = {}

    def __len__(self) -> int:
        return len(self._of)

    def take(self, key: Hashable) -> float:
        return self._pace(key).take() if self._rate > 0 else 0.0

    def wait(self, key: Hashable) -> float:
        pace = self._of.get(key)
        return 0.0 if pace is None else pace.wait()

    def _pace(self, key: Hashable) -> TokenBucket:
        found = self._of.get(key)
        if found is None:
            if len(self._of) >= self.MOST:
                self._forget()
            found = self._of[key] = TokenBucket(self._rate, self._burst, self._clock)
        return found

    def _forget(self) -> None:
        """Make room: a flood of keys must fill no memory, and not be searched at each of them."""
        left = [(key, pace) for key, pace in self._of.items() if not pace.rested]
        self._of = dict(left[-self.MOST // 2 :])
