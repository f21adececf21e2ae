"""Addresses of services: which are valid, and to which a key may be sent unencrypted."""

from __future__ import annotations

import errno
import ipaddress
import re
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clawkit.errors import SettingsError

if TYPE_CHECKING:
    import ssl

_PRIVATE_ENDINGS = (".local", ".lan", ".internal", ".home.arpa", ".localhost")
_AUTHORITY = re.compile(r"(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d+)?", re.IGNORECASE)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NOT_PUBLIC = tuple(
    ipaddress.IPv6Network(one)
    for one in (
        "::/96",  # IPv4-compatible
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b:1::/48",  # NAT64 of a network's own
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fec0::/10",  # site-local
    )
)
"""What some versions of Python take for public."""

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_base_url(provider: str, url: str, *, secret: bool) -> str:
    """The address of a provider, without a slash at its end."""
    return check_address(f"[providers.{provider}] base_url", url, secret=secret).rstrip("/")


def check_address(where: str, url: str, *, secret: bool, query: bool = False) -> str:
    """The address if it can be asked, and with a key if there is one; `where` it stands is told.

    A key goes over plain http to this machine and into private networks only: whoever is on the
    way can read it there, and nobody writes `http://` for a service on the internet on purpose.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise SettingsError(f"{where}: this is not an address; write https://…") from None
    if parts.username is not None or parts.password is not None:
        raise SettingsError(f"{where}: has a user or password in it; use `key_env` or `headers`")
    if not usable or not url.isascii() or any(c.isspace() or not c.isprintable() for c in url):
        shown = f"{url[:100]!r}" if url else "is empty: it"
        raise SettingsError(f"{where}: {shown} must be an address with http:// or https://")
    if "#" in url or ("?" in url and not query):
        rest = "#" if query else "? and #"
        raise SettingsError(f"{where}: must end with its path, without {rest}")
    if parts.scheme == "http" and secret and not is_private(url):
        raise SettingsError(
            f"{where}: {origin_of(url)!r} would send the key unencrypted over the internet; "
            "write https://, or take away `key_env` and `headers` if it needs none"
        )
    return url


def is_loopback(url: str) -> bool:
    """Whether an address is this machine."""
    host = _host(url)
    return is_loopback_host(host) or host.endswith(".localhost")


def is_loopback_host(host: str) -> bool:
    """Whether a host is `localhost`, or a loopback address in numbers."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def has_no_such_address(error: OSError) -> bool:
    """Whether listening failed because this machine has no such address, as one without IPv6."""
    return error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)


def is_ip_address(host: str) -> bool:
    """Whether a host is an address in numbers, and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_authority(text: str) -> bool:
    """Whether an address can have this between `//` and its path, with nobody's name in it."""
    return _AUTHORITY.fullmatch(text) is not None


def is_private(url: str) -> bool:
    """Whether an address is this machine or in a network that is not the internet."""
    host = _host(url)
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_PRIVATE_ENDINGS)


def is_public(text: str) -> bool:
    """Whether an IP address is on the internet, also one that carries another in it."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if any(address in network for network in _NOT_PUBLIC):
        return False
    return all(one.is_global and not one.is_multicast for one in (address, *_inside(address)))


class Reach(IntEnum):
    """Where an address is."""

    INTERNET = 0
    NETWORK = 1
    """A private one."""
    MACHINE = 2
    """This one, or what only it can see, such as a cloud's metadata."""


def reach_of(text: str) -> Reach:
    """Where an address is, also one that carries another in it."""
    if is_public(text):
        return Reach.INTERNET
    address = ipaddress.ip_address(text.partition("%")[0])
    found = (address, *_inside(address))
    near = any(one.is_loopback or one.is_link_local or one.is_unspecified for one in found)
    return Reach.MACHINE if near else Reach.NETWORK


def _inside(address: _Address) -> Iterable[_Address]:
    if isinstance(address, ipaddress.IPv6Address):
        carried = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
        yield from (one for one in carried if one is not None)
        if address in _NAT64:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """Whom an address is counted as: of IPv6, the /64 that one customer has all of."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address) or found.ipv4_mapped is not None:
        return address
    return str(ipaddress.ip_network((int(found), 64), strict=False))


def origin_of(url: str) -> str:
    """What may be shown of an address that somebody else gave: neither a name nor a password."""
    try:
        parts = urlsplit(url)
        if not parts.hostname:
            return ""
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port is not None else "")
    except ValueError:
        return ""


def trusted(url: str) -> ssl.SSLContext | bool:
    """Whom an HTTP client trusts there.

    To read the certificates of all authorities takes a while, and plain http asks for none.
    """
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url[:5].lower() == "http:" else True


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return "not.an.address"


def shown_address(address: str) -> str:
    """The address without what is secret in it."""
    scheme, mark, rest = address.partition("://")
    if not mark:
        return address
    before, _, options = rest.partition("?")
    # A `?` or `@` that should have been escaped: what is what cannot be told.
    return f"{scheme}://{'…' if '@' in options else before.rpartition('@')[2]}"
