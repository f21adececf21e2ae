"""Access tokens of another authorization server: signed, for us, of somebody known here (RFC 9068).

What a person may do is decided here, as with logins of our own; a token's scopes only narrow it.
Nothing is asked of its issuer but its keys: a token is good until it is over.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clawkit.errors import LoginError, SettingsError
from clawkit.login import people
from clawkit.login.document_fetch import Unreachable
from clawkit.login.identities import LONGEST_SUBJECT, AccountPeople, MemberRule
from clawkit.login.issuers import Issuer
from clawkit.login.records import Login
from clawkit.login.requests import RouteMaker
from clawkit.login.resources import Challenges, ProtectedServer, ServerAddress
from clawkit.store.database import Database
from clawkit.wire.http.endpoint import HttpRefusal
from clawkit.wire.http.request_checks import Origins, TrustedProxies

_SCOPE = re.compile(r"[!#-\[\]-~]+")
_TYPES = ("at+jwt", "application/at+jwt", "jwt", "")
_OF_ID_TOKENS = ("nonce", "at_hash", "c_hash")
_log = logging.getLogger("clawkit.login")


class ForeignTokens:
    """The tokens that another server issues for one of ours."""

    def __init__(
        self,
        database: Database,
        server: ProtectedServer,
        address: ServerAddress,
        *,
        issuer: Issuer,
        audiences: Sequence[str] = (),
        scopes: Mapping[str, str] | None = None,
        rules: Sequence[MemberRule] = (),
        origins: Origins,
        proxies: TrustedProxies | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Without `audiences`, a resource's address is the one; `scopes` maps ours to theirs."""
        self._issuer = issuer
        self._server = server
        self._address = address
        self._audiences = tuple(audiences)
        self._ours = {theirs: ours for ours, theirs in (scopes or {}).items()}
        self._people = AccountPeople(database, issuer.url, rules, clock)
        self.challenges = Challenges(address, scopes)
        make = RouteMaker(origins, proxies or TrustedProxies())
        self.routes = make.about_resource(server, address, issuer.url, self._scopes)
        with database.registry(write=True) as connection:
            people.note_server(
                connection, address.origin, server.title, clock(), issuer.url, signs_in=False
            )

    def _scopes(self) -> list[str]:
        return [self.challenges.named(one) for one in self._server.scopes]

    def may_be(self, secret: str) -> bool:
        return secret.count(".") == 2

    def is_signed(self, secret: str, path: str) -> bool:
        if not self.may_be(secret):
            return False
        try:
            self._claims(secret, path)
        except (LoginError, HttpRefusal):
            return False
        return True

    def check(self, secret: str, path: str) -> Login | None:
        if not self._server.is_resource(path):
            return None
        claims = self._claims(secret, path)
        person = self._people.person(claims)
        if not self._server.is_for(person):
            return None
        scopes = frozenset(self._ours.get(one, one) for one in _scopes_of(claims))
        return Login(person.id, person, scopes, None, foreign=True)

    def _claims(self, secret: str, path: str) -> dict[str, Any]:
        audiences = self._audiences or (self._address.resource(path),)
        try:
            header, claims = self._issuer.claims(secret, audiences)
        except Unreachable as error:
            _log.error("%s: %s", self._issuer.url, error)
            raise HttpRefusal(
                503, "Tokens cannot be checked now: their issuer is away", (b"retry-after", b"30")
            ) from None
        except LoginError as error:
            raise LoginError(f"The token cannot be used: {error}") from None
        kind = str(header.get("typ") or "").lower()
        is_access = kind in _TYPES[:2]
        if kind not in _TYPES or (not is_access and any(one in claims for one in _OF_ID_TOKENS)):
            raise LoginError("The token cannot be used: it is no access token")
        if not claims["sub"] or len(claims["sub"]) > LONGEST_SUBJECT:
            raise LoginError("The token cannot be used: it says of nobody whose it is")
        return claims


def _scopes_of(claims: Mapping[str, Any]) -> list[str]:
    """A token's scopes: one text, as RFC 9068 has it, or a list; some issuers call it `scp`."""
    found = claims.get("scope", claims.get("scp", ""))
    if isinstance(found, str):
        return found.split()
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []  # pyright: ignore[reportUnknownVariableType]


def read_scopes(texts: Sequence[str]) -> dict[str, str]:
    """What `THEIRS=OURS` says, by what is ours."""
    found: dict[str, str] = {}
    for text in texts:
        theirs, equals, ours = text.rpartition("=")
        if not equals or not _SCOPE.fullmatch(theirs) or not _SCOPE.fullmatch(ours):
            raise SettingsError(
                f"--scope {text[:100]!r}: say THEIRS=OURS, such as mcp.read=read-only or mcp=all"
            )
        found[ours] = theirs
    return found
