"""Logins to Beings: what people are asked about them, and what a login's token opens."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from clawkit.errors import AccessError
from clawkit.login import grants, people
from clawkit.login.document_fetch import DocumentFetcher
from clawkit.login.grants import ACCESS
from clawkit.login.records import Login, User
from clawkit.login.resources import BeingChoice, Offer, ScopeChoice, ServerAddress
from clawkit.login.server import LoginServer
from clawkit.memory import tokens
from clawkit.memory.store import beings
from clawkit.memory.tokens import Access, Caller
from clawkit.wire.http.request_checks import Origins
from clawkit.wire.http.trusted_proxies import TrustedProxies

if TYPE_CHECKING:
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

    def being_name(self, number: int) -> str:
        with self._store.database.registry() as connection:
            being = beings.by_number(connection, number)
        return being.name if being is not None else ""


def _is_called(being: Being, name: str) -> bool:
    return name == being.name or name.lower() == being.id.lower()


class LoginGate:
    """Opens Beings to the tokens of logins."""

    def __init__(self, store: BeingStore, server: LoginServer) -> None:
        self._store = store
        self._server = server

    @property
    def server(self) -> LoginServer:
        return self._server

    def access(self, secret: str, being_id: str, path: str) -> Access | None:
        """What a login's token opens; None for any other token."""
        if not secret.startswith(ACCESS):
            return None
        with self._store.database.registry() as connection:
            login = self._server.check(connection, secret, path)
            being = self._being(connection, login)
        if login is None or being is None:
            return None
        if being_id and not _is_called(being, being_id):
            raise tokens.forbidden("The token does not open this Being")
        return Access(being, _caller(login))

    def _being(self, connection: Connection, login: Login | None) -> Being | None:
        if login is None or login.being is None:
            return None
        return beings.by_number(connection, login.being)

    def good_digests(self, connection: Connection, most: int) -> list[str]:
        return grants.good_digests(connection, self._store.clock(), most)

    def pointed_out(self, error: AccessError, authority: str, path: str) -> AccessError:
        """A refusal that says where a token can be had."""
        return self._server.challenges.pointed_out(error, authority, path, FULL)


def _caller(login: Login) -> Caller:
    """Who asks; the owner is the person whom a Being knows without a name."""
    full = FULL in login.scopes
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
    fetcher: DocumentFetcher | None = None,
) -> LoginGate:
    """Logins for the Beings of a store, served at an address."""
    server = LoginServer(
        store.database,
        BeingLogins(store),
        address,
        origins=origins,
        proxies=proxies,
        fetcher=fetcher,
        clock=store.clock,
    )
    return LoginGate(store, server)


GateMaker = Callable[[Origins, TrustedProxies], LoginGate]
