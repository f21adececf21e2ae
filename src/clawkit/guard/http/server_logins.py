"""Finds out how a remote server wants its clients to log in (RFC 9728, RFC 8414, OpenID).

A server can lead the guard only to where it could get itself: one on the internet not into a
private network, one in a network not to this machine. Plain HTTP is for this machine, and for the
server's own origin.
"""

from __future__ import annotations

import threading
import time
from urllib.parse import urlsplit

import msgspec

from clawkit.errors import HostError, LoginError
from clawkit.guard.http.upstream import Target, check_address, origin_of
from clawkit.login.document_fetch import SECONDS, DocumentFetcher, resolved
from clawkit.login.metadata import (
    ResourceMetadata,
    ServerMetadata,
    is_issuer,
    metadata_places,
    read_server,
    resource_places,
)
from clawkit.login.oauth import decoded
from clawkit.system.addresses import Reach, is_loopback, reach_of

KEPT_SECONDS = 300.0
FAILED_SECONDS = 5.0
EXCHANGE_SECONDS = 20.0
"""How long the authorization server may take for a registration or a token."""

_MOST_SERVERS = 3


class ServerLogin(msgspec.Struct, frozen=True):
    """How one server wants a login; `resource` is empty for servers that know of none."""

    resource: str
    scopes: tuple[str, ...]
    title: str
    server: ServerMetadata


class ServerLogins:
    """What is found out about one server, kept for a few minutes."""

    def __init__(self, target: Target, reach: Reach | None = None) -> None:
        """`reach` is where the server is, if that is known."""
        self._target = target
        self._reach = reach
        self._lock = threading.Lock()
        self._found: ServerLogin | None = None
        self._problem: LoginError | None = None
        self._until = 0.0
        self._documents, self.fetcher = (
            DocumentFetcher(
                may_connect=self._may_connect, may_be_plain=self._may_be_plain, seconds=seconds
            )
            for seconds in (SECONDS, EXCHANGE_SECONDS)
        )

    def find(self, hint: str = "") -> ServerLogin | None:
        """How it wants a login; None if it wants none that we know. LoginError says why not.

        `hint` is where its challenge says that its metadata are.
        """
        with self._lock:
            if time.monotonic() >= self._until:
                self._find(hint)
            if self._problem is not None:
                raise self._problem
            return self._found

    def _find(self, hint: str) -> None:
        self._found = self._problem = None
        try:
            self._found = self._asked(hint)
        except LoginError as error:
            self._problem = error
        kept = KEPT_SECONDS if self._found is not None else FAILED_SECONDS
        self._until = time.monotonic() + kept

    def _asked(self, hint: str) -> ServerLogin | None:
        about = self._resource(hint)
        if about is None:  # 2025-03-26: the server is its own authorization server
            server = self._server(self._target.origin)
            return None if server is None else ServerLogin("", (), "", server)
        for issuer in (about.authorization_servers or ())[:_MOST_SERVERS] or (self._target.origin,):
            server = self._server(issuer)
            if server is not None:
                name = about.resource_name or ""
                title = name[:200] if name.isprintable() else ""
                return ServerLogin(about.resource, about.scopes_supported or (), title, server)
        raise LoginError("none of the authorization servers that it names says how they work")

    def _resource(self, hint: str) -> ResourceMetadata | None:
        at_home = self._target.at_home(hint) if hint else None
        for place in (at_home, *resource_places(self._target.url)):
            body = None if place is None else self._document(place)
            if place is not None and body is not None:
                found = decoded(body, ResourceMetadata, _unusable(place))
                self._check_resource(found.resource)
                return found
        return None

    def _check_resource(self, resource: str) -> None:
        """A token for another resource would be good for somebody else."""
        named = urlsplit(resource).path.rstrip("/")
        path = self._target.path
        covers = path == named or path.startswith(f"{named}/")
        if self._target.at_home(resource) is None or not covers:
            raise LoginError(f"its metadata are about another resource, {resource[:200]!r}")

    def _server(self, issuer: str) -> ServerMetadata | None:
        _check(issuer, "its authorization server")
        for place in metadata_places(issuer):
            body = self._document(place)
            if body is not None:
                needed = ("authorization_endpoint", "token_endpoint")
                found = read_server(body, _unusable(place), *needed)
                self._check_server(found, issuer)
                return found
        return None

    def _check_server(self, found: ServerMetadata, issuer: str) -> None:
        if not is_issuer(found, issuer):
            raise LoginError(
                f"the metadata of the authorization server {issuer[:200]!r} are those of another, "
                f"{found.issuer[:200]!r}"
            )
        if found.require_pushed_authorization_requests:
            raise LoginError("its authorization server wants pushed requests (RFC 9126)")
        if found.authorization_response_iss_parameter_supported and not found.registration_endpoint:
            raise LoginError(
                "its authorization server names itself in its answers (RFC 9207) and registers no "
                "clients, so that no client would take an answer that came through the guard"
            )
        endpoints = (
            *(found.authorization_endpoint, found.token_endpoint),
            *(found.registration_endpoint, found.revocation_endpoint),
        )
        for endpoint in filter(None, endpoints):
            _check(endpoint, "an endpoint of its authorization server")
            if urlsplit(endpoint).scheme != "https" and not self._may_be_plain(endpoint):
                raise LoginError(f"{origin_of(endpoint)} must be an address with https://")
        if is_loopback(found.authorization_endpoint) and self._own_reach() != Reach.MACHINE:
            raise LoginError("its authorization server would lead your browser to this machine")

    def _document(self, url: str) -> bytes | None:
        """A document; None where there is none."""
        try:
            reply = self._documents.exchange("GET", url)
            # Web sites have a page for everything.
            if 400 <= reply.status < 500 or (reply.status == 200 and not reply.is_json):
                return None
            if reply.status != 200:
                raise LoginError(f"it answers with the status {reply.status}")
        except LoginError as error:
            raise LoginError(f"{origin_of(url)}: {error}") from None
        return reply.body

    def _own_reach(self) -> Reach:
        """Where the server itself is: looked up once, so that no later answer widens it."""
        if self._reach is None:
            parts = urlsplit(self._target.url)
            try:
                found = resolved(parts.hostname or "", parts.port or 443, SECONDS)
            except Exception:  # noqa: BLE001 - a name that nobody knows here is nowhere near
                found = set[str]()
            self._reach = min(map(reach_of, found), default=Reach.INTERNET)
        return self._reach

    def _may_connect(self, address: str) -> bool:
        return reach_of(address) <= self._own_reach()

    def _may_be_plain(self, url: str) -> bool:
        plain = urlsplit(url).scheme == "http"
        return plain and (is_loopback(url) or origin_of(url) == self._target.origin)


def _unusable(url: str) -> str:
    return f"{url[:200]} cannot be used"


def _check(url: str, what: str) -> None:
    try:
        check_address(url)
    except HostError:
        raise LoginError(f"{what} has no address that can be used: {url[:200]!r}") from None
    if "#" in url or not url.isascii() or any(c.isspace() or not c.isprintable() for c in url):
        raise LoginError(f"{what} has no address that can be used: {url[:200]!r}")
