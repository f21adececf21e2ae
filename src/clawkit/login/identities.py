"""Which account at another issuer is whom here.

An account is known by its issuer and its subject. An e-mail address counts once, to know somebody
who is expected, and only if the issuer has checked it: addresses change hands, subjects do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from clawkit.errors import LoginError, SettingsError, StoreError
from clawkit.login import grants, people
from clawkit.login.records import CHALLENGE_SECONDS, User, digest, insert
from clawkit.store.database import Connection, Database, folded

EVERYBODY = "all"
LONGEST_SUBJECT = 255


class UnknownAccountError(LoginError):
    """The issuer knows the account, and no person here has it."""


class Identity(msgspec.Struct, frozen=True):
    """An account at an issuer; one that was let in by a rule has to go on fitting it."""

    issuer: str
    subject: str
    email: str
    by_rule: bool

    @property
    def host(self) -> str:
        """What people know the issuer by."""
        return urlsplit(self.issuer).netloc


class PendingSignIn(msgspec.Struct, frozen=True):
    """A browser that was sent to the issuer: where it continues, and by whose link."""

    next: str
    link: str


class MemberRule(msgspec.Struct, frozen=True):
    """Whom to let in as a member: by a claim, by the domain of their address, or everybody."""

    claim: str
    value: str

    def fits(self, claims: Mapping[str, Any]) -> bool:
        if self.claim == EVERYBODY:
            return True
        if self.claim == "@":
            return checked_email(claims).rpartition("@")[2] == self.value
        found = claims.get(self.claim)
        values: list[Any] = found if isinstance(found, list) else [found]  # pyright: ignore[reportUnknownVariableType]
        return self.value in [one for one in values if isinstance(one, str)]


def read_rule(text: str) -> MemberRule:
    """The rule that `all`, `@example.com` or `groups=staff` means."""
    claim, equals, value = text.partition("=")
    if text == EVERYBODY:
        return MemberRule(EVERYBODY, "")
    if text.startswith("@") and "." in text and not equals:
        return MemberRule("@", folded(text[1:]))
    if equals and claim and value:
        return MemberRule(claim, value)
    raise SettingsError(
        f"--let-in {text[:100]!r}: say @example.com, CLAIM=VALUE such as groups=staff, or all"
    )


def checked_email(claims: Mapping[str, Any]) -> str:
    """The e-mail address of an account if its issuer has checked it; else nothing."""
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str):
        return ""
    return folded(email) if email.count("@") == 1 else ""


class AccountPeople:
    """The people of one issuer, as they are known here."""

    def __init__(
        self,
        database: Database,
        issuer: str,
        rules: Sequence[MemberRule],
        clock: Callable[[], float],
    ) -> None:
        self._database = database
        self._issuer = issuer
        self._rules = rules
        self._clock = clock

    def person(self, claims: Mapping[str, Any]) -> User:
        """Whose account this is; UnknownAccountError if nobody has it."""
        with self._database.registry() as connection:
            found = find(connection, self._issuer, claims["sub"])
        if found is None:
            return self._first(claims)
        person, by_rule = found
        if by_rule and not self._fits(claims):
            with self._database.registry(write=True) as connection:
                people.sign_out_everywhere(connection, person)
                grants.end_all(connection, person, "no rule lets them in", self._clock())
            raise self._unknown_account(claims)
        return person

    def with_link(self, claims: Mapping[str, Any], link: str) -> User:
        """Whose link this is, to whom the account belongs from now on; the link is used."""
        now = self._clock()
        with self._database.registry(write=True) as connection:
            owner = find(connection, self._issuer, claims["sub"])
            person = people.use_link(connection, link, now)
            if person is None:
                raise LoginError("This link was used, or is too old: ask for a new one.")
            if owner is not None and owner[0].id != person.id:
                raise LoginError(
                    f"This account is that of {owner[0].name} here already. Sign in at your "
                    "provider as yourself, and open the link again."
                )
            bind(connection, person, self._issuer, claims["sub"], checked_email(claims), now)
        return person

    def _first(self, claims: Mapping[str, Any]) -> User:
        """Adds somebody who signs in for the first time, maybe in two processes at once."""
        try:
            return self._new(claims)
        except (StoreError, LoginError):
            with self._database.registry() as connection:
                found = find(connection, self._issuer, claims["sub"])
            if found is None:
                raise
            return found[0]

    def _new(self, claims: Mapping[str, Any]) -> User:
        now, email = self._clock(), checked_email(claims)
        with self._database.registry(write=True) as connection:
            found = find(connection, self._issuer, claims["sub"])
            if found is not None:
                return found[0]
            person = invited(connection, self._issuer, email) if email else None
            by_rule = person is None and self._fits(claims)
            if by_rule:
                person = people.add(connection, _free_name(connection, email), "member", now)
            if person is None:
                raise self._unknown_account(claims)
            bind(connection, person, self._issuer, claims["sub"], email, now, by_rule=by_rule)
        return person

    def _fits(self, claims: Mapping[str, Any]) -> bool:
        return any(rule.fits(claims) for rule in self._rules)

    def _unknown_account(self, claims: Mapping[str, Any]) -> UnknownAccountError:
        shown = checked_email(claims) or f"the account {claims['sub'][:LONGEST_SUBJECT]}"
        return UnknownAccountError(
            f"{self._issuer} knows {shown}, but here nobody has it. Whoever runs this server can "
            "let you in: `claw user add NAME` makes a link for you."
        )


def _free_name(connection: Connection, email: str) -> str:
    """A name for somebody new: their checked address, never one that they chose themselves."""
    try:
        wanted = people.checked_name(email) if email else "member"
    except LoginError:
        wanted = "member"
    taken = {one.name for one in people.everybody(connection)}
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted[:56]}-{number}"
    return name


def find(connection: Connection, issuer: str, subject: str) -> tuple[User, bool] | None:
    """Whose account this is, and whether a rule let them in."""
    rows = connection.rows(
        "SELECT p.id, p.name, p.role, p.created, i.by_rule "
        "FROM login_identities i, login_people p "
        "WHERE i.issuer = ? AND i.subject = ? AND p.id = i.person",
        (issuer, subject),
    )
    return (User(*rows[0][:4]), bool(rows[0][4])) if rows else None


def bind(
    connection: Connection,
    person: User,
    issuer: str,
    subject: str,
    email: str,
    now: float,
    *,
    by_rule: bool = False,
) -> None:
    """From now on this account is that person's; nobody is invited to it any more."""
    connection.run(
        "DELETE FROM login_invitations WHERE person = ? AND issuer = ?", (person.id, issuer)
    )
    connection.run(
        "DELETE FROM login_identities WHERE issuer = ? AND subject = ? AND person = ?",
        (issuer, subject, person.id),
    )
    connection.run(
        "INSERT INTO login_identities (issuer, subject, person, email, by_rule, created) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (issuer, subject, person.id, email, int(by_rule), now),
    )


