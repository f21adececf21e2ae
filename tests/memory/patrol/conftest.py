"""Every test of patrol has a Being of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.patrol.minds import Mind, open_mind


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    mind = open_mind(f"sqlite:{tmp_path / 'beings.db'}")
    yield mind
    mind.database.close()
