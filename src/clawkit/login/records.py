"""What a login is made of, as frozen data: people, clients, grants; and how secrets are kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    from clawkit.store.database import Connection

Role = Literal["owner", "member"]

ACCESS_SECONDS = 3600.0
REFRESH_SECONDS = 30 * 86400.0
CODE_SECONDS = 60.0
LINK_SECONDS = 86400.0
BROWSER_SECONDS = 7 * 86400.0
CHALLENGE_SECONDS = 300.0

_SECRET_BYTES = 32


class User(msgspec.Struct, frozen=True):
    """Somebody who can sign in; an owner may use every Being, a member those given to them."""

    id: str
    name: str
    role: Role
    created: float


class Client(msgspec.Struct, frozen=True):
    """A program that asks for a login; of a verified one, its host vouches for the rest."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    verified: bool

    @property
    def host(self) -> str:
        return urlsplit(self.id).netloc if self.verified else ""


class Grant(msgspec.Struct, frozen=True):
    """What a person let a client do, at one resource; of a Being, by its number in the store."""

    id: str
    person: str
    client: str
    client_name: str
    resource: str
    scope: str
    being: int | None
    created: float
    used: float
    ended: float | None = None
    reason: str = ""


class Login(NamedTuple):
    """Who shows an access token, and what it opens.

    One of another issuer has no grant here: it is its person's, and names no Being.
    """

    grant: str
    person: User
    scopes: frozenset[str]
    being: int | None
    foreign: bool = False


def new_secret(prefix: str = "") -> str:
    """A secret that nobody guesses, shown once and kept as its digest."""
    return prefix + secrets.token_urlsafe(_SECRET_BYTES)


def insert(connection: Connection, table: str, row: Mapping[str, Any], tail: str = "") -> None:
    """Add a row to a table; `tail` ends the statement."""
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.run(f"INSERT INTO {table} ({columns}) VALUES ({marks}) {tail}", [*row.values()])


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
