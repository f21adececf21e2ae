"""The authorization server of MCP: metadata, registration, consent, tokens, revocation.

OAuth 2.1 as MCP's revisions want it: metadata (RFC 8414, RFC 9728), dynamic registration and
clients' own documents, PKCE with S256 alone, resource indicators (RFC 8707), `iss` in every answer
(RFC 9207), refresh tokens that are good once, revocation (RFC 7009). Clients of 2025-03-26 name no
resource: they mean the main one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clawkit.errors import LoginError
from clawkit.login import clients, grants, pages, people
from clawkit.login.browsers import AUTHORIZE, Browsers
from clawkit.login.document_fetch import DocumentFetcher
from clawkit.login.grants import Consent, Tokens
from clawkit.login.metadata import SERVER_METADATA
from clawkit.login.oauth import pkce_challenge, with_query
from clawkit.login.records import ACCESS_SECONDS, Client, Login, User, digest
from clawkit.login.requests import (
    LoginRequest,
    OAuthRefusal,
    RouteMaker,
    count,
    fields_of,
    is_same_secret,
)
from clawkit.login.resources import Challenges, ProtectedServer, ServerAddress, answer_of
from clawkit.login.sign_in import SignIn
from clawkit.store.database import Connection, Database
from clawkit.system.rate_limiter import TokenBuckets
from clawkit.wire.http.request_checks import Origins, TrustedProxies

if TYPE_CHECKING:
    from clawkit.login.provider import ProviderSignIn

TOKEN = "/login/token"
REGISTER = "/login/register"
REVOKE = "/login/revoke"

_SEE_OTHER = 303
_LONGEST_STATE = 4000
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_MOST_SCOPES = 200


ProviderMaker = Callable[[Database, ServerAddress, Browsers, Callable[[], float]], "ProviderSignIn"]
"""Makes the way to an identity provider, for a server at an address."""


class AuthorizationRequest(msgspec.Struct, frozen=True):
    """What a client asks a person for."""

    client: Client
    redirect_uri: str
    state: str
    path: str
    wanted: tuple[str, ...]
    challenge: str


class _SentBack(Exception):
    """Ends an authorization request with an error that the client gets."""

    def __init__(self, redirect_uri: str, state: str, code: str, why: str) -> None:
        super().__init__(why)
        self.redirect_uri = redirect_uri
        self.told = {"error": code, "error_description": why, "state": state}


class LoginServer:
    """Logins for one server, over one store; any number of processes share that."""

    def __init__(
        self,
        database: Database,
        server: ProtectedServer,
        address: ServerAddress,
        *,
        origins: Origins,
        proxies: TrustedProxies | None = None,
        fetcher: DocumentFetcher | None = None,
        provider: ProviderMaker | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.address = address
        self.challenges = Challenges(address)
        self._database = database
        self._server = server
        self._fetcher = fetcher or DocumentFetcher()
        self._clock = clock
        self._browsers = Browsers(database, address, clock)
        self._provider = provider(database, address, self._browsers, clock) if provider else None
        self._sign_in = SignIn(
            database, server, address, self._browsers, clock, provider=self._provider
        )
        self._registrations = TokenBuckets(1 / 60, 20)
        self._requests = TokenBuckets(1.0, 60)
        self._exchanges = TokenBuckets(2.0, 120)
        self.routes = self._routes(RouteMaker(origins, proxies or TrustedProxies()))
        self._begin()

    def _begin(self) -> None:
        """Tidy up, and note where this is, for the links that `claw user` prints."""
        now = self._clock()
        with self._database.registry(write=True) as connection:
            grants.tidy(connection, now)
            issuer = self._provider.issuer if self._provider is not None else ""
            people.note_server(connection, self.address.origin, self._server.title, now, issuer)

    def _routes(self, make: RouteMaker) -> list[Route]:
        return [
            make.api(SERVER_METADATA, self._about_server, "GET"),
            *make.about_resource(
                self._server, self.address, self.address.origin, lambda: self._server.scopes
            ),
            make.api(REGISTER, self._register, "POST"),
            make.api(TOKEN, self._token, "POST"),
            make.api(REVOKE, self._revoke, "POST"),
            make.page(AUTHORIZE, self._authorize, "GET"),
            make.page(AUTHORIZE, self._agreed, "POST"),
            *self._sign_in.routes(make),
        ]

    def may_be(self, secret: str) -> bool:
        return secret.startswith(grants.ACCESS)

    def is_signed(self, secret: str, path: str) -> bool:  # noqa: ARG002 - the store knows
        return False

    def check(self, secret: str, path: str) -> Login | None:
        """Who shows an access token for the resource at this path; None if nobody does."""
        with self._database.registry() as connection:
            login = grants.check(connection, digest(secret), self._bound(path), self._clock())
        return login if login is not None and self._server.is_for(login.person) else None

    def _bound(self, path: str) -> str:
        """What a login is bound to: a resource, and after `#` which server it is of."""
        kind = self._server.kind
        return self.address.resource(path) + (f"#{kind}" if kind else "")

    def _about_server(self, _: LoginRequest) -> Response:
        origin = self.address.origin
        return JSONResponse(
            {
                "issuer": origin,
                "authorization_endpoint": f"{origin}{AUTHORIZE}",
                "token_endpoint": f"{origin}{TOKEN}",
                "registration_endpoint": f"{origin}{REGISTER}",
                "revocation_endpoint": f"{origin}{REVOKE}",
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "revocation_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
                "scopes_supported": list(self._server.scopes),
                "authorization_response_iss_parameter_supported": True,
                "client_id_metadata_document_supported": True,
            }
        )

    def _register(self, asked: LoginRequest) -> Response:
        count(self._registrations, asked)
        try:
            metadata = clients.read_metadata(asked.body)
        except LoginError as error:
            code = "redirect_uri" if "redirect_uri" in str(error) else "client_metadata"
            raise OAuthRefusal(f"invalid_{code}", str(error)) from None
        now = self._clock()
        with self._database.registry(write=True) as connection:
            client = clients.register(connection, metadata, now)
        return JSONResponse(
            {
                "client_id": client.id,
                "client_id_issued_at": int(now),
                "client_name": client.name,
                "redirect_uris": client.redirect_uris,
                "token_endpoint_auth_method": "none",
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
            },
            201,
        )

    def _authorize(self, asked: LoginRequest) -> Response:
        """Sign in first: for a stranger nothing is fetched, and nobody is sent anywhere."""
        count(self._requests, asked)
        next_ = f"{AUTHORIZE}?{asked.query}"
        person = self._browsers.person(asked)
        if person is None:
            return self._sign_in.page(asked, next_)
        try:
            wanted = self._wanted(asked.fields)
        except _SentBack as back:
            return self._redirect(back.redirect_uri, back.told)
        return self._ask(asked, wanted, person, next_)

    def _ask(
        self,
        asked: LoginRequest,
        wanted: AuthorizationRequest,
        person: User,
        next_: str,
        problem: str = "",
    ) -> Response:
        offer = self._server.offer(person, wanted.path, wanted.wanted)
        if offer.is_empty:
            page = partial(pages.not_allowed_page, self._server.title, wanted.redirect_uri, person)
            return self._browsers.shown(asked, page, next_)
        page = partial(
            pages.consent, self._server.title, wanted.client, wanted.redirect_uri, person, offer
        )
        return self._browsers.shown(asked, partial(page, problem=problem), next_)

    def _agreed(self, asked: LoginRequest) -> Response:
        """What a person answered; all that was asked is read and checked again."""
        count(self._requests, asked)
        self._browsers.check_form(asked, asked.fields.get("csrf", ""))
        next_ = asked.fields.get("next", "")
        path, _, query = next_.partition("?")
        if path != AUTHORIZE:
            raise OAuthRefusal("invalid_request", "This form is not complete")
        person = self._browsers.person(asked)
        if person is None:
            return self._sign_in.page(asked, next_)
        try:
            wanted = self._wanted(fields_of(query)[0])
        except _SentBack as back:
            return self._redirect(back.redirect_uri, back.told)
        if asked.fields.get("answer") != "yes":
            told = {"error": "access_denied", "state": wanted.state}
            return self._redirect(wanted.redirect_uri, told)
        offer = self._server.offer(person, wanted.path, wanted.wanted)
        try:
            answer = answer_of(offer, asked.fields, asked.many)
        except LoginError as error:
            return self._ask(asked, wanted, person, next_, str(error))
        consent = Consent(
            client=wanted.client.id,
            client_name=wanted.client.name,
            redirect_uri=wanted.redirect_uri,
            challenge=wanted.challenge,
            person=person.id,
            resource=self._bound(wanted.path),
            scope=answer.scope,
            being=answer.being,
        )
        with self._database.registry(write=True) as connection:
            code = grants.keep_code(connection, consent, self._clock())
            grants.note_client(connection, wanted.client)
        return self._redirect(wanted.redirect_uri, {"code": code, "state": wanted.state})

    def _redirect(self, uri: str, told: dict[str, str]) -> Response:
        """Back to the client, with who says so (RFC 9207)."""
        fields = {name: value for name, value in told.items() if value}
        fields["iss"] = self.address.origin
        headers = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
        response = Response(status_code=_SEE_OTHER, headers=headers)
        response.headers["location"] = with_query(uri, fields)
        return response

    def _wanted(self, fields: Mapping[str, str]) -> AuthorizationRequest:
        client = self._client(fields.get("client_id", ""))
        uri = fields.get("redirect_uri", "")
        if not uri and len(client.redirect_uris) == 1:
            uri = client.redirect_uris[0]
        if not clients.redirect_allowed(client, uri):
            raise OAuthRefusal(
                "invalid_request",
                f"{client.name or 'This program'} wants the answer sent to {uri[:200]!r}, which is "
                "not an address that it gave before. Nothing was sent there.",
            )
        state = fields.get("state", "")
        if len(state) > _LONGEST_STATE:
            raise OAuthRefusal("invalid_request", "state is too long")
        back = partial(_SentBack, uri, state)
        if fields.get("response_type") != "code":
            raise back("unsupported_response_type", "response_type must be code")
        if fields.get("code_challenge_method") != "S256":
            raise back("invalid_request", "code_challenge_method must be S256")
        challenge = fields.get("code_challenge", "")
        if not _CHALLENGE.fullmatch(challenge):
            raise back("invalid_request", "code_challenge is missing, or none of S256")
        path = self._path(fields.get("resource"))
        if path is None:
            raise back("invalid_target", "resource is not one of this server")
        scopes = fields.get("scope", "").split()
        if len(scopes) > _MOST_SCOPES:
            raise back("invalid_scope", "too many scopes")
        return AuthorizationRequest(client, uri, state, path, tuple(scopes), challenge)

    def _client(self, client_id: str) -> Client:
        try:
            client = clients.find(self._database, self._fetcher, client_id, self._clock())
        except LoginError as error:
            raise OAuthRefusal(
                "invalid_client", f"The document at {client_id[:200]} cannot be used: {error}"
            ) from None
        if client is None:
            raise OAuthRefusal(
                "invalid_client",
                "This program is not registered here, or no longer: let it connect anew.",
            )
        return client

    def _path(self, resource: str | None) -> str | None:
        """The path of the resource that is meant; None if it is not one of this server."""
        if resource is None:
            return self._server.main_path
        path = self.address.path_of(resource, self._server.main_path)
        return path if path is not None and self._server.is_resource(path) else None

    def _token(self, asked: LoginRequest) -> Response:
        count(self._exchanges, asked)
        kind = asked.fields.get("grant_type", "")
        if kind == "authorization_code":
            return _issued(self._exchange(asked.fields))
        if kind == "refresh_token":
            return _issued(self._refresh(asked.fields))
        raise OAuthRefusal(
            "unsupported_grant_type", "grant_type must be authorization_code or refresh_token"
        )

    def _exchange(self, fields: Mapping[str, str]) -> Tokens:
        """The tokens for a code. What was noticed about it is kept, also if it is refused."""
        now = self._clock()
        tokens: Tokens | None = None
        with self._database.registry(write=True) as connection:
            found = grants.use_code(connection, fields.get("code", ""), now)
            if found is not None and found.fresh and self._fits(found.consent, fields):
                agreed = found.consent
                if self._may_use(connection, agreed.person, agreed.being):
                    tokens = grants.begin(connection, found, now)
        if tokens is None:
            raise OAuthRefusal(
                "invalid_grant", "The code is not known, over, used, or not for this"
            )
        return tokens

    def _fits(self, consent: Consent, fields: Mapping[str, str]) -> bool:
        verifier = fields.get("code_verifier", "")
        return (
            _VERIFIER.fullmatch(verifier) is not None
            and is_same_secret(pkce_challenge(verifier), consent.challenge)
            and fields.get("client_id") == consent.client
            and fields.get("redirect_uri", consent.redirect_uri) == consent.redirect_uri
            and self._is_for(fields, consent.resource)
        )

    def _is_for(self, fields: Mapping[str, str], resource: str) -> bool:
        """Whether what was agreed to is of this server, and what a token request names, if any."""
        path = self._path(fields.get("resource", resource.partition("#")[0]))
        return path is not None and self._bound(path) == resource

    def _may_use(self, connection: Connection, person_id: str, being: int | None) -> bool:
        """Whether somebody may still use what they agreed to."""
        person = people.of_id(connection, person_id)
        if person is None or not self._server.is_for(person):
            return False
        return being is None or people.may_use(connection, person, being)

    def _refresh(self, fields: Mapping[str, str]) -> Tokens:
        """New tokens for a refresh token, which a request that asks for too much leaves as it is.

        A refusal within the transaction undoes it; what was noticed of a thief is kept.
        """
        now = self._clock()
        tokens: Tokens | None = None
        with self._database.registry(write=True) as connection:
            found = grants.refreshed(connection, fields.get("refresh_token", ""), now)
            if found is not None and found[1]:
                grant = found[0]
                if fields.get("client_id") != grant.client:
                    grants.end(connection, grant.id, "another client had its refresh token", now)
                elif self._is_for({}, grant.resource) and self._may_use(
                    connection, grant.person, grant.being
                ):
                    if not self._is_for(fields, grant.resource):
                        raise OAuthRefusal("invalid_target", "resource is not what it is for")
                    scope = _narrowed(grant.scope, fields.get("scope", ""))
                    tokens = grants.renew(connection, grant, scope, now)
        if tokens is None:
            raise OAuthRefusal(
                "invalid_grant", "The refresh token is not known, over, used, or not for this"
            )
        return tokens

    def _revoke(self, asked: LoginRequest) -> Response:
        count(self._exchanges, asked)
        token, client = asked.fields.get("token", ""), asked.fields.get("client_id", "")
        if not token or not client:
            raise OAuthRefusal("invalid_request", "token and client_id are needed")
        with self._database.registry(write=True) as connection:
            grants.end_token(connection, token, client, self._clock())
        return Response(status_code=200)


def _narrowed(granted: str, wanted: str) -> str:
    """The scope that a refreshed token has, which is never more than was granted."""
    if not set(wanted.split()) <= set(granted.split()):
        raise OAuthRefusal("invalid_scope", f"scope can be no more than was granted: {granted}")
    return wanted or granted


def _issued(tokens: Tokens) -> Response:
    return JSONResponse(
        {
            "access_token": tokens.access,
            "token_type": "Bearer",
            "expires_in": int(ACCESS_SECONDS),
            "refresh_token": tokens.refresh,
            "scope": tokens.scope,
        }
    )
