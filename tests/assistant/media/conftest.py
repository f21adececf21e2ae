"""What tests of files get: a place where modes count."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ordinary_user import NOBODY


@pytest.fixture
def as_anybody() -> Iterator[Path]:
    """A directory of an ordinary user's, who we are for the length of a test: root may do all."""
    with tempfile.TemporaryDirectory() as place:
        if os.geteuid():
            yield Path(place)
        else:
            os.chown(place, NOBODY, NOBODY)
            os.seteuid(NOBODY)
            try:
                yield Path(place)
            finally:
                os.seteuid(0)
