"""Where a remote server is, by what name it is known, and the headers that only it may see."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import SplitResult, urljoin, urlsplit

import msgspec

from clawkit.errors import HostError

_VARIABLE = "CLAW_HEADER_"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")
_TEMPLATE = re.compile(r"[${}%]")
_PORTS = {"http": 80, "https": 443}


class Target(msgspec.Struct, frozen=True):
    """A remote server. `headers` have their names in lower case."""

    name: str
    url: str
    headers: dict[str, str]
    transport: Literal["http", "sse"] = "http"
    source: str = ""
    """Where its headers were configured, for a person whom it refuses."""

    @property
    def origin(self) -> str:
        """What may be said of the address: the rest may be a secret."""
        return origin_of(self.url)

    @property
    def path(self) -> str:
        return urlsplit(self.url).path or "/"

    def at_home(self, reference: str) -> str | None:
        """The address that the server means by a reference, if it is one of its own."""
        try:
            address = urljoin(self.url, reference)
            check_address(address)
        except (ValueError, HostError):
            return None
        return address if origin_of(address) == self.origin else None


def find_target(
    url: str, entry: str = "", name: str = "", environment: Mapping[str, str] | None = None
) -> Target:
    """What the command line, the ledger and the environment say together."""
    values = os.environ if environment is None else environment
    if not entry:
        check_address(url)
        host = urlsplit(url).hostname or ""
        return Target(name or host, url, _checked(_given(values, {})), source=_source(""))
    from clawkit.hosts.ledger import remote

    wrapped = remote(entry, values)
    check_address(wrapped.url)
    _check_same_place(url, wrapped.url, wrapped.name)
    headers = {key.lower(): value for key, value in wrapped.headers.items()}
    headers = _checked(_given(values, headers) | headers)
    source = _source(wrapped.name)
    return Target(name or wrapped.name, wrapped.url, headers, wrapped.transport, source)


def check_address(url: str) -> None:
    """Raise HostError unless this is an address that can be called as it stands."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in _PORTS and parts.hostname and parts.port != 0
    except ValueError:
        known, parts = False, SplitResult("", "", "", "", "")
    if not known:
        raise HostError("--url takes an address that starts with http:// or https://")
    if "@" in parts.netloc:
        raise HostError(
            "an address with a user or password in it is not used: put them into a header, "
            f"as {_VARIABLE}AUTHORIZATION in the environment"
        )


def origin_of(url: str) -> str:
    """Scheme, host and port, written in one way only."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    shown = f"[{host}]" if ":" in host else host
    port = parts.port or _PORTS.get(parts.scheme)
    return f"{parts.scheme}://{shown}" + ("" if port == _PORTS.get(parts.scheme) else f":{port}")


def _check_same_place(given: str, wrapped: str, name: str) -> None:
    """The entry's headers go where the entry led when it was wrapped, and nowhere else."""
    if not given or _TEMPLATE.search(given):
        return
    check_address(given)
    if origin_of(given) != origin_of(wrapped):
        raise HostError(
            f"`{name}` was wrapped for {origin_of(wrapped)}, and --url says {origin_of(given)}: "
            "its headers are not sent there; unwrap the entry, change it, and wrap it again"
        )


def _given(environment: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The headers in the environment, without those that the ledger has put in their place."""
    placed = {re.sub(r"[^A-Z0-9]", "_", name.upper()) for name in known}
    found: dict[str, str] = {}
    for variable, value in environment.items():
        name = variable.removeprefix(_VARIABLE)
        if name != variable and name and name not in placed:
            found[name.replace("_", "-").lower()] = value
    return found


def _checked(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise HostError(f"{name!r} cannot be the name of a header")
        if not _VALUE.fullmatch(value):
            raise HostError(f"the value of the header {name} has control characters")
    return headers


def _source(entry: str) -> str:
    environment = f"`{_VARIABLE}<NAME>` in the environment"
    if not entry:
        return environment
    return f"the client's entry `{entry}` as it was when it was wrapped, or {environment}"
