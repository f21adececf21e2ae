"""Model keys: sealed for one Being, opened with one master key, and never shown."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import pytest

from clawkit.errors import BeingError, SettingsError
from clawkit.memory import model_keys
from clawkit.memory.being_store import BeingStore
from clawkit.memory.records import Being
from clawkit.memory.store import beings
from tests.keyrings import InMemory, keyring_in_memory
from tests.memory.http.being_store import store_at

SECRET = "sk-ant-made-up-0123456789"
MASTER = {model_keys.VARIABLE: "a master secret of some forty characters"}
OTHER = {model_keys.VARIABLE: "another master secret of forty characters"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BeingStore]:
    found = store_at(tmp_path)
    yield found
    found.close()


@pytest.fixture
def being(store: BeingStore) -> Being:
    return store.create("Ada")


@pytest.fixture
def ring() -> Iterator[InMemory]:
    with keyring_in_memory() as found:
        yield found


@pytest.fixture
def no_ring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


def sealed(store: BeingStore, being: Being) -> bytes:
    with store.database.registry() as connection:
        found = beings.key(connection, being.n)
    assert found is not None
    return found


def test_a_key_comes_back_as_it_was(store: BeingStore, being: Being) -> None:
    model_keys.store_key(store, being, f"  {SECRET}\n", MASTER)
    assert model_keys.has_key(store, being)
    assert model_keys.stored_key(store, being, MASTER) == SECRET


def test_the_store_has_no_trace_of_it(store: BeingStore, being: Being, tmp_path: Path) -> None:
    model_keys.store_key(store, being, SECRET, MASTER)
    store.database.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("beings.db*"))
    assert SECRET.encode() not in kept
    assert MASTER[model_keys.VARIABLE].encode() not in kept


def test_the_same_key_is_sealed_differently_each_time(store: BeingStore, being: Being) -> None:
    model_keys.store_key(store, being, SECRET, MASTER)
    first = sealed(store, being)
    model_keys.store_key(store, being, SECRET, MASTER)
    assert sealed(store, being) != first


def test_a_being_without_a_key_needs_no_master_key(store: BeingStore, being: Being) -> None:
    assert model_keys.stored_key(store, being, {}) == ""
    assert not model_keys.has_key(store, being)


def test_a_wrong_master_key_opens_nothing_and_loses_nothing(
    store: BeingStore, being: Being
) -> None:
    model_keys.store_key(store, being, SECRET, MASTER)
    with pytest.raises(BeingError, match="still there") as caught:
        model_keys.stored_key(store, being, OTHER)
    assert SECRET not in str(caught.value)
    assert model_keys.stored_key(store, being, MASTER) == SECRET


def test_a_key_that_is_moved_to_another_being_does_not_open(
    store: BeingStore, being: Being
) -> None:
    model_keys.store_key(store, being, SECRET, MASTER)
    thief = store.create("Eve")
    with store.database.registry(write=True) as connection:
        beings.set_key(connection, thief.n, sealed(store, being))
    with pytest.raises(BeingError, match="does not open"):
        model_keys.stored_key(store, thief, MASTER)


@pytest.mark.parametrize("damage", [b"", b"\x01", b"\x01short", b"\x02" + b"x" * 60])
def test_a_damaged_key_is_an_error_in_words(store: BeingStore, being: Being, damage: bytes) -> None:
    with store.database.registry(write=True) as connection:
        beings.set_key(connection, being.n, damage)
    with pytest.raises(BeingError, match="the model key of Ada"):
        model_keys.stored_key(store, being, MASTER)


def test_a_key_is_forgotten(store: BeingStore, being: Being) -> None:
    model_keys.store_key(store, being, SECRET, MASTER)
    assert model_keys.forget_key(store, being)
    assert not model_keys.forget_key(store, being)
    assert model_keys.stored_key(store, being, MASTER) == ""


@pytest.mark.parametrize("secret", ["", "  ", "two\nlines", "x" * 1001, "nul\0", "sk two", "ключ"])
def test_what_cannot_be_a_key_is_refused(store: BeingStore, being: Being, secret: str) -> None:
    with pytest.raises(BeingError, match="one word"):
        model_keys.store_key(store, being, secret, MASTER)
    assert not model_keys.has_key(store, being)


def test_a_short_master_key_is_refused(store: BeingStore, being: Being) -> None:
    with pytest.raises(SettingsError, match="at least 32"):
        model_keys.store_key(store, being, SECRET, {model_keys.VARIABLE: "short"})


@pytest.mark.process
def test_without_a_variable_the_master_key_is_made_in_the_keyring(
    store: BeingStore, being: Being, ring: InMemory
) -> None:
    model_keys.store_key(store, being, SECRET, {})
    (made,) = ring.kept.values()
    assert len(made) >= 32
    assert model_keys.stored_key(store, being, {}) == SECRET
    model_keys.store_key(store, store.create("Bob"), SECRET, {})
    assert list(ring.kept.values()) == [made]


def test_an_emptied_keyring_is_an_error_and_makes_no_new_master_key(
    store: BeingStore, being: Being, ring: InMemory
) -> None:
    model_keys.store_key(store, being, SECRET, {})
    ring.kept.clear()
    with pytest.raises(SettingsError, match=model_keys.VARIABLE):
        model_keys.stored_key(store, being, {})
    assert ring.kept == {}


@pytest.mark.usefixtures("no_ring")
def test_without_variable_and_keyring_it_says_what_to_do(store: BeingStore, being: Being) -> None:
    with pytest.raises(SettingsError, match=f"set {model_keys.VARIABLE} to a secret"):
        model_keys.store_key(store, being, SECRET, {})


def test_work_goes_on_without_a_key_that_cannot_be_opened(
    store: BeingStore,
    being: Being,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    model_keys.store_key(store, being, SECRET, MASTER)
    monkeypatch.setenv(model_keys.VARIABLE, OTHER[model_keys.VARIABLE])
    with caplog.at_level(logging.WARNING):
        assert model_keys.key_for(store, being) == ""
    assert "patrol goes without a model" in caplog.text
    monkeypatch.setenv(model_keys.VARIABLE, MASTER[model_keys.VARIABLE])
    assert model_keys.key_for(store, being) == SECRET
