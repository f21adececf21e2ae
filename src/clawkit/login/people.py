"""People and how they sign in: names, one-time links, passwords, passkeys, signed-in browsers.

A password is hashed by argon2id. To verify one takes as long for a name that nobody has, so that
time tells nothing, and few are verified at once: each takes 64 MB.
"""

from __future__ import annotations

import re
import threading
import uuid
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import LoginError
from clawkit.login.records import (
    BROWSER_SECONDS,
    CHALLENGE_SECONDS,
    LINK_SECONDS,
    Role,
    User,
    digest,
    insert,
    new_secret,
)
from clawkit.store.database import Connection, folded

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 1000
_NAME = re.compile(r"[^\W_][\w.@+-]{0,63}")
_PERSON = "SELECT id, name, role, created FROM login_people"
_AT_ONCE = 4
_hashing = threading.BoundedSemaphore(_AT_ONCE)


class Browser(msgspec.Struct, frozen=True):
    """A browser in which somebody is signed in."""

    id: str
    agent: str
    created: float
    expires: float


class Passkey(msgspec.Struct, frozen=True):
    """A passkey's public half; `uses` is the authenticator's own count, where it keeps one."""

    id: str
    person: str
    public_key: bytes
    uses: int


def checked_name(name: str) -> str:
    """A name as it is kept: small letters, no spaces."""
    name = folded(name)
    if not _NAME.fullmatch(name):
        raise LoginError(
            f"{name[:70]!r} is no name: letters, digits and . @ + - _, at most 64, "
            "and a letter or a digit first"
        )
    return name


def add(connection: Connection, name: str, role: Role, now: float) -> User:
    person = User(str(uuid.uuid4()), checked_name(name), role, now)
    if find(connection, person.name) is not None:
        raise LoginError(f"there is somebody called {person.name} already: choose another name")
    insert(connection, "login_people", msgspec.structs.asdict(person))
    return person


def find(connection: Connection, name: str) -> User | None:
    return _person(connection, "name = ?", folded(name))


def of_id(connection: Connection, person_id: str) -> User | None:
    return _person(connection, "id = ?", person_id)


def _person(connection: Connection, where: str, *values: Any) -> User | None:
    rows = connection.rows(f"{_PERSON} WHERE {where}", values)
    return User(*rows[0]) if rows else None


def named(connection: Connection, name: str) -> User:
    """The person of this name; LoginError if there is none."""
    person = find(connection, name)
    if person is None:
        raise LoginError(f"there is nobody called {name[:70]!r}: `claw user list` has the names")
    return person


def everybody(connection: Connection) -> list[User]:
    return [User(*row) for row in connection.rows(f"{_PERSON} ORDER BY name")]


def remove(connection: Connection, person: User) -> None:
    """Forget somebody, with all that lets them in or was granted by them."""
    if person.role == "owner" and [one.role for one in everybody(connection)].count("owner") == 1:
        raise LoginError(
            f"{person.name} is the only owner: make another with `claw user add NAME --owner` first"
        )
    connection.run("DELETE FROM login_people WHERE id = ?", (person.id,))


def lock_out(connection: Connection, person: User) -> None:
    """End every way in that somebody has: password, passkeys, links, browsers, codes on the way."""
    connection.run("UPDATE login_people SET password = '' WHERE id = ?", (person.id,))
    sign_out_everywhere(connection, person)
    for table in ("login_passkeys", "login_links", "login_identities", "login_invitations"):
        connection.run(f"DELETE FROM {table} WHERE person = ?", (person.id,))


def sign_out_everywhere(connection: Connection, person: User) -> None:
    """End somebody's browsers, and codes on the way."""
    for table in ("login_browsers", "login_codes"):
        connection.run(f"DELETE FROM {table} WHERE person = ?", (person.id,))


