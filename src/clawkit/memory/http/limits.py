"""How much one caller may ask for: requests, failed attempts, bytes and patience.

Each process counts for itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import msgspec

from clawkit.errors import SettingsError
from clawkit.memory.pace import Paces
from clawkit.wire.http.answer import Receive
from clawkit.wire.http.connections import HttpLimits
from clawkit.wire.http.endpoint import Refusal


class Limits(msgspec.Struct, frozen=True):
    """What a server takes from one caller; a rate of 0 sets no limit.

    `rate` and `burst` are requests a second for each token. An address may fail to authenticate
    `failures` times at once and `failures_a_minute` times in the long run. A token may have
    `at_once` requests and streams open. A message may have `body` bytes. `http` limits connections
    and how long a request may take to arrive.
    """

    rate: float = 100.0
    burst: int = 1000
    failures: int = 20
    failures_a_minute: float = 20.0
    at_once: int = 300
    body: int = 4 * 1024 * 1024
    http: HttpLimits = HttpLimits(body_seconds=30.0)

    def __post_init__(self) -> None:
        if self.rate < 0 or self.failures_a_minute < 0 or self.burst < 1 or self.failures < 1:
            raise SettingsError(f"{self}: rates are at least 0 and bursts at least 1")
        if self.at_once < 1:
            raise SettingsError(f"{self}: at_once must be at least 1")
        if self.body < 1:
            raise SettingsError(f"{self}: body must be at least 1")


class Callers:
    """Counts what tokens ask for and how often addresses fail."""

    def __init__(self, limits: Limits) -> None:
        self._requests = Paces(limits.rate, limits.burst)
        self._failures = Paces(limits.failures_a_minute / 60, limits.failures)
        self._at_once = limits.at_once
        self._open: Counter[str] = Counter()

    def locked_for(self, address: str) -> float:
        """For how many seconds nothing but good tokens is taken from an address."""
        return self._failures.wait(address)

    def failed(self, address: str) -> None:
        self._failures.take(address)

    def count(self, token: str) -> None:
        """One more request of a token."""
        seconds = self._requests.take(token)
        if seconds:
            raise too_many("Too many requests with this token", seconds)

    @contextmanager
    def here(self, token: str) -> Generator[None]:
        """While a request of a token is open: streams are, for as long as their reader likes."""
        if self._open[token] >= self._at_once:
            raise too_many("Too many open requests with this token", 1)
        self._open[token] += 1
        try:
            yield
        finally:
            self._open[token] -= 1
            if not self._open[token]:
                del self._open[token]


def too_many(what: str, seconds: float) -> Refusal:
    wait = math.ceil(seconds)
    return Refusal(429, f"{what}: try again in {wait} s", (b"retry-after", str(wait).encode()))


def until_whole(receive: Receive, afterwards: Receive) -> Receive:
    """Receives a request's body, and then what comes after it."""
    whole = False

    async def received() -> Any:
        nonlocal whole
        if whole:
            return await afterwards()
        event = await receive()
        whole = not event.get("more_body")
        return event

    return received