def bind_new(connection: Connection, person: User, issuer: str, subject: str, now: float) -> None:
    """Give somebody an account by its subject; LoginError if it is somebody's."""
    if not subject or len(subject) > LONGEST_SUBJECT or not subject.isprintable():
        raise LoginError(f"--subject {subject[:70]!r} is no subject of an account")
    found = find(connection, issuer, subject)
    if found is not None:
        raise LoginError(f"the account {subject} at {issuer} is that of {found[0].name} already")
    bind(connection, person, issuer, subject, "", now)


def invite(connection: Connection, person: User, issuer: str, email: str) -> None:
    """Expect somebody from an issuer, by an e-mail address that it has checked."""
    email = folded(email)
    if email.count("@") != 1 or not email.isprintable() or " " in email or len(email) > 254:
        raise LoginError(f"--email {email[:70]!r} is no e-mail address")
    found = invited(connection, issuer, email)
    if found is not None:
        raise LoginError(f"{email} is expected as {found.name} already")
    row = {"issuer": issuer, "email": email, "person": person.id}
    insert(connection, "login_invitations", row)


def invited(connection: Connection, issuer: str, email: str) -> User | None:
    rows = connection.rows(
        "SELECT p.id, p.name, p.role, p.created FROM login_invitations i, login_people p "
        "WHERE i.issuer = ? AND i.email = ? AND p.id = i.person",
        (issuer, email),
    )
    return User(*rows[0]) if rows else None


def of_person(connection: Connection, person: User) -> list[Identity]:
    """The accounts of somebody, and where they are expected from, by an address alone."""
    rows = connection.rows(
        "SELECT issuer, subject, email, by_rule FROM login_identities WHERE person = ? "
        "UNION ALL SELECT issuer, '', email, 0 FROM login_invitations WHERE person = ? "
        "ORDER BY 1, 2",
        (person.id, person.id),
    )
    return [Identity(row[0], row[1], row[2], bool(row[3])) for row in rows]


def begin(
    connection: Connection, state: str, visitor: str, pending: PendingSignIn, now: float
) -> None:
    """Remember a browser that is sent to the issuer."""
    connection.run("DELETE FROM login_journeys WHERE expires <= ?", (now,))
    known = {"hash": digest(state), "visitor": digest(visitor), **msgspec.structs.asdict(pending)}
    insert(connection, "login_journeys", {**known, "expires": now + CHALLENGE_SECONDS})


def returned(connection: Connection, state: str, visitor: str, now: float) -> PendingSignIn | None:
    """The sign-in that this browser is back from; there is no second time."""
    key = (digest(state), digest(visitor), now)
    rows = connection.rows(
        "SELECT next, link FROM login_journeys WHERE hash = ? AND visitor = ? AND expires > ?", key
    )
    sql = "DELETE FROM login_journeys WHERE hash = ? AND visitor = ? AND expires > ?"
    return PendingSignIn(*rows[0]) if connection.run(sql, key) and rows else None
