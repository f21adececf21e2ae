"""A server of Beings for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import Served, served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(store_at(tmp_path)) as found:
        yield found
