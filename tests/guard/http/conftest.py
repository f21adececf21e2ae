"""Settings are read once by a process; each test here has a home, and thus settings, of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.settings import settings


@pytest.fixture(autouse=True)
def fresh_settings(home: Path) -> Iterator[Path]:
    settings.cache_clear()
    yield home
    settings.cache_clear()
