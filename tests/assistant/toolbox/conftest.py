"""What every test of the toolbox must leave behind: nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.assistant.toolbox.boxes import children


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    before = children()
    yield
    assert [child for child in children() if child not in before] == []
