"""Who asks, for which Being, with what right; and the access tokens that say so, with their table.

A token is made once, kept only as a hash, and checked on every request. A `brt_` token wants to be
told its Being, so that a wrong address shows; a `bto_` token carries it.

Clients obey what only an owner's token may write, since it is in the system prompt. An agent that
reads the web and notes what it finds must not be able to give them orders for the next session.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING, get_args

import msgspec

from clawkit.errors import AccessError, BeingError, ToolExecutionError
from clawkit.memory.records import Being, Scope, Token, moment
from clawkit.store.database import Connection, Row

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore

META_CONVERSATION = "clawkit/conversation"
"""The key in a request's `_meta` by which a client names the conversation it is in."""

LONGEST_CONVERSATION = 200


class Caller(msgspec.Struct, frozen=True):
    """One caller. The default is the person whose machine this is."""

    token: str = "local"
    scope: Scope = "full"
    conversation: str = ""
    llm_key: str = ""
    person: str = ""
    """Who says "I" here; empty where the Being has one person."""

    owner: bool = True
    """Whether soul, rules, preferences and relationships, which clients obey, may be written."""

    def __repr__(self) -> str:
        return f"Caller({self.token!r}, {self.scope!r}, {self.conversation!r})"

    @property
    def may_write(self) -> bool:
        return self.scope != "read-only"


class Access(msgspec.Struct, frozen=True):
    """The right to use one Being; a door puts it into the principal's `data`."""

    being: Being
    caller: Caller = Caller()


OWNERS = {
    "souls": "souls are",
    "partner_rules": "rules are",
    "preferences": "preferences are",
    "relationship": "relationships are",
}


def check_owner(target: str, caller: Caller) -> None:
    """Refuse to write what the owner says where the caller does not speak for the owner."""
    if target in OWNERS and not caller.owner:
        raise ToolExecutionError(
            f"{OWNERS[target]} the owner's word, and this token may not write them: the owner can "
            "do it, or make a token that may with `claw being token create BEING --owner`; what "
            "was only observed can be kept with update_notes, or as knowledge"
        )


REALM = "clawkit"
LONGEST_LABEL = 200

_SECRET_BYTES = 32
_SECRET = re.compile(r"(?:brt|bto)_[A-Za-z0-9_-]{32,200}")
_SPAN = re.compile(r"([1-9][0-9]{0,5})([mhdw])")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def issue(
    store: BeingStore,
    being: Being,
    *,
    oauth: bool = False,
    scope: Scope = "full",
    expires: float | None = None,
    label: str = "",
    person: str = "",
    owner: bool = False,
) -> tuple[str, Token]:
    """A new token, and what is known of it; the first is shown to its holder and kept nowhere."""
    if scope not in get_args(Scope):
        raise BeingError(f"scope {scope!r}: a token is for {' or '.join(get_args(Scope))}")
    for what, text in (("a label", label), ("a person's name", person)):
        if len(text) > LONGEST_LABEL or not text.isprintable():
            raise BeingError(f"{what} is one line of at most {LONGEST_LABEL} characters")
    if owner and scope == "read-only":
        raise BeingError("a read-only token writes nothing: an owner's token has the scope full")
    now = store.clock()
    if expires is not None and expires <= now:
        raise BeingError("this token would have expired already: name a later moment")
    token = Token(
        id=str(uuid.uuid4()),
        being=being.n,
        kind="bto" if oauth else "brt",
        scope=scope,
        label=label,
        created=now,
        expires=expires,
        person=person.strip(),
        owner=owner,
    )
    secret = f"{token.kind}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    with store.database.registry(write=True) as connection:
        insert(connection, token, digest(secret))
    return secret, token


def check(store: BeingStore, secret: str, being_id: str = "") -> Access:
    """Who shows this token and which Being it opens; AccessError says why it opens none.

    Whether another Being exists makes no difference to what the holder is told.
    """
    shown = digest(secret)
    with store.database.registry() as connection:
        found = by_hash(connection, shown) if looks_right(secret) else None
    if found is None or not hmac.compare_digest(found[0], shown):
        raise invalid("The token is not known")
    _, token, being = found
    if token.revoked is not None:
        raise invalid("The token was revoked")
    if token.expires is not None and token.expires <= store.clock():
        raise invalid("The token has expired")
    if not being_id and token.kind == "brt":
        raise AccessError(
            "A brt_ token needs the name or id of its Being: use /mcp/{being_id} or ?being_id=",
            status=400,
            challenge="",
        )
    if being_id and being_id != being.name and being_id.lower() != being.id.lower():
        raise forbidden("The token does not open this Being")
    return Access(being, Caller(token.id, token.scope, person=token.person, owner=token.owner))


