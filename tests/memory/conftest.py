"""Stores for the tests of memory: the same test runs on a SQLite file and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.store import open_store
from clawkit.store.database import Database
from tests.memory import postgres
from tests.memory.http.being_store import Clock, store_at


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """One server for all tests of this process, started when the first one asks."""
    with postgres.server() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store is that nobody has used."""
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'beings.db'}"
        return
    server: postgres.Server = request.getfixturevalue("postgres_server")
    with server.database() as found:
        yield found


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    """A store that nobody has used, of either kind."""
    found = open_store(address)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[BeingStore]:
    """The Beings of a SQLite file, at a time that tests set."""
    found = store_at(tmp_path, clock)
    yield found
    found.close()
