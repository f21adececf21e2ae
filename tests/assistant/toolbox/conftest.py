"""What every test of the toolbox must leave behind: nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.assistant.toolbox.boxes import children
from tests.processes import overlook_others


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    overlook_others()
    yield
    assert children() == []
