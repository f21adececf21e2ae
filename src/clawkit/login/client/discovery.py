"""Finds out how a server wants a login, and which command helps whom it refuses.

It asks for its challenge, its metadata, and its authorization server's.

Servers of 2025-03-26 have no metadata of their own: there the server's origin is the authorization
server, at the usual paths if that says nothing of itself either.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import msgspec

from clawkit.errors import LoginError
from clawkit.login.client.fetch import Web, WebReply, check_place, document
from clawkit.login.client.stored import LoginFile, server_key
from clawkit.login.metadata import (
    ResourceMetadata,
    ServerMetadata,
    bearer_challenge,
    is_issuer,
    metadata_places,
    read_server,
    resource_places,
)
from clawkit.system.addresses import origin_of
from clawkit.text.normalization import visible
from clawkit.version import __version__

_MODERN = "2026-07-28"
_HANDSHAKE = "2025-11-25"
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*")


class Challenge(msgspec.Struct, frozen=True):
    """What a server says to who has no token, or not the right one (RFC 6750, RFC 9728)."""

    metadata: str = ""
    scope: str = ""
    error: str = ""


def challenge_in(values: Sequence[str]) -> Challenge | None:
    """The Bearer challenge in the values of `WWW-Authenticate`, if there is one."""
    fields = bearer_challenge(", ".join(values))
    if fields is None:
        return None
    return Challenge(
        fields.get("resource_metadata", ""), _scope(fields.get("scope")), fields.get("error", "")
    )


class HowToLogIn(msgspec.Struct, frozen=True):
    """What a login to a server takes: whom to ask, for what, with which scope."""

    server: ServerMetadata
    resource: str
    scope: str


def discover(web: Web, url: str) -> HowToLogIn:
    """Ask a server, and whoever it names; LoginError says what is missing."""
    challenge = _probe(web, url)
    resource = _resource(web, url, challenge)
    if resource is None and challenge is None:
        raise LoginError(
            f"{origin_of(url)} asks for no login: neither does it refuse who has none, nor does it "
            "say where one is given"
        )
    scope = challenge.scope if challenge is not None else ""
    if resource is None:
        return HowToLogIn(_legacy_server(web, url), "", scope)
    if not scope:
        scope = _scope(" ".join(resource.scopes_supported or ()))
    named = resource.authorization_servers or ()
    server = _server(web, named[0]) if named else _legacy_server(web, url)
    return HowToLogIn(server, resource.resource, scope)


def _probe(web: Web, url: str) -> Challenge | None:
    """What the server says to who has no token: to a call, a handshake, or one who listens.

    The last is how servers of the old HTTP+SSE transport are called.
    """
    for ask in (
        lambda: web.head_of("POST", url, *_message("tools/list", _MODERN)),
        lambda: web.head_of("POST", url, *_message("initialize", _HANDSHAKE)),
        lambda: web.head_of("GET", url, None, {"accept": "text/event-stream"}),
    ):
        reply = ask()
        if reply.status == 401:
            return challenge_in(reply.headers.get_list("www-authenticate")) or Challenge()
        if reply.status in (301, 302, 307, 308):
            raise LoginError(
                f"{origin_of(url)} says that its address has changed ({reply.status}): log in at "
                "the new one"
            )
    return None


def _message(method: str, version: str) -> tuple[bytes, dict[str, str]]:
    about = {"name": "clawkit", "version": __version__}
    if method == "initialize":
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": about}
    else:
        meta = {"protocolVersion": version, "clientInfo": about, "clientCapabilities": {}}
        params = {"_meta": {f"io.modelcontextprotocol/{name}": one for name, one in meta.items()}}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": version,
        "mcp-method": method,
    }
    return json.dumps(message).encode(), headers


def _resource(web: Web, url: str, challenge: Challenge | None) -> ResourceMetadata | None:
    what = "the metadata of the server"
    for place in _resource_places(url, challenge):
        reply = web.get(place, what)
        if reply.status != 200:
            continue
        found = document(reply, ResourceMetadata, what)
        if not _covers(found.resource, url):
            raise LoginError(
                f"{origin_of(reply.url)} says that it is {visible(found.resource, 200)}, which is "
                "not where you log in: a token for that could be misused, so none is asked for"
            )
        return found
    return None


def _resource_places(url: str, challenge: Challenge | None) -> Iterator[str]:
    if challenge is not None and challenge.metadata:
        yield check_place(challenge.metadata, "the metadata that the server names")
    yield from resource_places(url)


def _covers(resource: str, url: str) -> bool:
    """Whether a resource is the server, or what is above it on the same origin."""
    try:
        theirs, ours = urlsplit(server_key(resource)), urlsplit(server_key(url))
    except ValueError:
        return False
    above = theirs.path
    within = ours.path == above or ours.path.startswith(f"{above}/")
    alike = (theirs.scheme, theirs.netloc) == (ours.scheme, ours.netloc)
    return alike and within and "#" not in resource and theirs.query in ("", ours.query)


def _server(web: Web, issuer: str) -> ServerMetadata:
    check_place(issuer, "the authorization server")
    found = _metadata(web, issuer)
    if found is None:
        raise LoginError(f"{origin_of(issuer)}, which should give tokens, has no metadata")
    return found


def _legacy_server(web: Web, url: str) -> ServerMetadata:
    origin = origin_of(url)
    found = _metadata(web, origin)
    if found is not None:
        return found
    return ServerMetadata(
        issuer=origin,
        authorization_endpoint=f"{origin}/authorize",
        token_endpoint=f"{origin}/token",
        registration_endpoint=f"{origin}/register",
        code_challenge_methods_supported=("S256",),  # which that revision demands
    )


def _metadata(web: Web, issuer: str) -> ServerMetadata | None:
    what = "the metadata of the authorization server"
    for place in metadata_places(issuer):
        reply = web.get(place, what)
        if reply.status == 200:
            return _checked(reply, issuer, what)
    return None


def _checked(reply: WebReply, issuer: str, what: str) -> ServerMetadata:
    problem = f"{what} of {origin_of(reply.url)} cannot be used"
    found = read_server(reply.body, problem, "token_endpoint")
    if not is_issuer(found, issuer):
        raise LoginError(
            f"{what} at {origin_of(reply.url)} is that of {visible(found.issuer, 200)}, not of "
            f"{visible(issuer, 200)}: it is not used"
        )
    for name in ("authorization", "token", "registration", "revocation"):
        place: str | None = getattr(found, f"{name}_endpoint")
        if place:
            check_place(place, f"the {name} endpoint")
    return found


def _scope(text: str | None) -> str:
    """The scopes in a text, or none where it is not as it must be."""
    joined = " ".join((text or "").split())
    return joined if _SCOPE.fullmatch(joined) else ""


_SHOWN = re.compile(r"[A-Za-z0-9:/._~+*= -]{1,500}")


def login_advice(called: str, url: str, status: int, challenges: Sequence[str]) -> str:
    """What to do after a 401 or 403, if a login is what is missing; `called` names the server."""
    challenge = challenge_in(challenges)
    command = f"claw login {shlex.quote(called)}"
    if status == 401:
        wanted = "a login" if challenge is not None else "other credentials, or a login"
        return f"it wants {wanted}: run `{command}`"
    if challenge is None or challenge.error != "insufficient_scope":
        return ""
    try:
        record = LoginFile(url).record()
    except LoginError:
        record = None
    granted = set(record.scope.split() if record is not None else ())
    if record is not None and challenge.scope and granted >= set(challenge.scope.split()):
        return "it refuses although you are logged in with every scope that it asks for"
    if not _SHOWN.fullmatch(challenge.scope):
        return f"it wants a login that may do more: run `{command}`"
    more = f"{command} --scope {shlex.quote(challenge.scope)}"
    return f"it wants a login that may do more: run `{more}`"
