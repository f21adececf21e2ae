"""Signing in at an identity provider: OpenID Connect, a code with PKCE, state and nonce.

What proves that a browser is the one that was sent away is made of its own cookie and the state, so
that nothing of it has to be kept: the nonce, and the verifier of PKCE.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from clawkit.errors import LoginError
from clawkit.login import identities, pages, people
from clawkit.login.browsers import HOME, Browsers, safe_next
from clawkit.login.identities import AccountPeople, MemberRule, PendingSignIn, UnknownAccountError
from clawkit.login.issuers import Issuer
from clawkit.login.oauth import base64url, basic_credentials, decoded, pkce_challenge, with_query
from clawkit.login.records import User, digest, new_secret
from clawkit.login.requests import LoginRequest, OAuthRefusal, RouteMaker, count, is_same_secret
from clawkit.login.resources import ServerAddress
from clawkit.store.database import Database
from clawkit.system.rate_limiter import TokenBuckets

PROVIDER = "/login/provider"
BACK = "/login/provider/back"

_SCOPES = "openid email profile"
_NOT_YOURS = (
    "This answer is not for this browser, was used, or took too long. Begin again where you were."
)
_UNREADABLE = "its answer cannot be read"
_SEE_OTHER = 303
_log = logging.getLogger("clawkit.login")


class RelyingParty(msgspec.Struct, frozen=True):
    """What the provider knows this server as; a client without a secret is a public one."""

    id: str
    secret: str = ""

    def __repr__(self) -> str:
        return f"RelyingParty({self.id!r})"


class _Tokens(msgspec.Struct, frozen=True):
    id_token: str
    access_token: str = ""


class ProviderSignIn:
    """The way to the provider and back, of one server."""

    def __init__(
        self,
        database: Database,
        address: ServerAddress,
        browsers: Browsers,
        clock: Callable[[], float],
        *,
        issuer: Issuer,
        client: RelyingParty,
        rules: Sequence[MemberRule] = (),
    ) -> None:
        self._database = database
        self._browsers = browsers
        self._clock = clock
        self._issuer = issuer
        self._client = client
        self._people = AccountPeople(database, issuer.url, rules, clock)
        self._back = f"{address.origin}{BACK}"
        self._departures = TokenBuckets(1 / 5, 30)
        self._answers = TokenBuckets(1.0, 60)

    @property
    def issuer(self) -> str:
        return self._issuer.url

    def routes(self, make: RouteMaker) -> list[Route]:
        return [
            make.page(PROVIDER, self._leave, "POST"),
            make.page(BACK, self._return, "GET"),
        ]

    def page(self, asked: LoginRequest, next_: str, person: User | None = None) -> Response:
        """The page to leave from; for a person with a link, `next_` is its secret."""
        return self._browsers.shown(
            asked, partial(pages.provider_sign_in, self._issuer.name, person), next_
        )

    def _leave(self, asked: LoginRequest) -> Response:
        """Send a browser away, by a page of ours: browsers hold redirects against a form's."""
        self._browsers.check_form(asked, asked.fields.get("csrf", ""))
        count(self._departures, asked)
        visitor, state = self._browsers.visitor(asked), new_secret()
        next_ = asked.fields.get("next", "")
        linked = "link" in asked.fields
        pending = (
            PendingSignIn(HOME, digest(next_)) if linked else PendingSignIn(safe_next(next_), "")
        )
        with self._database.registry(write=True) as connection:
            if linked and people.of_link(connection, next_, self._clock()) is None:
                raise OAuthRefusal("invalid_request", "This link was used, or is too old.", 404)
            identities.begin(connection, state, visitor, pending, self._clock())
        return pages.redirect_page(self._issuer.name, self._address(state, visitor))

    def _address(self, state: str, visitor: str) -> str:
        endpoint = self._known().authorization_endpoint or ""
        fields = {
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": self._back,
            "scope": _SCOPES,
            "state": state,
            "nonce": _proof(visitor, state, "nonce"),
            "code_challenge": pkce_challenge(_proof(visitor, state, "verifier")),
            "code_challenge_method": "S256",
        }
        return with_query(endpoint, fields)

    def _return(self, asked: LoginRequest) -> Response:
        """A browser that is back: who the provider says that it is signed in as."""
        count(self._answers, asked)
        visitor, state = self._browsers.visitor(asked), asked.fields.get("state", "")
        with self._database.registry(write=True) as connection:
            pending = identities.returned(connection, state, visitor, self._clock())
        if pending is None:
            raise OAuthRefusal("invalid_request", _NOT_YOURS)
        self._check_answer(asked.fields)
        try:
            claims = self._claims(asked.fields.get("code", ""), visitor, state)
        except LoginError as error:
            _log.warning("%s signed nobody in: %s", self._issuer.url, error)
            raise OAuthRefusal(
                "access_denied", f"{self._issuer.name} could not sign you in: {error}.", 502
            ) from None
        try:
            person = (
                self._people.with_link(claims, pending.link)
                if pending.link
                else self._people.person(claims)
            )
        except UnknownAccountError as error:
            raise OAuthRefusal("access_denied", str(error), 403) from None
        return self._browsers.sign_in(asked, RedirectResponse(pending.next, _SEE_OTHER), person)

    def _check_answer(self, fields: Mapping[str, str]) -> None:
        """Refuse an answer of another issuer (RFC 9207), or one that says no."""
        told = self._known().authorization_response_iss_parameter_supported
        if fields.get("iss", "" if told else self._issuer.url) != self._issuer.url:
            raise OAuthRefusal("invalid_request", "This answer is of another provider.")
        if "error" in fields:
            raise OAuthRefusal(
                "access_denied",
                f"{self._issuer.name} did not sign you in: {fields['error'][:100]}",
                403,
            )

    def _known(self) -> Any:
        try:
            return self._issuer.metadata
        except LoginError as error:
            _log.error("%s: %s", self._issuer.url, error)
            raise OAuthRefusal(
                "temporarily_unavailable",
                f"{self._issuer.name} cannot be reached now: try again in a moment.",
                503,
                30,
            ) from None

    def _claims(self, code: str, visitor: str, state: str) -> dict[str, Any]:
        """What the provider says of who signed in: the claims of an ID token for us alone."""
        tokens = self._exchanged(code, _proof(visitor, state, "verifier"))
        _, claims = self._issuer.claims(tokens.id_token, [self._client.id], ("iat", "nonce"))
        if not is_same_secret(str(claims["nonce"]), _proof(visitor, state, "nonce")):
            raise LoginError("its answer was for another sign-in")
        audience = claims["aud"]
        several = isinstance(audience, list) and len(audience) > 1  # pyright: ignore[reportUnknownArgumentType]
        if claims.get("azp", "" if several else self._client.id) != self._client.id:
            raise LoginError("its answer was for another program")
        if not claims["sub"] or len(claims["sub"]) > identities.LONGEST_SUBJECT:
            raise LoginError("it says of nobody who they are")
        return claims if "email" in claims else {**self._about(tokens, claims["sub"]), **claims}

    def _about(self, tokens: _Tokens, subject: str) -> dict[str, Any]:
        """What the provider says of the same person elsewhere: some have addresses only there."""
        address = self._issuer.metadata.userinfo_endpoint
        if not address or not tokens.access_token:
            return {}
        bearer = {"authorization": f"Bearer {tokens.access_token}"}
        try:
            found = decoded(self._issuer.get(address, bearer), dict[str, Any], _UNREADABLE)
        except LoginError as error:
            _log.warning("%s tells nothing more of %s: %s", address, subject, error)
            return {}
        return found if found.get("sub") == subject else {}

    def _exchanged(self, code: str, verifier: str) -> _Tokens:
        metadata, headers = self._issuer.metadata, dict[str, str]()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._back,
            "code_verifier": verifier,
        }
        methods = metadata.token_endpoint_auth_methods_supported or ("client_secret_basic",)
        if self._client.secret and "client_secret_basic" in methods:
            headers["authorization"] = basic_credentials(self._client.id, self._client.secret)
        else:
            form["client_id"] = self._client.id
            if self._client.secret:
                form["client_secret"] = self._client.secret
        body = urlencode(form).encode()
        answer = self._issuer.post(metadata.token_endpoint, body, headers)
        return decoded(answer, _Tokens, _UNREADABLE)


def _proof(visitor: str, state: str, what: str) -> str:
    return base64url(hmac.digest(visitor.encode(), f"{what}:{state}".encode(), "sha256"))
