"""Model keys: sealed for one Being, opened with one master key, and never shown."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import pytest

from clawkit.errors import BeingError, SettingsError
from clawkit.memory import keys
from clawkit.memory.keeper import Keeper
from clawkit.memory.records import Being
from clawkit.memory.store import beings
from tests.assistant.test_secrets import InMemory
from tests.memory.http.being_store import keeper_at

SECRET = "sk-ant-made-up-0123456789"
MASTER = {keys.VARIABLE: "a master secret of some forty characters"}
OTHER = {keys.VARIABLE: "another master secret of forty characters"}


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    found = keeper_at(tmp_path)
    yield found
    found.close()


@pytest.fixture
def being(keeper: Keeper) -> Being:
    return keeper.create("Ada")


@pytest.fixture
def ring() -> Iterator[InMemory]:
    before, mine = keyring.get_keyring(), InMemory()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


@pytest.fixture
def no_ring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


def sealed(keeper: Keeper, being: Being) -> bytes:
    with keeper.database.registry() as connection:
        found = beings.key(connection, being.n)
    assert found is not None
    return found


def test_a_key_comes_back_as_it_was(keeper: Keeper, being: Being) -> None:
    keys.store_key(keeper, being, f"  {SECRET}\n", MASTER)
    assert keys.has_key(keeper, being)
    assert keys.stored_key(keeper, being, MASTER) == SECRET


def test_the_store_has_no_trace_of_it(keeper: Keeper, being: Being, tmp_path: Path) -> None:
    keys.store_key(keeper, being, SECRET, MASTER)
    keeper.database.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("beings.db*"))
    assert SECRET.encode() not in kept
    assert MASTER[keys.VARIABLE].encode() not in kept


def test_the_same_key_is_sealed_differently_each_time(keeper: Keeper, being: Being) -> None:
    keys.store_key(keeper, being, SECRET, MASTER)
    first = sealed(keeper, being)
    keys.store_key(keeper, being, SECRET, MASTER)
    assert sealed(keeper, being) != first


def test_a_being_without_a_key_needs_no_master_key(keeper: Keeper, being: Being) -> None:
    assert keys.stored_key(keeper, being, {}) == ""
    assert not keys.has_key(keeper, being)


def test_a_wrong_master_key_opens_nothing_and_loses_nothing(keeper: Keeper, being: Being) -> None:
    keys.store_key(keeper, being, SECRET, MASTER)
    with pytest.raises(BeingError, match="still there") as caught:
        keys.stored_key(keeper, being, OTHER)
    assert SECRET not in str(caught.value)
    assert keys.stored_key(keeper, being, MASTER) == SECRET


def test_a_key_that_is_moved_to_another_being_does_not_open(keeper: Keeper, being: Being) -> None:
    keys.store_key(keeper, being, SECRET, MASTER)
    thief = keeper.create("Eve")
    with keeper.database.registry(write=True) as connection:
        beings.set_key(connection, thief.n, sealed(keeper, being))
    with pytest.raises(BeingError, match="does not open"):
        keys.stored_key(keeper, thief, MASTER)


@pytest.mark.parametrize("damage", [b"", b"\x01", b"\x01short", b"\x02" + b"x" * 60])
def test_a_damaged_key_is_an_error_in_words(keeper: Keeper, being: Being, damage: bytes) -> None:
    with keeper.database.registry(write=True) as connection:
        beings.set_key(connection, being.n, damage)
    with pytest.raises(BeingError, match="the model key of Ada"):
        keys.stored_key(keeper, being, MASTER)


def test_a_key_is_forgotten(keeper: Keeper, being: Being) -> None:
    keys.store_key(keeper, being, SECRET, MASTER)
    assert keys.forget_key(keeper, being)
    assert not keys.forget_key(keeper, being)
    assert keys.stored_key(keeper, being, MASTER) == ""


@pytest.mark.parametrize("secret", ["", "  ", "two\nlines", "x" * 1001, "nul\0", "sk two", "ключ"])
def test_what_cannot_be_a_key_is_refused(keeper: Keeper, being: Being, secret: str) -> None:
    with pytest.raises(BeingError, match="one word"):
        keys.store_key(keeper, being, secret, MASTER)
    assert not keys.has_key(keeper, being)


def test_a_short_master_key_is_refused(keeper: Keeper, being: Being) -> None:
    with pytest.raises(SettingsError, match="at least 32"):
        keys.store_key(keeper, being, SECRET, {keys.VARIABLE: "short"})


def test_without_a_variable_the_master_key_is_made_in_the_keyring(
    keeper: Keeper, being: Being, ring: InMemory
) -> None:
    keys.store_key(keeper, being, SECRET, {})
    (made,) = ring.kept.values()
    assert len(made) >= 32
    assert keys.stored_key(keeper, being, {}) == SECRET
    keys.store_key(keeper, keeper.create("Bob"), SECRET, {})
    assert list(ring.kept.values()) == [made]


def test_an_emptied_keyring_is_an_error_and_makes_no_new_master_key(
    keeper: Keeper, being: Being, ring: InMemory
) -> None:
    keys.store_key(keeper, being, SECRET, {})
    ring.kept.clear()
    with pytest.raises(SettingsError, match=keys.VARIABLE):
        keys.stored_key(keeper, being, {})
    assert ring.kept == {}


@pytest.mark.usefixtures("no_ring")
def test_without_variable_and_keyring_it_says_what_to_do(keeper: Keeper, being: Being) -> None:
    with pytest.raises(SettingsError, match=f"set {keys.VARIABLE} to a secret"):
        keys.store_key(keeper, being, SECRET, {})


def test_work_goes_on_without_a_key_that_cannot_be_opened(
    keeper: Keeper, being: Being, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    keys.store_key(keeper, being, SECRET, MASTER)
    monkeypatch.setenv(keys.VARIABLE, OTHER[keys.VARIABLE])
    with caplog.at_level(logging.WARNING):
        assert keys.key_for(keeper, being) == ""
    assert "patrol goes without a model" in caplog.text
    monkeypatch.setenv(keys.VARIABLE, MASTER[keys.VARIABLE])
    assert keys.key_for(keeper, being) == SECRET
