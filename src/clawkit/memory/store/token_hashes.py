"""The table of access tokens, by the hash of what their holders show."""

from __future__ import annotations

from clawkit.memory.records import Being, Token
from clawkit.memory.store.database import Connection, Row

_SELECT = (
    "SELECT id, being, kind, scope, label, created, expires, revoked, used, person, owner "
    "FROM tokens"
)

_MOST_GOOD = 200_000


def add(connection: Connection, token: Token, digest: str) -> None:
    connection.run(
        "INSERT INTO tokens (hash, id, being, kind, scope, label, created, expires, "
        "person, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            digest,
            token.id,
            token.being,
            token.kind,
            token.scope,
            token.label,
            token.created,
            token.expires,
            token.person,
            int(token.owner),
        ),
    )


def by_hash(connection: Connection, digest: str) -> tuple[str, Token, Being] | None:
    """The token of a hash with its Being, and the hash stored, to compare in constant time."""
    rows = connection.rows(
        "SELECT beings.n, beings.id, beings.name, beings.created, hash, tokens.id, being, kind, "
        "scope, label, tokens.created, expires, revoked, used, person, owner "
        "FROM tokens, beings WHERE beings.n = being AND hash = ?",
        (digest,),
    )
    return (rows[0][4], _token(rows[0][5:]), Being(*rows[0][:4])) if rows else None


def good(connection: Connection, now: float) -> list[str]:
    """The hashes of all tokens that count, the newest first; of very many, the newest."""
    rows = connection.rows(
        "SELECT hash FROM tokens WHERE revoked IS NULL AND (expires IS NULL OR expires > ?) "
        "ORDER BY created DESC LIMIT ?",
        (now, _MOST_GOOD),
    )
    return [digest for (digest,) in rows]


def of_being(connection: Connection, being: int) -> list[Token]:
    rows = connection.rows(f"{_SELECT} WHERE being = ? ORDER BY created, id", (being,))
    return [_token(row) for row in rows]


def revoke(connection: Connection, token_id: str, now: float) -> bool:
    """End a token; False if there is none of that id that was still good."""
    sql = "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL"
    return connection.run(sql, (now, token_id)) > 0


def used(connection: Connection, token_id: str, now: float) -> None:
    connection.run("UPDATE tokens SET used = ? WHERE id = ?", (now, token_id))


def _token(row: Row) -> Token:
    return Token(*row[:-1], owner=bool(row[-1]))
