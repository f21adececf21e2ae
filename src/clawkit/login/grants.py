"""What was granted: codes, access and refresh tokens, and how each of them ends.

A code and a refresh token are good once. Whoever shows one again, or somebody before them, stole
it: all that came of that login ends. Only digests are kept.
"""

from __future__ import annotations

import uuid
from typing import NamedTuple

import msgspec

from clawkit.errors import LoginError
from clawkit.login.records import (
    ACCESS_SECONDS,
    CODE_SECONDS,
    REFRESH_SECONDS,
    Client,
    Grant,
    Login,
    User,
    digest,
    insert,
    new_secret,
)
from clawkit.store.database import Connection

ACCESS = "bto_"
REFRESH = "btr_"
CODE = "btc_"

_GRANT = (
    "SELECT g.id, g.person, g.client, g.client_name, g.resource, g.scope, g.being, g.created, "
    "g.used, g.ended, g.reason FROM login_grants g"
)
_KEPT_ENDED = 30 * 86400.0
_SHORTEST_ID = 4


class Consent(msgspec.Struct, frozen=True):
    """What a person agreed to; it becomes a grant when its code is exchanged."""

    client: str
    client_name: str
    redirect_uri: str
    challenge: str
    person: str
    resource: str
    scope: str
    being: int | None


class Tokens(NamedTuple):
    """What a client gets: the secrets, this once."""

    access: str
    refresh: str
    scope: str


class Exchange(NamedTuple):
    """A code or a refresh token that was shown: what it stands for, and whether it still counts."""

    grant_id: str
    fresh: bool
    consent: Consent


def keep_code(connection: Connection, consent: Consent, now: float) -> str:
    """A new code for what was agreed to."""
    secret = new_secret(CODE)
    connection.run("DELETE FROM login_codes WHERE expires <= ?", (now - ACCESS_SECONDS,))
    row = {
        "hash": digest(secret),
        "grant_id": str(uuid.uuid4()),
        **msgspec.structs.asdict(consent),
        "expires": now + CODE_SECONDS,
    }
    insert(connection, "login_codes", row)
    return secret


def use_code(connection: Connection, secret: str, now: float) -> Exchange | None:
    """What a code stands for; from now on it is used, whatever comes of it."""
    rows = connection.rows(
        "SELECT grant_id, expires, client, client_name, redirect_uri, challenge, person, resource, "
        "scope, being FROM login_codes WHERE hash = ?",
        (digest(secret),),
    )
    if not rows:
        return None
    sql = "UPDATE login_codes SET used = ? WHERE hash = ? AND used IS NULL"
    first = connection.run(sql, (now, digest(secret))) > 0
    grant_id, expires, *consent = rows[0]
    if not first:
        end(connection, grant_id, "its code was used twice", now)
    return Exchange(grant_id, first and expires > now, Consent(*consent))


def begin(connection: Connection, exchange: Exchange, now: float) -> Tokens:
    """The grant of a code that was exchanged, and its first tokens."""
    agreed = exchange.consent
    kept = ("person", "client", "client_name", "resource", "scope", "being")
    row = {name: getattr(agreed, name) for name in kept}
    insert(
        connection, "login_grants", {"id": exchange.grant_id, **row, "created": now, "used": now}
    )
    return _issue(connection, exchange.grant_id, agreed.scope, now)


def refreshed(connection: Connection, secret: str, now: float) -> tuple[Grant, bool] | None:
    """The grant of a refresh token, and whether the token still counts; from now on it does not."""
    rows = connection.rows(
        f"{_GRANT.replace(' FROM', ', t.expires FROM')}, login_tokens t "
        "WHERE t.hash = ? AND t.kind = 'refresh' AND g.id = t.grant_id",
        (digest(secret),),
    )
    if not rows:
        return None
    grant = Grant(*rows[0][:-1])
    sql = "UPDATE login_tokens SET replaced = ? WHERE hash = ? AND replaced IS NULL"
    first = connection.run(sql, (now, digest(secret))) > 0
    if not first:
        end(connection, grant.id, "a refresh token of it was used twice", now)
    return grant, first and grant.ended is None and rows[0][-1] > now


def renew(connection: Connection, grant: Grant, scope: str, now: float) -> Tokens:
    """New tokens for a grant; access tokens that are over are forgotten."""
    connection.run("DELETE FROM login_tokens WHERE grant_id = ? AND expires <= ?", (grant.id, now))
    connection.run("UPDATE login_grants SET used = ? WHERE id = ?", (now, grant.id))
    return _issue(connection, grant.id, scope, now)


def _issue(connection: Connection, grant_id: str, scope: str, now: float) -> Tokens:
    tokens = Tokens(new_secret(ACCESS), new_secret(REFRESH), scope)
    connection.many(
        "INSERT INTO login_tokens (hash, grant_id, kind, scope, expires) VALUES (?, ?, ?, ?, ?)",
        [
            (digest(tokens.access), grant_id, "access", scope, now + ACCESS_SECONDS),
            (digest(tokens.refresh), grant_id, "refresh", scope, now + REFRESH_SECONDS),
        ],
    )
    return tokens


