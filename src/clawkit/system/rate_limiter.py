"""Token buckets: a rate limit for one caller, and one for each of many."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

Clock = Callable[[], float]


class TokenBucket:
    """Allows `burst` calls at once, and `rate` a second in the long run."""

    __slots__ = ("_at", "_burst", "_clock", "_left", "_rate")

    def __init__(self, rate: float, burst: int, clock: Clock = time.monotonic) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._left = self._burst
        self._at = clock()

    def wait(self) -> float:
        """How many seconds until the next call is allowed; 0 if it is."""
        self._refill()
        return 0.0 if self._left >= 1 else (1 - self._left) / self._rate

    def take(self) -> float:
        """Count a call if it is allowed and return 0, else the seconds until one is."""
        seconds = self.wait()
        if not seconds:
            self._left -= 1
        return seconds

    @property
    def is_full(self) -> bool:
        """Whether it is as good as new."""
        self._refill()
        return self._left >= self._burst

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now


class TokenBuckets:
    """A token bucket for each key; full ones are forgotten when there are many.

    A rate of 0 sets no limit.
    """

    MAX_KEYS = 20_000

    def __init__(self, rate: float, burst: int, clock: Clock = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: dict[Hashable, TokenBucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: Hashable) -> float:
        return self._bucket(key).take() if self._rate > 0 else 0.0

    def wait(self, key: Hashable) -> float:
        bucket = self._buckets.get(key)
        return 0.0 if bucket is None else bucket.wait()

    def _bucket(self, key: Hashable) -> TokenBucket:
        found = self._buckets.get(key)
        if found is None:
            if len(self._buckets) >= self.MAX_KEYS:
                self._forget()
            found = self._buckets[key] = TokenBucket(self._rate, self._burst, self._clock)
        return found

    def _forget(self) -> None:
        """Drop at least half of the buckets, so that a flood of keys seldom gets here."""
        left = [(key, bucket) for key, bucket in self._buckets.items() if not bucket.is_full]
        self._buckets = dict(left[-self.MAX_KEYS // 2 :])
