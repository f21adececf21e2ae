"""A store with one Being, its server, and clients of both eras."""

from __future__ import annotations

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.mcp_server import BeingServer
from clawkit.memory.memory import Memory
from clawkit.memory.records import Being
from clawkit.wire.server import ServerCore
from tests.memory.tools.being_client import READER, BeingClient


@pytest.fixture
def being(store: BeingStore) -> Being:
    return store.create("Hana")


@pytest.fixture
def memory(store: BeingStore, being: Being) -> Memory:
    return store.open(being)


@pytest.fixture
def server(store: BeingStore) -> ServerCore:
    return BeingServer(store)


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, server: ServerCore, being: Being) -> BeingClient:
    """A client with a full token."""
    return BeingClient(server, being, modern=request.param == "modern")


@pytest.fixture
def reader(server: ServerCore, being: Being) -> BeingClient:
    """A client with a read-only token."""
    return BeingClient(server, being, READER)