def make_link(connection: Connection, person: User, now: float) -> str:
    """A new one-time link's secret; earlier ones of this person no longer count."""
    secret = new_secret()
    connection.run("DELETE FROM login_links WHERE person = ? OR expires <= ?", (person.id, now))
    row = {"hash": digest(secret), "person": person.id, "expires": now + LINK_SECONDS}
    insert(connection, "login_links", row)
    return secret


def of_link(connection: Connection, secret: str, now: float) -> User | None:
    """Whose link this is, without using it: programs that preview links look at them, too."""
    return of_link_digest(connection, digest(secret), now)


def of_link_digest(connection: Connection, link: str, now: float) -> User | None:
    where = "id = (SELECT person FROM login_links WHERE hash = ? AND expires > ?)"
    return _person(connection, where, link, now)


def use_link(connection: Connection, link: str, now: float) -> User | None:
    """Whose link has this digest; from now on it is nobody's."""
    person = of_link_digest(connection, link, now)
    used = connection.run("DELETE FROM login_links WHERE hash = ?", (link,))
    return person if used else None


def check_new_password(name: str, password: str) -> None:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise LoginError(f"A password has at least {SHORTEST_PASSWORD} characters.")
    if len(set(password)) < 4 or name in folded(password):
        raise LoginError("This password is easily guessed: choose one without your name in it.")


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _hash_of_nobody() -> str:
    return _hasher().hash(new_secret())


def hashed(password: str) -> str:
    with _hashing:
        return _hasher().hash(password)


def set_password(connection: Connection, person: User, password_hash: str) -> None:
    sql = "UPDATE login_people SET password = ? WHERE id = ?"
    connection.run(sql, (password_hash, person.id))


def password_of(connection: Connection, name: str) -> tuple[User | None, str]:
    """The person of a name with their password hash; None if they have no password."""
    sql = f"{_PERSON.replace(' FROM', ', password FROM')} WHERE name = ? AND password <> ''"
    rows = connection.rows(sql, (folded(name[:200]),))
    return (User(*rows[0][:4]), rows[0][4]) if rows else (None, "")


def is_password(password_hash: str, password: str) -> bool:
    """Whether it is the one; without a hash it is not, which takes as long to find out."""
    from argon2.exceptions import VerificationError

    with _hashing:
        try:
            _hasher().verify(password_hash or _hash_of_nobody(), password[:LONGEST_PASSWORD])
        except VerificationError:
            return False
    return bool(password_hash)


def add_passkey(connection: Connection, passkey: Passkey, now: float) -> None:
    insert(connection, "login_passkeys", {**msgspec.structs.asdict(passkey), "created": now})


def passkey(connection: Connection, passkey_id: str) -> tuple[Passkey, User] | None:
    rows = connection.rows(
        "SELECT k.id, k.person, k.public_key, k.uses, p.id, p.name, p.role, p.created "
        "FROM login_passkeys k, login_people p WHERE k.id = ? AND p.id = k.person",
        (passkey_id,),
    )
    if not rows:
        return None
    key, person = rows[0][:4], rows[0][4:]
    return Passkey(key[0], key[1], bytes(key[2]), key[3]), User(*person)


def passkeys_of(connection: Connection, person: User) -> list[str]:
    sql = "SELECT id FROM login_passkeys WHERE person = ? ORDER BY created, id"
    return [one for (one,) in connection.rows(sql, (person.id,))]


def note_passkey(connection: Connection, passkey_id: str, uses: int, now: float) -> None:
    sql = "UPDATE login_passkeys SET uses = ?, used = ? WHERE id = ?"
    connection.run(sql, (uses, now, passkey_id))


def add_challenge(connection: Connection, challenge: str, visitor: str, now: float) -> None:
    """Remember what a passkey is asked to sign, and in which browser."""
    connection.run("DELETE FROM login_challenges WHERE expires <= ?", (now,))
    known = {"hash": digest(challenge), "visitor": digest(visitor)}
    insert(connection, "login_challenges", {**known, "expires": now + CHALLENGE_SECONDS})