def note_use(store: BeingStore, token_ids: Collection[str]) -> None:
    """Keep when tokens were last used; whoever calls this does so now and then only."""
    with store.database.registry(write=True) as connection:
        for token_id in sorted(token_ids):
            set_used(connection, token_id, store.clock())


def is_good(token: Token, now: float) -> bool:
    """Whether a token still opens anything."""
    return token.revoked is None and (token.expires is None or token.expires > now)


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def looks_right(secret: str) -> bool:
    """Whether a text can be a token at all."""
    return _SECRET.fullmatch(secret) is not None


def parse_expires(text: str, now: float) -> float:
    """The moment that `30d`, `12h`, `90m`, `2w` or a date such as `2027-01-31` means."""
    text = text.strip()
    span = _SPAN.fullmatch(text)
    if span is not None:
        return now + int(span[1]) * _SECONDS[span[2]]
    try:
        found = moment(text)
    except ValueError:
        raise BeingError(
            f"{text[:40]!r} is no time to expire: say 30d, 12h, 90m, 2w or a date like 2027-01-31"
        ).of_usage() from None
    if found <= now:
        raise BeingError(f"{text[:40]} is over already: a token must expire later than now")
    return found


def challenge(error: str = "", description: str = "", scope: str = "") -> str:
    """What `WWW-Authenticate` says; without an error it only asks for a token."""
    parts = {"realm": REALM, "error": error, "error_description": description, "scope": scope}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items() if value)


def invalid(why: str) -> AccessError:
    return AccessError(why, challenge=challenge("invalid_token", why))


def forbidden(why: str, scope: str = "") -> AccessError:
    """The token is good, and not for this; `scope` is what another would need."""
    return AccessError(why, status=403, challenge=challenge("insufficient_scope", why, scope))


_SELECT = (
    "SELECT id, being, kind, scope, label, created, expires, revoked, used, person, owner "
    "FROM tokens"
)

MOST_GOOD = 200_000
"""How many tokens are known by heart while somebody is locked out."""


def insert(connection: Connection, token: Token, digest: str) -> None:
    row = {"hash": digest, **msgspec.structs.asdict(token)}
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.run(f"INSERT INTO tokens ({columns}) VALUES ({marks})", [*row.values()])


def by_hash(connection: Connection, digest: str) -> tuple[str, Token, Being] | None:
    """The token of a hash with its Being, and the hash stored, to compare in constant time."""
    rows = connection.rows(
        "SELECT beings.n, beings.id, beings.name, beings.created, hash, tokens.id, being, kind, "
        "scope, label, tokens.created, expires, revoked, used, person, owner "
        "FROM tokens, beings WHERE beings.n = being AND hash = ?",
        (digest,),
    )
    return (rows[0][4], _token(rows[0][5:]), Being(*rows[0][:4])) if rows else None


def good_hashes(connection: Connection, now: float) -> list[str]:
    """The hashes of all tokens that count, the newest first; of very many, the newest."""
    rows = connection.rows(
        "SELECT hash FROM tokens WHERE revoked IS NULL AND (expires IS NULL OR expires > ?) "
        "ORDER BY created DESC LIMIT ?",
        (now, MOST_GOOD),
    )
    return [digest for (digest,) in rows]


def of_being(connection: Connection, being: int) -> list[Token]:
    rows = connection.rows(f"{_SELECT} WHERE being = ? ORDER BY created, id", (being,))
    return [_token(row) for row in rows]


def revoke(connection: Connection, token_id: str, now: float) -> bool:
    """End a token; False if there is none of that id that was still good."""
    sql = "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL"
    return connection.run(sql, (now, token_id)) > 0


def set_used(connection: Connection, token_id: str, now: float) -> None:
    connection.run("UPDATE tokens SET used = ? WHERE id = ?", (now, token_id))


def _token(row: Row) -> Token:
    return Token(*row[:-1], owner=bool(row[-1]))
