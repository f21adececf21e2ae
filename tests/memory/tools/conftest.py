"""A store with one Being, its server, and clients of both eras."""

from __future__ import annotations

import pytest

from clawkit.memory.keeper import Keeper
from clawkit.memory.memory import Memory
from clawkit.memory.records import Being
from clawkit.memory.server import being_server
from clawkit.wire.server import Server
from tests.memory.tools.being_client import READER, BeingClient


@pytest.fixture
def being(keeper: Keeper) -> Being:
    return keeper.create("Hana")


@pytest.fixture
def memory(keeper: Keeper, being: Being) -> Memory:
    return keeper.open(being)


@pytest.fixture
def server(keeper: Keeper) -> Server:
    return being_server(keeper)


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, server: Server, being: Being) -> BeingClient:
    """A client with a full token."""
    return BeingClient(server, being, modern=request.param == "modern")


@pytest.fixture
def reader(server: Server, being: Being) -> BeingClient:
    """A client with a read-only token."""
    return BeingClient(server, being, READER)