def check(connection: Connection, token_digest: str, resource: str, now: float) -> Login | None:
    """Who shows an access token at a resource; None if it opens nothing there."""
    rows = connection.rows(
        "SELECT g.resource, t.scope, g.id, g.being, p.id, p.name, p.role, p.created "
        "FROM login_tokens t, login_grants g, login_people p WHERE t.hash = ? "
        "AND t.kind = 'access' AND t.expires > ? AND g.id = t.grant_id AND g.ended IS NULL "
        "AND p.id = g.person AND (g.being IS NULL OR p.role = 'owner' OR EXISTS "
        "(SELECT 1 FROM login_beings b WHERE b.person = p.id AND b.being = g.being))",
        (token_digest, now),
    )
    if not rows or rows[0][0] != resource:
        return None
    _, scope, grant_id, being, *person = rows[0]
    return Login(grant_id, User(*person), frozenset(scope.split()), being)


def good_digests(connection: Connection, now: float, most: int) -> list[str]:
    """The digests of access tokens that count, the newest first."""
    rows = connection.rows(
        "SELECT t.hash FROM login_tokens t, login_grants g WHERE t.kind = 'access' "
        "AND t.expires > ? AND g.id = t.grant_id AND g.ended IS NULL ORDER BY t.expires DESC "
        "LIMIT ?",
        (now, most),
    )
    return [one for (one,) in rows]


def end(connection: Connection, grant_id: str, reason: str, now: float) -> bool:
    """End a login and every token of it; False if there is none that still counts."""
    sql = "UPDATE login_grants SET ended = ?, reason = ? WHERE id = ? AND ended IS NULL"
    ended = connection.run(sql, (now, reason, grant_id)) > 0
    connection.run("DELETE FROM login_tokens WHERE grant_id = ? AND kind = 'access'", (grant_id,))
    return ended


def end_called(connection: Connection, called: str, now: float) -> str:
    """End the login or the browser whose id begins so; gives its whole id, or nothing."""
    if len(called) < _SHORTEST_ID:
        return ""
    wanted = (len(called), called.lower())
    found = connection.rows(
        "SELECT id FROM login_grants WHERE ended IS NULL AND substr(id, 1, ?) = ? "
        "UNION ALL SELECT id FROM login_browsers WHERE substr(id, 1, ?) = ?",
        (*wanted, *wanted),
    )
    if len(found) > 1:
        raise LoginError(f"several ids begin with {called}: give more of it")
    for (one,) in found:
        end(connection, one, "ended by whoever runs this server", now)
        connection.run("DELETE FROM login_browsers WHERE id = ?", (one,))
    return found[0][0] if found else ""


def end_token(connection: Connection, secret: str, client: str, now: float) -> None:
    """What a client gives back: an access token alone, with a refresh token the whole login."""
    rows = connection.rows(
        "SELECT t.kind, t.grant_id FROM login_tokens t, login_grants g "
        "WHERE t.hash = ? AND g.id = t.grant_id AND g.client = ?",
        (digest(secret), client),
    )
    for kind, grant_id in rows:
        if kind == "refresh":
            end(connection, grant_id, "the client gave it back", now)
        else:
            connection.run("DELETE FROM login_tokens WHERE hash = ?", (digest(secret),))


def end_all(
    connection: Connection, person: User, reason: str, now: float, being: int | None = None
) -> int:
    """End all logins of a person, or those for one Being; gives how many."""
    open_ones = [
        one
        for one in of_person(connection, person)
        if one.ended is None and (being is None or one.being == being)
    ]
    for grant in open_ones:
        end(connection, grant.id, reason, now)
    return len(open_ones)


def of_person(connection: Connection, person: User) -> list[Grant]:
    rows = connection.rows(f"{_GRANT} WHERE g.person = ? ORDER BY g.created, g.id", (person.id,))
    return [Grant(*row) for row in rows]


def of_being(connection: Connection, being: int) -> list[tuple[Grant, str]]:
    """The logins for a Being, each with whose it is."""
    rows = connection.rows(
        f"{_GRANT.replace(' FROM', ', p.name FROM')}, login_people p "
        "WHERE g.being = ? AND p.id = g.person ORDER BY g.created, g.id",
        (being,),
    )
    return [(Grant(*row[:-1]), row[-1]) for row in rows]


def tidy(connection: Connection, now: float) -> None:
    """Forget logins that ended long ago, or whose last token is over."""
    connection.run("DELETE FROM login_grants WHERE ended < ?", (now - _KEPT_ENDED,))
    connection.run("DELETE FROM login_grants WHERE used < ?", (now - REFRESH_SECONDS,))
    connection.run(
        "DELETE FROM login_clients WHERE expires IS NULL AND created < ? "
        "AND NOT EXISTS (SELECT 1 FROM login_grants g WHERE g.client = login_clients.id)",
        (now - REFRESH_SECONDS,),
    )


def note_client(connection: Connection, client: Client) -> None:
    """Keep a client for good that somebody agreed to; others are forgotten after a while."""
    if not client.verified:
        connection.run("UPDATE login_clients SET expires = NULL WHERE id = ?", (client.id,))
