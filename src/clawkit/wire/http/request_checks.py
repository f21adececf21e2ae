"""Checks an HTTP request: whose address it has, allowed host and origin, headers that fit the body;
and writes values as headers can say them.

Anybody can write `X-Forwarded-For`. It counts only if the connection comes from a trusted proxy;
the caller is then the right-most hop that is no trusted proxy.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from clawkit.errors import (
    HeaderMismatchError,
    InvalidParamsError,
    SettingsError,
    UnsupportedVersionError,
)
from clawkit.wire.jsonrpc import Message, as_object
from clawkit.wire.revisions import (
    HEADERLESS_HTTP,
    LEGACY,
    META_VERSION,
    MODERN,
    NAME_PARAMETER,
)
from clawkit.wire.session import modern_capabilities

if TYPE_CHECKING:
    from clawkit.wire.server import ServerCore

ANY_ORIGIN = "*"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
Headers = Mapping[str, str]
_PRINTABLE = re.compile(r"[\t -~]*")
_PLAIN = re.compile(r"[ -~]*")
_WRAPPED = re.compile(r"=\?base64\?(.*)\?=")
_ONCE = ("host", "origin", "authorization", "content-type", "content-encoding")

_FORWARDED_FOR = b"x-forwarded-for"

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def read_headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers by name; raises if one that matters for security is there twice."""
    found: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name = raw_name.decode("latin-1")
        if name in found and (name in _ONCE or name.startswith("mcp-")):
            raise HeaderMismatchError(f"Header mismatch: {name} is there twice")
        found[name] = raw_value.decode("latin-1").strip(" \t")
    return found


class TrustedProxies:
    def __init__(self, networks: Collection[str] = ()) -> None:
        self._networks = tuple(_network(text) for text in networks)

    def caller(self, scope: Any) -> str:
        """The caller's address; empty if it has none."""
        peer = str((scope.get("client") or ("",))[0])
        if not self._networks or not self._trusts(peer):
            return peer
        caller = peer
        for hop in reversed(_hops(scope["headers"])):
            address = _address(hop)
            if address is None:
                return caller  # an invalid hop: whatever is left of it cannot be trusted
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
    lines = [value.decode("latin-1") for name, value in headers if name.lower() == _FORWARDED_FOR]
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


class Origins:
    """The allowed `Host` and `Origin` headers: protects against DNS rebinding."""

    def __init__(self, hosts: Collection[str] | None, origins: Collection[str]) -> None:
        self._hosts = hosts
        self._origins = origins

    def refuse(self, headers: Headers) -> str | None:
        """Why this request is not allowed; None if it is."""
        host = headers.get("host", "")
        if self._hosts is not None and not {host, _hostname(host)} & set(self._hosts):
            return f"Host {host[:100]!r} is not allowed; a server names its hosts"
        origin = headers.get("origin")
        if origin is None or origin in self._origins or ANY_ORIGIN in self._origins:
            return None
        scheme, _, place = origin.partition("://")
        at_home = self._hosts is not None and (place == host or _hostname(place) in self._hosts)
        return (
            None
            if scheme in ("http", "https") and at_home
            else f"Origin {origin[:100]!r} is not allowed"
        )


_AUTHORITY = re.compile(r"(\[[^\[\]@]*\]|[^:@\[\]]*)(?::\d*)?")


def _hostname(authority: str) -> str:
    """The name in `name:port`; empty where it is anything else, such as `name:port@other`."""
    found = _AUTHORITY.fullmatch(authority)
    return found[1].lower() if found else ""


def legacy_version(headers: Headers) -> str:
    """The handshake revision in the headers, or the one that stands for no header."""
    version = headers.get("mcp-protocol-version")
    return version if version in LEGACY else HEADERLESS_HTTP


def is_modern(headers: Headers, meta: dict[str, Any]) -> bool:
    """Whether a request with this `_meta` claims the modern era, rightly or not."""
    if META_VERSION in meta:
        return True
    version = headers.get("mcp-protocol-version")
    return version is not None and version not in LEGACY


def check_modern(
    headers: Headers, message: Message, meta: dict[str, Any], server: ServerCore
) -> None:
    """Raise unless `_meta` is complete and the headers say what the body says."""
    params: dict[str, Any] = message.get("params") or {}
    named = headers.get("mcp-protocol-version")
    if META_VERSION not in meta:
        if named != MODERN:
            raise UnsupportedVersionError(
                f"Unsupported protocol version {str(named)[:40]!r}",
                data={"supported": [MODERN], "requested": named},
            )
        raise InvalidParamsError(f"Invalid params: _meta must carry {META_VERSION!r}")
    _agree("MCP-Protocol-Version", named, meta[META_VERSION])
    modern_capabilities(meta)
    method = message["method"]
    _agree("Mcp-Method", headers.get("mcp-method"), method)
    field = NAME_PARAMETER.get(method)
    if field is not None and isinstance(params.get(field), str):
        _agree("Mcp-Name", _decoded("Mcp-Name", headers.get("mcp-name")), params[field])
    if method == "tools/call":
        _check_mirrors(headers, params, server)


def _check_mirrors(headers: Headers, params: dict[str, Any], server: ServerCore) -> None:
    """Raise unless the arguments that the tool's schema mirrors into headers match them."""
    tool = server.tools.get(str(params.get("name")))
    for header, path in tool.headers.items() if tool is not None else ():
        value: Any = params.get("arguments")
        for step in path:
            value = (as_object(value) or {}).get(step)
        sent = _decoded(header, headers.get(header))
        if not _same(sent, value):
            raise HeaderMismatchError(f"Header mismatch: {header} does not match the body")


def _same(sent: str | None, value: Any) -> bool:
    if value is None or sent is None:
        return sent is value
    if isinstance(value, bool):
        return sent == ("true" if value else "false")
    if isinstance(value, int):
        try:
            return sent == str(value) or float(sent) == value
        except ValueError:
            return False
    return sent == value


def _agree(header: str, sent: str | None, said: object) -> None:
    if sent is None:
        raise HeaderMismatchError(f"Header mismatch: {header} is missing")
    if sent != said:
        raise HeaderMismatchError(f"Header mismatch: {header} does not match the body")


def _decoded(header: str, value: str | None) -> str | None:
    """A header's value, decoded if it is `=?base64?…?=`."""
    if value is not None and not _PRINTABLE.fullmatch(value):
        raise HeaderMismatchError(f"Header mismatch: {header} has characters that need base64")
    return from_header(header, value)


def from_header(header: str, value: str | None) -> str | None:
    """A header's value, decoded if it is `=?base64?…?=`; raises HeaderMismatchError."""
    wrapped = None if value is None else _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped[1], validate=True).decode()
    except (binascii.Error, UnicodeError):
        raise HeaderMismatchError(f"Header mismatch: {header} is not valid base64") from None


def to_header(value: str) -> str:
    """A value as a header can say it."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="
