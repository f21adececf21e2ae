"""Finds out how a server wants a login: its challenge, its metadata, its authorization server's.

Servers of 2025-03-26 have no metadata of their own: there the server's origin is the authorization
server, at the usual paths if that says nothing of itself either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import msgspec

from clawkit.errors import LoginError
from clawkit.login.client.fetch import Web, WebReply, check_place, document
from clawkit.login.client.stored import server_key
from clawkit.login.well_known import RESOURCE_METADATA, metadata_places
from clawkit.system.addresses import origin_of
from clawkit.text.normalization import visible
from clawkit.version import __version__

_LONGEST_HEADER = 8192
_MODERN = "2026-07-28"
_HANDSHAKE = "2025-11-25"
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PART = re.compile(
    rf'[\s,]*(?:(?P<name>{_TOKEN})\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s,"]+))'
    rf"|(?P<scheme>{_TOKEN})(?=[\s,]|$))"
)
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*")


class Challenge(msgspec.Struct, frozen=True):
    """What a server says to who has no token, or not the right one (RFC 6750, RFC 9728)."""

    metadata: str = ""
    scope: str = ""
    error: str = ""


def challenge_in(values: Sequence[str]) -> Challenge | None:
    """The Bearer challenge in the values of `WWW-Authenticate`, if there is one."""
    scheme, fields = "", dict[str, str]()
    for part in _PART.finditer(", ".join(values)[:_LONGEST_HEADER]):
        if part["scheme"]:
            if scheme == "bearer":
                break
            scheme = part["scheme"].lower()
        elif scheme == "bearer":
            plain: str | None = part["plain"]
            value = re.sub(r"\\(.)", r"\1", part["quoted"]) if plain is None else plain
            fields.setdefault(part["name"].lower(), value)
    if scheme != "bearer":
        return None
    return Challenge(
        fields.get("resource_metadata", ""), _scope(fields.get("scope")), fields.get("error", "")
    )


class ProtectedResource(msgspec.Struct, frozen=True):
    """What a server says of itself (RFC 9728)."""

    resource: str
    authorization_servers: tuple[str, ...] | None = None
    scopes_supported: tuple[str, ...] | None = None


class AuthorizationServer(msgspec.Struct, frozen=True):
    """Who gives tokens, and how (RFC 8414, OpenID Connect Discovery)."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str = ""
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_signing_alg_values_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None
    is_assumed: bool = msgspec.field(default=False, name="clawkit_assumed")
    """Whether it said nothing of itself, so that its paths are those of 2025-03-26."""


class HowToLogIn(msgspec.Struct, frozen=True):
    """What a login to a server takes: whom to ask, for what, with which scope."""

    server: AuthorizationServer
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


def _resource(web: Web, url: str, challenge: Challenge | None) -> ProtectedResource | None:
    what = "the metadata of the server"
    for place in _resource_places(url, challenge):
        reply = web.get(place, what)
        if reply.status != 200:
            continue
        found = document(reply, ProtectedResource, what)
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
    origin, path = origin_of(url), urlsplit(url).path.rstrip("/")
    if path:
        yield f"{origin}{RESOURCE_METADATA}{path}"
    yield f"{origin}{RESOURCE_METADATA}"


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


def _server(web: Web, issuer: str) -> AuthorizationServer:
    check_place(issuer, "the authorization server")
    found = _metadata(web, issuer)
    if found is None:
        raise LoginError(f"{origin_of(issuer)}, which should give tokens, has no metadata")
    return found


def _legacy_server(web: Web, url: str) -> AuthorizationServer:
    origin = origin_of(url)
    found = _metadata(web, origin)
    if found is not None:
        return found
    return AuthorizationServer(
        issuer=origin,
        authorization_endpoint=f"{origin}/authorize",
        token_endpoint=f"{origin}/token",
        registration_endpoint=f"{origin}/register",
        is_assumed=True,
    )


def _metadata(web: Web, issuer: str) -> AuthorizationServer | None:
    what = "the metadata of the authorization server"
    for place in metadata_places(issuer):
        reply = web.get(place, what)
        if reply.status == 200:
            return _checked(reply, issuer, what)
    return None


def _checked(reply: WebReply, issuer: str, what: str) -> AuthorizationServer:
    found = document(reply, AuthorizationServer, what)
    if found.is_assumed:
        found = msgspec.structs.replace(found, is_assumed=False)
    # An origin means the same with and without a slash; nothing else does.
    if found.issuer != issuer and {found.issuer, issuer} != _both(issuer):
        raise LoginError(
            f"{what} at {origin_of(reply.url)} is that of {visible(found.issuer, 200)}, not of "
            f"{visible(issuer, 200)}: it is not used"
        )
    for name in ("authorization", "token", "registration", "revocation"):
        place: str | None = getattr(found, f"{name}_endpoint")
        if place:
            check_place(place, f"the {name} endpoint")
    return found


def _both(issuer: str) -> set[str]:
    origin = origin_of(issuer)
    return {origin, f"{origin}/"}


def _scope(text: str | None) -> str:
    """The scopes in a text, or none where it is not as it must be."""
    joined = " ".join((text or "").split())
    return joined if _SCOPE.fullmatch(joined) else ""
