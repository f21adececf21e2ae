"""Logins to Beings: what people are asked about them, and what a login's token opens."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from clawkit.errors import AccessError, LoginError
from clawkit.login import grants, people
from clawkit.login.identities import UnknownAccountError
from clawkit.login.options import LoginOptions, token_issuer
from clawkit.login.records import Login, User
from clawkit.login.resources import BeingChoice, Offer, ScopeChoice, ServerAddress, TokenIssuer
from clawkit.memory import tokens
from clawkit.memory.store import beings
from clawkit.memory.tokens import Access, Caller
from clawkit.wire.http.request_checks import Origins, TrustedProxies

if TYPE_CHECKING:
    from clawkit.login.document_fetch import DocumentFetcher
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.records import Being
    from clawkit.store.database import Connection

FULL = "full"
READ_ONLY = "read-only"
OWNER = "owner"

_PATH = re.compile(r"/mcp(?:/([^/]+))?")
_LEVELS = (
    ScopeChoice(FULL, "Read all that it remembers, and write to it"),
    ScopeChoice(READ_ONLY, "Only read what it remembers"),
)
_OWNERS_WORD = ScopeChoice(
    OWNER,
    "Also change its soul, rules, preferences and relationships, which other programs obey",
    within=FULL,
)


class BeingLogins:
    """The Beings of a store as what people log in to."""

    title = "your memory"
    kind = ""
    main_path = "/mcp"
    scopes: Sequence[str] = (READ_ONLY, FULL)

    def __init__(self, store: BeingStore) -> None:
        self._store = store

    def is_resource(self, path: str) -> bool:
        return _PATH.fullmatch(path) is not None

    def is_for(self, person: User) -> bool:  # noqa: ARG002 - which Beings are, is asked of each
        return True

    def offer(self, person: User, path: str, wanted: Collection[str]) -> Offer:
        levels = _LEVELS[1:] if READ_ONLY in wanted and FULL not in wanted else _LEVELS
        return Offer(
            levels,
            (_OWNERS_WORD,) if person.role == "owner" and levels is _LEVELS else (),
            beings=tuple(BeingChoice(one.n, one.name) for one in self._open_to(person, path)),
        )

    def _open_to(self, person: User, path: str) -> list[Being]:
        found = _PATH.fullmatch(path)
        called = found[1] if found is not None else None
        with self._store.database.registry() as connection:
            every = beings.every(connection)
            own = None if person.role == "owner" else set(people.beings_of(connection, person))
        return [
            one
            for one in every
            if (own is None or one.n in own) and (called is None or _is_called(one, called))
        ]


def _is_called(being: Being, name: str) -> bool:
    return name == being.name or name.lower() == being.id.lower()


class LoginGate:
    """Opens Beings to the tokens of logins."""

    def __init__(self, store: BeingStore, server: TokenIssuer) -> None:
        self._store = store
        self._server = server

    @property
    def server(self) -> TokenIssuer:
        return self._server

    def access(self, secret: str, being_id: str, path: str) -> Access | None:
        """What a login's token opens; None for any other token."""
        if not self._server.may_be(secret):
            return None
        try:
            login = self._server.check(secret, path)
        except UnknownAccountError as error:
            raise AccessError(str(error), status=403, challenge=tokens.challenge()) from None
        except LoginError as error:
            raise tokens.invalid(str(error)) from None
        if login is None:
            return None
        with self._store.database.registry() as connection:
            if login.foreign:
                return _foreign_access(connection, login, being_id)
            being = None if login.being is None else beings.by_number(connection, login.being)
        if being is None:
            return None
        if being_id and not _is_called(being, being_id):
            raise tokens.forbidden("The token does not open this Being")
        return Access(being, _caller(login, full=FULL in login.scopes))

    def is_signed(self, secret: str, path: str) -> bool:
        """Whether a token is good by itself, without a look into the store."""
        return self._server.is_signed(secret, path)

    def good_digests(self, connection: Connection, most: int) -> list[str]:
        return grants.good_digests(connection, self._store.clock(), most)

    def pointed_out(self, error: AccessError, authority: str, path: str) -> AccessError:
        """A refusal that says where a token can be had."""
        return self._server.challenges.pointed_out(error, authority, path, FULL)


def _foreign_access(connection: Connection, login: Login, being_id: str) -> Access:
    """What another issuer's token opens: the Being that is named, or the only one it can mean."""
    person = login.person
    own = None if person.role == "owner" else set(people.beings_of(connection, person))
    theirs = [one for one in beings.every(connection) if own is None or one.n in own]
    named = [one for one in theirs if not being_id or _is_called(one, being_id)]
    if not named and (being_id or not theirs):
        raise AccessError(
            f"{person.name} may not use {'this' if being_id else 'any'} Being here: whoever runs "
            f"this server can change that with `claw user allow {person.name} BEING`",
            status=403,
            challenge=tokens.challenge(),
        )
    levels = {one.n: _level(login.scopes, one) for one in named}
    usable = [one for one in named if levels[one.n]]
    if not usable:
        wanted = READ_ONLY if not being_id else f"{READ_ONLY}:{being_id}"
        raise tokens.forbidden(f"The token lacks the scope {wanted}", READ_ONLY)
    if len(usable) > 1:
        raise AccessError(
            "The token is good for several Beings: name one, with /mcp/BEING or ?being_id=",
            status=400,
            challenge="",
        )
    return Access(usable[0], _caller(login, full=levels[usable[0].n] == FULL))


def _level(scopes: Collection[str], being: Being) -> str:
    """What scopes allow at a Being, for all of them or for this one by its name or id."""
    for level in (FULL, READ_ONLY):
        if {level, f"{level}:{being.name}", f"{level}:{being.id}"} & set(scopes):
            return level
    return ""


def _caller(login: Login, *, full: bool) -> Caller:
    """Who asks; the owner is the person whom a Being knows without a name."""
    return Caller(
        login.grant,
        "full" if full else "read-only",
        person="" if login.person.role == "owner" else login.person.name,
        owner=full and OWNER in login.scopes and login.person.role == "owner",
    )


def login_gate(
    store: BeingStore,
    address: ServerAddress,
    origins: Origins,
    proxies: TrustedProxies,
    *,
    options: LoginOptions | None = None,
    fetcher: DocumentFetcher | None = None,
) -> LoginGate:
    """Logins for the Beings of a store, served at an address."""
    server = token_issuer(
        options or LoginOptions(),
        store.database,
        BeingLogins(store),
        address,
        origins,
        proxies,
        store.clock,
        fetcher,
    )
    return LoginGate(store, server)


GateMaker = Callable[[Origins, TrustedProxies], LoginGate]
