"""Servers that the tests of a module share: the one of everything, over HTTP in both ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.processes import http_server
from tests.together.doors import EVERYTHING, address_of


@pytest.fixture(scope="module")
def stateless_address() -> Iterator[str]:
    with http_server(EVERYTHING) as address:
        yield address


@pytest.fixture(scope="module")
def sessions_address() -> Iterator[str]:
    with http_server(EVERYTHING, "--sessions") as address:
        yield address


@pytest.fixture
def address(door: str, request: pytest.FixtureRequest) -> str | None:
    """Where the `door` of a test is, if it has an address."""
    return address_of(door, request)
