"""A foreign server for each test that asks for one, and ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.login.client.foreign import ForeignServer, foreign_server
from tests.login.visitors import Logins, served_logins
from tests.memory.http.being_store import store_at


@pytest.fixture
def foreign() -> Iterator[ForeignServer]:
    with foreign_server() as server:
        yield server


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Logins]:
    """Our own server of Beings, at the time that it is."""
    with served_logins(store_at(tmp_path)) as found:
        yield found
