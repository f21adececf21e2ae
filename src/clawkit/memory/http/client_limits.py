"""A client's address behind trusted proxies, and its limits: requests, failures, bytes.

`X-Forwarded-For` can be written by anybody. It counts only where the connection comes from a proxy
that whoever runs the server has named, and of its hops only those that such proxies have added: the
caller is the right-most hop that is no trusted proxy. Each process counts for itself.
"""

from __future__ import annotations

import ipaddress
import math
from collections import Counter
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from typing import Any

import msgspec

from clawkit.errors import SettingsError
from clawkit.memory.rate_limiter import TokenBuckets
from clawkit.wire.http.endpoint import HttpRefusal
from clawkit.wire.http.response import Receive
from clawkit.wire.http.uvicorn_server import HttpLimits

HEADER = b"x-forwarded-for"

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class TrustedProxies:
    """The networks in which proxies are believed."""

    def __init__(self, networks: Collection[str] = ()) -> None:
        self._networks = tuple(_network(text) for text in networks)

    def caller(self, scope: Any) -> str:
        """The address of whoever asks, as text; empty where there is none."""
        peer = str((scope.get("client") or ("",))[0])
        if not self._trusts(peer):
            return peer
        caller = peer
        for hop in reversed(_hops(scope["headers"])):
            address = _address(hop)
            if address is None:
                return caller  # who wrote this is no proxy that can be followed further
            caller = str(address)
            if not self._trusts(caller):
                return caller
        return caller

    def _trusts(self, text: str) -> bool:
        address = _address(text)
        return address is not None and any(address in network for network in self._networks)


def _network(text: str) -> _Network:
    try:
        return ipaddress.ip_network(text.strip())
    except ValueError as error:
        raise SettingsError(
            f"--trusted-proxy {text!r}: {error}: give an address or a network, "
            "such as 10.0.0.7 or 10.0.0.0/24"
        ) from None


def _hops(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    """All hops in their order; several headers are one list."""
    lines = [value.decode("latin-1") for name, value in headers if name.lower() == HEADER]
    return [hop.strip() for line in lines for hop in line.split(",")] if lines else []


def _address(text: str) -> _Address | None:
    """The address in a hop, which may have a port; None if it has none."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = getattr(found, "ipv4_mapped", None)
    return mapped if mapped is not None else found


class RequestLimits(msgspec.Struct, frozen=True):
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


class CallerCounters:
    """Counts what tokens ask for and how often addresses fail."""

    def __init__(self, limits: RequestLimits) -> None:
        self._requests = TokenBuckets(limits.rate, limits.burst)
        self._failures = TokenBuckets(limits.failures_a_minute / 60, limits.failures)
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


def too_many(what: str, seconds: float) -> HttpRefusal:
    wait = math.ceil(seconds)
    return HttpRefusal(429, f"{what}: try again in {wait} s", (b"retry-after", str(wait).encode()))


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
