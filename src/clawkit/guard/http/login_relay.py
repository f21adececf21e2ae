"""Relays a client's login to the authorization server of the server behind the guard.

A client takes only metadata that are about the address it connects to, which is the guard's. So the
guard stands in for the authorization server as well: its metadata lead to routes here, and here the
client's `resource`, the guard, becomes the server's own, for which the token is then good.

Where the authorization server names itself in its answers (RFC 9207), these come here too, are
checked, and go on in the guard's name. It then knows clients by an address of the guard's; which
address is the client's own is sealed into the client id that the client gets.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast
from urllib.parse import quote, unquote, urlencode

import msgspec
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response

from clawkit.errors import UNREADABLE_JSON, LoginError, SettingsError
from clawkit.guard import locations
from clawkit.guard.http.client_request import (
    RELAY,
    ClientPlace,
)
from clawkit.guard.http.server_logins import ServerLogin, ServerLogins
from clawkit.guard.http.upstream import Target, origin_of
from clawkit.login.clients import LONGEST_URI, MOST_URIS, check_redirect, redirect_allowed
from clawkit.login.document_fetch import Reply
from clawkit.login.metadata import RESOURCE_METADATA, SERVER_METADATA, bearer_challenge
from clawkit.login.oauth import base64url, basic_credentials, with_query
from clawkit.login.records import Client
from clawkit.login.requests import LoginRequest, OAuthRefusal, RouteMaker, count
from clawkit.login.resources import ServerAddress, address_of
from clawkit.system.files import make_private, write_new
from clawkit.system.rate_limiter import TokenBuckets
from clawkit.wire.calls import Workers
from clawkit.wire.http.request_checks import Origins, TrustedProxies

PENDING_SECONDS = 1800.0

AUTHORIZE = f"{RELAY}authorize"
CALLBACK = f"{RELAY}callback"
REGISTER = f"{RELAY}register"
TOKEN = f"{RELAY}token"
REVOKE = f"{RELAY}revoke"

_SEALED = "claw-"
_KEY_BYTES = 32
_THREADS = 4
_LONGEST_STATE = 3900
_LONGEST_VALUE = 2000
_PASSED = ("error", "error_description", "scope")
_ANSWERED = ("code", "error", "error_description")
_BYPASSES = ("request", "request_uri", "response_mode")
"""With these an authorization server might take another request than the one that is checked."""
_SHOWN_IDS = ("none", "client_secret_post", "client_secret_basic")
_GRANTS = ("authorization_code", "refresh_token", "client_credentials")
_FORM = {"content-type": "application/x-www-form-urlencoded"}
_JSON = {"content-type": "application/json"}
_NOT_QUOTABLE = re.compile(r"[^ !#-\[\]-~]")

Sealed = TypeVar("Sealed")


class RelayedClient(msgspec.Struct, frozen=True):
    """A client that registered through the guard: what both sides know it by."""

    id: str
    redirect_uris: tuple[str, ...]
    callback: str
    issuer: str

    def takes(self, uri: str) -> bool:
        """Whether an answer may be sent there."""
        return redirect_allowed(Client(self.id, "", self.redirect_uris, False), uri)


class PendingLogin(msgspec.Struct, frozen=True):
    """Where the answer to a request goes, in whose name, and until when."""

    redirect_uri: str
    state: str | None
    issuer: str
    until: float


class Seal:
    """Signs what others keep for the guard of one server; another guard's is nothing to it."""

    def __init__(self, key: bytes, server: str) -> None:
        self._key = hmac.digest(key, server.encode(), "sha256")

    def close(self, value: msgspec.Struct) -> str:
        payload = msgspec.json.encode(value)
        signed = self._signature(type(value), payload) + payload
        return _SEALED + base64url(signed)

    def open(self, text: str, kind: type[Sealed]) -> Sealed | None:
        """What was closed; None for what was not closed here, or as something else."""
        code = text.removeprefix(_SEALED)
        try:
            raw = base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            return None
        payload = raw[32:]
        if not hmac.compare_digest(raw[:32], self._signature(kind, payload)):
            return None
        return msgspec.json.decode(payload, type=kind)

    def _signature(self, kind: type[Any], payload: bytes) -> bytes:
        return hmac.digest(self._key, kind.__name__.encode() + b"\0" + payload, "sha256")


