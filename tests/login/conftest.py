"""A server with logins for each test that asks for one, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from clawkit.login import people
from clawkit.memory.being_store import BeingStore
from clawkit.store import open_store
from tests.login.visitors import Logins, served_logins
from tests.memory.conftest import address, clock, database, postgres_server
from tests.memory.http.being_store import Clock, store_at

__all__ = ["address", "clock", "database", "postgres_server"]


CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture(autouse=True)
def cheap_passwords(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Passwords are hashed by argon2id at its least cost, which tests would only wait for."""
    if "costly_passwords" not in request.fixturenames:
        monkeypatch.setattr(people, "_hasher", lambda: CHEAP)
    people._hash_of_nobody.cache_clear()
    yield
    people._hash_of_nobody.cache_clear()


@pytest.fixture
def costly_passwords() -> None:
    """Passwords are hashed as they are for people."""


@pytest.fixture
def logins(tmp_path: Path, clock: Clock) -> Iterator[Logins]:
    """Logins over a SQLite file, at a time that tests set."""
    with served_logins(store_at(tmp_path, clock)) as found:
        yield found


@pytest.fixture
def stored_logins(address: str, clock: Clock) -> Iterator[Logins]:
    """The same over either database."""
    with served_logins(BeingStore(open_store(address), "none", clock=clock)) as found:
        yield found
