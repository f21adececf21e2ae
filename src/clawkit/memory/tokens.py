"""Tokens of Beings: made once, kept only as a hash, and checked on every request.

A `brt_` token wants to be told its Being, so that a wrong address shows; a `bto_` token carries it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING, get_args

from clawkit.errors import AccessError, BeingError
from clawkit.memory.caller import Access, Caller
from clawkit.memory.records import Being, Scope, Token, moment
from clawkit.memory.store import token_hashes as stored

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore

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
        stored.add(connection, token, digest(secret))
    return secret, token


def check(store: BeingStore, secret: str, being_id: str = "") -> Access:
    """Who shows this token and which Being it opens; AccessError says why it opens none.

    Whether another Being exists makes no difference to what the holder is told.
    """
    with store.database.registry() as connection:
        found = stored.by_hash(connection, digest(secret)) if looks_right(secret) else None
    if found is None or not hmac.compare_digest(found[0], digest(secret)):
        raise invalid("The token is not known")
    _, token, being = found
    if token.revoked is not None:
        raise invalid("The token was revoked")
    if token.expires is not None and token.expires <= store.clock():
        raise invalid("The token has expired")
    if not being_id and token.kind == "brt":
        raise AccessError(
            "A brt_ token needs the id of its Being: use /mcp/{being_id} or ?being_id=",
            status=400,
            challenge="",
        )
    if being_id and being_id.lower() != being.id.lower():
        raise forbidden("The token does not open this Being")
    return Access(being=being, caller=_caller(token))


def _caller(token: Token) -> Caller:
    return Caller(token=token.id, scope=token.scope, person=token.person, owner=token.owner)


def note_use(store: BeingStore, token_ids: Collection[str]) -> None:
    """Keep when tokens were last used; whoever calls this does so now and then only."""
    with store.database.registry(write=True) as connection:
        for token_id in sorted(token_ids):
            stored.used(connection, token_id, store.clock())


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
        ) from None
    if found <= now:
        raise BeingError(f"{text[:40]} is over already: a token must expire later than now")
    return found


def challenge(error: str = "", description: str = "", scope: str = "") -> str:
    """What `WWW-Authenticate` says; without an error it only asks for a token."""
    parts = {"realm": REALM, "error": error, "error_description": description, "scope": scope}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items() if value)


def missing() -> AccessError:
    """There is no token at all."""
    return AccessError("A bearer token is needed", challenge=challenge())


def invalid(why: str) -> AccessError:
    return AccessError(why, challenge=challenge("invalid_token", why))


def forbidden(why: str, scope: str = "") -> AccessError:
    """The token is good, and not for this; `scope` is what another would need."""
    return AccessError(why, status=403, challenge=challenge("insufficient_scope", why, scope))