def use_challenge(connection: Connection, challenge: str, visitor: str, now: float) -> bool:
    """Whether this browser was asked that, not long ago, and has not answered yet."""
    sql = "DELETE FROM login_challenges WHERE hash = ? AND visitor = ? AND expires > ?"
    return connection.run(sql, (digest(challenge), digest(visitor), now)) > 0


def sign_in(connection: Connection, person: User, agent: str, now: float) -> str:
    """A new browser's secret, which its cookie holds."""
    secret = new_secret()
    connection.run("DELETE FROM login_browsers WHERE expires <= ?", (now,))
    browser = Browser(str(uuid.uuid4()), agent[:200], now, now + BROWSER_SECONDS)
    row = {"hash": digest(secret), "person": person.id, **msgspec.structs.asdict(browser)}
    insert(connection, "login_browsers", row)
    return secret


def signed_in(connection: Connection, secret: str, now: float) -> User | None:
    where = "id = (SELECT person FROM login_browsers WHERE hash = ? AND expires > ?)"
    return _person(connection, where, digest(secret), now) if secret else None


def sign_out(connection: Connection, secret: str) -> None:
    connection.run("DELETE FROM login_browsers WHERE hash = ?", (digest(secret),))


def browsers_of(connection: Connection, person: User, now: float) -> list[Browser]:
    rows = connection.rows(
        "SELECT id, agent, created, expires FROM login_browsers "
        "WHERE person = ? AND expires > ? ORDER BY created, id",
        (person.id, now),
    )
    return [Browser(*row) for row in rows]


def beings_of(connection: Connection, person: User) -> list[int]:
    """The Beings that a member may use, by number."""
    sql = "SELECT being FROM login_beings WHERE person = ? ORDER BY being"
    return [being for (being,) in connection.rows(sql, (person.id,))]


def being_name(connection: Connection, number: int | None) -> str:
    """What a Being is called; empty for none."""
    rows = connection.rows("SELECT name FROM beings WHERE n = ?", (number,)) if number else []
    return rows[0][0] if rows else ""


def may_use(connection: Connection, person: User, being: int) -> bool:
    return person.role == "owner" or being in beings_of(connection, person)


def allow(connection: Connection, person: User, being: int) -> None:
    row = {"person": person.id, "being": being}
    insert(connection, "login_beings", row, "ON CONFLICT DO NOTHING")


def disallow(connection: Connection, person: User, being: int) -> None:
    """Take a Being from a member, with the codes for it that are on the way."""
    tables = ("login_beings", "login_codes") if person.role == "member" else ("login_beings",)
    for table in tables:
        sql = f"DELETE FROM {table} WHERE person = ? AND being = ?"
        connection.run(sql, (person.id, being))


def note_server(
    connection: Connection,
    origin: str,
    title: str,
    now: float,
    issuer: str = "",
    *,
    signs_in: bool = True,
) -> None:
    """Note where a server is, whose accounts count there, and whether people sign in there."""
    connection.run(
        "INSERT INTO login_servers (origin, title, started, issuer, signs_in) "
        "VALUES (?, ?, ?, ?, ?) ON CONFLICT (origin) DO UPDATE SET title = excluded.title, "
        "started = excluded.started, issuer = excluded.issuer, signs_in = excluded.signs_in",
        (origin, title, now, issuer, int(signs_in)),
    )


def last_origin(connection: Connection) -> str:
    """Where people last could sign in; empty if nowhere."""
    return _last(connection, "origin", "signs_in = 1")


def last_issuer(connection: Connection) -> str:
    """The issuer whose accounts last counted; empty if there was none."""
    return _last(connection, "issuer", "issuer <> ''")


def _last(connection: Connection, column: str, where: str) -> str:
    sql = f"SELECT {column} FROM login_servers WHERE {where} ORDER BY started DESC LIMIT 1"
    rows = connection.rows(sql)
    return rows[0][0] if rows else ""
