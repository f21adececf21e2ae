"""The address of whoever asks, behind proxies that whoever runs the server trusts.

`X-Forwarded-For` can be written by anybody. It counts only where the connection comes from a proxy
that whoever runs the server has named, and of its hops only those that such proxies have added: the
caller is the right-most hop that is no trusted proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable
from typing import Any

from clawkit.errors import SettingsError

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
        if not self._networks or not self._trusts(peer):
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
