"""A served workshop that the tests of one file share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.processes import http_server
from tests.wire.samples.messages import SAMPLES


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with http_server(SAMPLES / "workshop.py") as found:
        yield found