class LoginRelay:
    """The routes of a login through the guard, and the challenges that lead to them."""

    def __init__(
        self,
        logins: ServerLogins,
        target: Target,
        address: ServerAddress | None,
        paths: Sequence[str],
        seal: Seal,
    ) -> None:
        self._logins = logins
        self._target = target
        self._address = address
        self._paths = tuple(dict.fromkeys(paths))
        self._seal = seal
        self._requests = TokenBuckets(2.0, 120)
        self._threads = Workers(_THREADS)
        # Which hosts and web pages may ask is checked before this.
        make = RouteMaker(Origins(None, ()), TrustedProxies())
        self.app = Starlette(
            routes=[
                make.api(RESOURCE_METADATA, self._about_resource, "GET"),
                make.api(f"{RESOURCE_METADATA}/{{path:path}}", self._about_resource, "GET"),
                make.api(SERVER_METADATA, self._about_server, "GET"),
                make.api(REGISTER, self._register, "POST"),
                make.api(TOKEN, self._token, "POST"),
                make.api(REVOKE, self._revoke, "POST"),
                make.page(AUTHORIZE, self._authorize, "GET"),
                make.page(CALLBACK, self._callback, "GET"),
            ]
        )

    async def challenge(self, said: str, path: str, authority: str) -> str | None:
        """A server's challenge as it leads through the guard; None if it is about no login of ours.

        Raises LoginError where that cannot be.
        """
        asked = {"said": said, "path": path, "authority": authority}
        return await self._threads.start(self._challenge, asked).outcome

    def _challenge(self, said: str, path: str, authority: str) -> str | None:
        told = bearer_challenge(said) or {}
        if self._logins.find(told.get("resource_metadata", "")) is None:
            return None
        origin = self._origin(authority)
        kept = {name: told[name] for name in _PASSED if told.get(name)}
        kept["resource_metadata"] = f"{origin}{RESOURCE_METADATA}{quote(path.rstrip('/'))}"
        written = [f'{name}="{_quotable(value[:_LONGEST_VALUE])}"' for name, value in kept.items()]
        return f"Bearer {', '.join(written)}"

    def _origin(self, authority: str) -> str:
        """The guard as a caller knows it; what it is called as an authorization server, too."""
        if self._address is None:
            raise LoginError(
                "beyond this machine that takes --public-url https://…, the address of the guard "
                "that clients and browsers use"
            )
        return self._address.seen_as(authority)

    def _login(self) -> ServerLogin:
        try:
            found = self._logins.find()
        except LoginError as error:
            why = f"{self._target.origin} cannot be logged in to through the guard: {error}"
            raise OAuthRefusal("temporarily_unavailable", why, 502) from None
        if found is None:
            raise OAuthRefusal(
                "invalid_request", f"{self._target.origin} does not say how to log in to it", 404
            )
        return found

    def _about_resource(self, asked: LoginRequest) -> Response:
        login = self._login()
        path = f"/{asked.parameters.get('path', '')}".rstrip("/") or self._paths[0]
        if path not in {one.rstrip("/") for one in self._paths}:
            raise OAuthRefusal("invalid_target", "There is no such resource here", 404)
        origin = self._origin(asked.authority)
        about: dict[str, Any] = {
            "resource": f"{origin}{quote(path)}",
            "authorization_servers": [origin],
            "bearer_methods_supported": ["header"],
            "resource_name": login.title or self._target.name,
        }
        if login.scopes:
            about["scopes_supported"] = login.scopes
        return JSONResponse(about)

    def _about_server(self, asked: LoginRequest) -> Response:
        server = self._login().server
        origin = self._origin(asked.authority)
        named = bool(server.authorization_response_iss_parameter_supported)
        about: dict[str, Any] = {
            "issuer": origin,
            "authorization_endpoint": f"{origin}{AUTHORIZE}",
            "token_endpoint": f"{origin}{TOKEN}",
            "registration_endpoint": server.registration_endpoint and f"{origin}{REGISTER}",
            "revocation_endpoint": server.revocation_endpoint and f"{origin}{REVOKE}",
            "response_types_supported": server.response_types_supported,
            "response_modes_supported": ["query"],
            "grant_types_supported": _those(server.grant_types_supported, _GRANTS),
            "scopes_supported": server.scopes_supported,
            "token_endpoint_auth_methods_supported": _those(
                server.token_endpoint_auth_methods_supported, _SHOWN_IDS
            ),
            "revocation_endpoint_auth_methods_supported": _those(
                server.revocation_endpoint_auth_methods_supported, _SHOWN_IDS
            ),
            "code_challenge_methods_supported": server.code_challenge_methods_supported,
            "authorization_response_iss_parameter_supported": named,
            # A client's document names the client's addresses, where answers come here first.
            "client_id_metadata_document_supported": (
                bool(server.client_id_metadata_document_supported) and not named
            ),
        }
        return JSONResponse({name: value for name, value in about.items() if value is not None})

    def _register(self, asked: LoginRequest) -> Response:
        count(self._requests, asked)
        login = self._login()
        if login.server.registration_endpoint is None:
            raise OAuthRefusal("invalid_request", "The server registers no clients", 404)
        told = _object(asked.body)
        if told is None:
            raise OAuthRefusal("invalid_client_metadata", "A registration is a JSON object")
        named = login.server.authorization_response_iss_parameter_supported
        uris = _redirects(told) if named else ()
        callback = f"{self._origin(asked.authority)}{CALLBACK}"
        if named:
            told["redirect_uris"] = [callback]
            told.pop("software_statement", None)
        reply = self._send(login.server.registration_endpoint, msgspec.json.encode(told), _JSON)
        given = _object(reply.body)
        if reply.status not in (200, 201) or given is None:
            return _passed_on(reply)
        # With these the client would change its registration past the guard.
        for name in ("registration_client_uri", "registration_access_token"):
            given.pop(name, None)
        if named:
            client = RelayedClient(str(given.get("client_id")), uris, callback, login.server.issuer)
            given |= {"client_id": self._seal.close(client), "redirect_uris": uris}
        return JSONResponse(given, reply.status)

    def _authorize(self, asked: LoginRequest) -> Response:
        count(self._requests, asked)
        login = self._login()
        fields = {name: one for name, one in asked.fields.items() if name not in _BYPASSES}
        self._point(fields, login)
        client = self._client(fields.get("client_id", ""), login)
        if client is not None:
            uri = fields.get("redirect_uri", "")
            if not client.takes(uri):
                raise OAuthRefusal("invalid_request", f"{uri[:200]!r} is not the client's address")
            state = self._pending(uri, fields.get("state"), asked.authority)
            ours = {"client_id": client.id, "redirect_uri": client.callback, "state": state}
            fields |= ours
        return _redirect(login.server.authorization_endpoint, fields)

    def _pending(self, redirect_uri: str, state: str | None, authority: str) -> str:
        until = time.time() + PENDING_SECONDS
        pending = PendingLogin(redirect_uri, state, self._origin(authority), until)
        sealed = self._seal.close(pending)
        if len(sealed) > _LONGEST_STATE:
            raise OAuthRefusal("invalid_request", "state and redirect_uri are too long")
        return sealed

    def _callback(self, asked: LoginRequest) -> Response:
        """An answer of the authorization server: the client gets it in the guard's name."""
        pending = self._seal.open(asked.fields.get("state", ""), PendingLogin)
        if pending is None or pending.until < time.time():
            raise OAuthRefusal(
                "invalid_request", "This answer is to nothing that was asked, or not any more."
            )
        issuer = self._login().server.issuer
        if asked.fields.get("iss") != issuer:
            raise OAuthRefusal(
                "invalid_request", f"This is not an answer of {origin_of(issuer)}: log in again."
            )
        told = {name: asked.fields[name] for name in _ANSWERED if name in asked.fields}
        if pending.state is not None:
            told["state"] = pending.state
        return _redirect(pending.redirect_uri, {**told, "iss": pending.issuer})

    def _token(self, asked: LoginRequest) -> Response:
        login = self._login()
        return self._exchange(asked, login, login.server.token_endpoint)

    def _revoke(self, asked: LoginRequest) -> Response:
        login = self._login()
        if login.server.revocation_endpoint is None:
            raise OAuthRefusal("invalid_request", "The server revokes no tokens", 404)
        return self._exchange(asked, login, login.server.revocation_endpoint)

    def _exchange(self, asked: LoginRequest, login: ServerLogin, endpoint: str) -> Response:
        """Send a form on, as the authorization server knows the client and the resource."""
        count(self._requests, asked)
        fields = dict(asked.fields)
        self._point(fields, login)
        shown, secret = _basic(asked.headers.get("authorization", ""))
        client = self._client(shown or fields.get("client_id", ""), login)
        if client is not None:
            if "client_id" in fields:
                fields["client_id"] = client.id
            if "redirect_uri" in fields:
                if not client.takes(fields["redirect_uri"]):
                    raise OAuthRefusal("invalid_grant", "redirect_uri is not the client's")
                fields["redirect_uri"] = client.callback
            shown = shown and client.id
        headers = dict(_FORM)
        if shown:
            headers["authorization"] = basic_credentials(shown, secret)
        return _passed_on(self._send(endpoint, urlencode(fields).encode(), headers))

    def _point(self, fields: dict[str, str], login: ServerLogin) -> None:
        """Name the server where the client names the guard; no other resource can be meant."""
        resource = fields.pop("resource", None)
        if resource is None:
            return
        path = None if self._address is None else self._address.path_of(resource, self._paths[0])
        ours = path is not None and path in {one.rstrip("/") for one in self._paths}
        if not ours and resource != login.resource:
            raise OAuthRefusal("invalid_target", "resource is not the server behind this guard")
        if login.resource:
            fields["resource"] = login.resource

    def _client(self, client_id: str, login: ServerLogin) -> RelayedClient | None:
        """The client that registered here; None for one that has its id from elsewhere."""
        if not client_id.startswith(_SEALED):
            return None
        found = self._seal.open(client_id, RelayedClient)
        if found is None or found.issuer != login.server.issuer:
            raise OAuthRefusal(
                "invalid_client", "The client is not registered here: let it connect anew.", 401
            )
        return found

    def _send(self, endpoint: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        try:
            reply = self._logins.fetcher.exchange("POST", endpoint, body, headers)
        except LoginError as error:
            why = f"{origin_of(endpoint)}: {error}"
            raise OAuthRefusal("temporarily_unavailable", why, 502) from None
        if 300 <= reply.status < 400 or reply.status >= 500:
            why = f"{origin_of(endpoint)}: it answers with the status {reply.status}"
            raise OAuthRefusal("temporarily_unavailable", why, 502)
        return reply


def open_relay(target: Target, place: ClientPlace, paths: Sequence[str]) -> LoginRelay:
    try:
        address = address_of(*place)
    except SettingsError:
        address = None
    return LoginRelay(ServerLogins(target), target, address, paths, Seal(_key(), target.url))


def _key() -> bytes:
    """The key of all guards of this user: clients keep what it has sealed."""
    file = locations.relay_key()
    try:
        make_private(file.parent)
        with suppress(FileExistsError):
            write_new(file, secrets.token_bytes(_KEY_BYTES))
        key = file.read_bytes()
    except OSError as error:
        raise LoginError(f"{file} cannot be used: {error.strerror}") from None
    if len(key) != _KEY_BYTES:
        raise LoginError(f"{file} is damaged: delete it, and clients register anew")
    return key


def _quotable(text: str) -> str:
    return _NOT_QUOTABLE.sub(" ", text)


def _those(offered: tuple[str, ...] | None, usable: tuple[str, ...]) -> list[str] | None:
    return None if offered is None else [one for one in offered if one in usable]


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        found: object = msgspec.json.decode(body)
    except UNREADABLE_JSON:
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _redirects(told: dict[str, Any]) -> tuple[str, ...]:
    """The addresses of a client, each of which may be sent a code."""
    try:
        uris = msgspec.convert(told.get("redirect_uris"), tuple[str, ...])
        for uri in uris:
            check_redirect(uri)
    except (msgspec.ValidationError, LoginError) as error:
        raise OAuthRefusal("invalid_redirect_uri", str(error)) from None
    if not 1 <= len(uris) <= MOST_URIS or sum(map(len, uris)) > LONGEST_URI:
        why = f"1 to {MOST_URIS} redirect_uris of {LONGEST_URI} characters together are needed"
        raise OAuthRefusal("invalid_redirect_uri", why)
    return uris


def _basic(header: str) -> tuple[str, str]:
    """The id and the secret that a client shows in a header (RFC 6749, 2.3.1)."""
    scheme, _, code = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        shown, _, secret = base64.b64decode(code.strip(), validate=True).decode().partition(":")
    except ValueError:
        raise OAuthRefusal("invalid_client", "The header Authorization cannot be read") from None
    return unquote(shown), unquote(secret)


def _passed_on(reply: Reply) -> Response:
    """What an authorization server said: JSON, or nothing."""
    if not reply.body:
        return Response(status_code=reply.status)
    if _object(reply.body) is None:
        raise OAuthRefusal("temporarily_unavailable", "The authorization server sent no JSON", 502)
    return Response(reply.body, reply.status, media_type="application/json")


def _redirect(place: str, fields: Mapping[str, str]) -> Response:
    headers = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
    return RedirectResponse(with_query(place, fields), 303, headers)
