"""Fetches a small JSON document from an address that a stranger named.

It is asked for over HTTPS only, at public addresses only, and what a name was resolved to is what
is connected to. No redirect is followed, no proxy used; size and time are limited.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

import httpcore2

from clawkit.errors import LoginError

LONGEST = 64 * 1024
SECONDS = 5.0
AT_ONCE = 4

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_public(text: str) -> bool:
    """Whether an address is on the internet, also one that carries another in it."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return all(one.is_global and not one.is_multicast for one in (address, *_inside(address)))


def _inside(address: _Address) -> Iterable[_Address]:
    if isinstance(address, ipaddress.IPv6Address):
        carried = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
        yield from (one for one in carried if one is not None)
        if address in _NAT64:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


class _CheckedBackend(httpcore2.NetworkBackend):
    """Connects only to addresses that may be connected to."""

    def __init__(self, may_connect: Callable[[str], bool]) -> None:
        self._may_connect = may_connect
        self._plain = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        found = {
            str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        }
        if not found or not all(map(self._may_connect, found)):
            raise LoginError(f"{host} is not a public address")
        return self._plain.connect_tcp(
            min(found, key=lambda one: ":" in one), port, timeout, local_address, socket_options
        )


class DocumentFetcher:
    """Gets documents, few at a time."""

    def __init__(
        self,
        *,
        may_connect: Callable[[str], bool] = is_public,
        tls: ssl.SSLContext | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._may_connect = may_connect
        self._tls = tls
        self._seconds = seconds
        self._at_once = threading.BoundedSemaphore(AT_ONCE)

    def get(self, url: str) -> bytes:
        """The JSON at an address; LoginError says why there is none."""
        if urlsplit(url).scheme != "https":
            raise LoginError("it must be an address with https://")
        if not self._at_once.acquire(blocking=False):
            raise LoginError("too many documents are being fetched: try again in a moment")
        try:
            return self._get(url)
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, ssl.SSLError):
            raise LoginError("it cannot be reached") from None
        except httpcore2.TimeoutException:
            raise LoginError("it takes too long") from None
        finally:
            self._at_once.release()

    def _get(self, url: str) -> bytes:
        until = time.monotonic() + self._seconds
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), self._seconds)
        tls = self._tls or ssl.create_default_context()
        backend = _CheckedBackend(self._may_connect)
        headers = [("accept", "application/json"), ("user-agent", "clawkit")]
        with (
            httpcore2.ConnectionPool(ssl_context=tls, network_backend=backend) as pool,
            pool.stream("GET", url, headers=headers, extensions={"timeout": timeout}) as response,
        ):
            _check_head(response)
            return _read(response.iter_stream(), until)


def _check_head(response: httpcore2.Response) -> None:
    if response.status != 200:
        raise LoginError(f"it answers with the status {response.status}")
    kinds = [value for name, value in response.headers if name.lower() == b"content-type"]
    kind = kinds[0].partition(b";")[0].strip().lower() if kinds else b""
    if kind != b"application/json" and not kind.endswith(b"+json"):
        raise LoginError("it is not JSON")


def _read(parts: Iterable[bytes], until: float) -> bytes:
    body = b""
    for part in parts:
        body += part
        if len(body) > LONGEST:
            raise LoginError(f"it has more than {LONGEST} bytes")
        if time.monotonic() > until:
            raise LoginError("it takes too long")
    return body
