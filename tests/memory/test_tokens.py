"""Tokens: what is kept of them, whom they let in, and what others are told."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clawkit.errors import AccessError, BeingError
from clawkit.memory import tokens
from clawkit.memory.being_store import BeingStore
from clawkit.memory.records import Being
from tests.memory.http.being_store import Clock

DAY = 86400.0


@pytest.fixture
def being(store: BeingStore) -> Being:
    return store.create("Ada")


def refused(store: BeingStore, secret: str, being_id: str = "") -> AccessError:
    with pytest.raises(AccessError) as caught:
        tokens.check(store, secret, being_id)
    return caught.value


@pytest.mark.parametrize(("oauth", "prefix"), [(False, "brt_"), (True, "bto_")])
def test_a_token_shows_its_kind_and_is_not_to_be_guessed(
    store: BeingStore, being: Being, oauth: bool, prefix: str
) -> None:
    secrets = {tokens.issue(store, being, oauth=oauth)[0] for _ in range(20)}
    assert len(secrets) == 20
    assert all(re.fullmatch(prefix + r"[A-Za-z0-9_-]{43}", secret) for secret in secrets)


def test_the_store_keeps_only_a_hash(store: BeingStore, being: Being, tmp_path: Path) -> None:
    secret, _ = tokens.issue(store, being)
    store.database.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("beings.db*"))
    assert tokens.digest(secret).encode() in kept
    assert secret.encode() not in kept
    assert secret[4:].encode() not in kept


def test_a_token_opens_its_being_with_its_scope(store: BeingStore, being: Being) -> None:
    secret, token = tokens.issue(store, being, scope="read-only", label="phone")
    access = tokens.check(store, secret, being.id)
    assert access.being == being
    assert (access.caller.token, access.caller.scope) == (token.id, "read-only")
    assert tokens.check(store, secret, being.id.upper()).being == being


def test_an_oauth_token_carries_its_being(store: BeingStore, being: Being) -> None:
    secret, _ = tokens.issue(store, being, oauth=True)
    assert tokens.check(store, secret).being == being
    assert tokens.check(store, secret, being.id).being == being
    assert refused(store, secret, store.create("Bob").id).status == 403


def test_an_api_token_must_be_told_its_being(store: BeingStore, being: Being) -> None:
    secret, _ = tokens.issue(store, being)
    error = refused(store, secret)
    assert (error.status, error.challenge) == (400, "")
    assert "being_id" in str(error)


def test_a_strangers_being_and_none_at_all_look_the_same(store: BeingStore, being: Being) -> None:
    secret, _ = tokens.issue(store, being)
    stranger, nobody = (
        refused(store, secret, wanted)
        for wanted in (store.create("Bob").id, "00000000-0000-4000-8000-000000000000")
    )
    assert (str(stranger), stranger.status, stranger.challenge) == (
        str(nobody),
        403,
        nobody.challenge,
    )
    assert 'error="insufficient_scope"' in stranger.challenge


@pytest.mark.parametrize(
    "secret",
    ["", "brt_", "x", "brt_" + "a" * 43, "bto_" + "a" * 43, "BRT_" + "a" * 43, "brt_ä" * 20],
)
def test_an_unknown_token_is_invalid(store: BeingStore, being: Being, secret: str) -> None:
    error = refused(store, secret, being.id)
    assert error.status == 401
    assert error.challenge == (
        'Bearer realm="clawkit", error="invalid_token", error_description="The token is not known"'
    )


def test_a_token_is_good_until_it_expires(store: BeingStore, being: Being, clock: Clock) -> None:
    secret, _ = tokens.issue(store, being, expires=clock.now + DAY)
    clock.now += DAY - 1
    assert tokens.check(store, secret, being.id)
    clock.now += 1
    error = refused(store, secret, being.id)
    assert (error.status, str(error)) == (401, "The token has expired")
    assert 'error="invalid_token"' in error.challenge


def test_a_revoked_token_is_refused_at_once(store: BeingStore, being: Being, clock: Clock) -> None:
    secret, token = tokens.issue(store, being)
    assert tokens.check(store, secret, being.id)
    with store.database.registry(write=True) as connection:
        assert tokens.revoke(connection, token.id, clock.now)
    error = refused(store, secret, being.id)
    assert (error.status, str(error)) == (401, "The token was revoked")


def test_the_tokens_of_a_being_go_with_it(store: BeingStore, being: Being) -> None:
    secret, _ = tokens.issue(store, being, oauth=True)
    store.delete(being)
    assert refused(store, secret).status == 401


def test_its_last_use_is_kept(store: BeingStore, being: Being, clock: Clock) -> None:
    _, token = tokens.issue(store, being)
    tokens.note_use(store, [token.id])
    with store.database.registry() as connection:
        (known,) = tokens.of_being(connection, being.n)
    assert known.used == clock.now


def test_a_token_that_makes_no_sense_is_not_made(
    store: BeingStore, being: Being, clock: Clock
) -> None:
    with pytest.raises(BeingError, match="full or read-only"):
        tokens.issue(store, being, scope="admin")  # pyright: ignore[reportArgumentType]
    with pytest.raises(BeingError, match="expired already"):
        tokens.issue(store, being, expires=clock.now)
    with pytest.raises(BeingError, match="one line"):
        tokens.issue(store, being, label="two\nlines")
    with store.database.registry() as connection:
        assert tokens.of_being(connection, being.n) == []


@pytest.mark.parametrize(
    ("text", "seconds"), [("30d", 30 * DAY), ("12h", DAY / 2), ("90m", 5400.0), ("2w", 14 * DAY)]
)
def test_an_expiry_is_a_span(text: str, seconds: float) -> None:
    assert tokens.parse_expires(text, 1000.0) == 1000.0 + seconds


def test_an_expiry_is_the_end_of_a_day_or_a_moment() -> None:
    day = tokens.parse_expires("2027-01-31", 0.0)
    assert datetime.fromtimestamp(day, UTC).isoformat()[:19] == "2027-01-31T23:59:59"
    assert tokens.parse_expires("1970-01-01T00:01:00+00:00", 0.0) == 60.0


@pytest.mark.parametrize("text", ["", "soon", "0d", "-1d", "30 days", "2027-02-30", "1y"])
def test_an_expiry_that_cannot_be_read_is_explained(text: str) -> None:
    with pytest.raises(BeingError, match="30d, 12h"):
        tokens.parse_expires(text, 0.0)


def test_an_expiry_in_the_past_is_refused() -> None:
    with pytest.raises(BeingError, match="over already"):
        tokens.parse_expires("2020-01-01", 1_800_000_000.0)
