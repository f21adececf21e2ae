"""A foreign server for each test that asks for one, and ours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.login.client.foreign import ForeignServer, foreign_server
from tests.login.visitors import Logins, gate_maker
from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import served


@pytest.fixture
def foreign() -> Iterator[ForeignServer]:
    with foreign_server() as server:
        yield server


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Logins]:
    """Our own server of Beings, at the time that it is."""
    store = store_at(tmp_path)
    with served(store, logins=partial(gate_maker, store)) as server:
        found = Logins(server)
        try:
            yield found
        finally:
            found.close()
