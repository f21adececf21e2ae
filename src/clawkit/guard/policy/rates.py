"""How often a rule has let calls through: a sliding window for each rule of this process."""

from __future__ import annotations

import threading
from collections import deque

from clawkit.guard.policy.rules import Rule


class Rates:
    """Counts calls by rule. A rule that a reload leaves as it was keeps its count."""

    def __init__(self) -> None:
        self._calls: dict[Rule, deque[float]] = {}
        self._lock = threading.Lock()

    def allow(self, rule: Rule, now: float) -> bool:
        """Whether one more call fits into the rule's rate; if so it is counted."""
        rate = rule.rate
        if rate is None:
            return True
        with self._lock:
            calls = self._calls.setdefault(rule, deque())
            # A clock set back would otherwise keep the window full for as long.
            while calls and not now - rate.seconds < calls[0] <= now:
                calls.popleft()
            if len(calls) >= rate.count:
                return False
            calls.append(now)
            return True
