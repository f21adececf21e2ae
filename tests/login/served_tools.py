"""A server of tools with logins on a real socket, in a thread of the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from clawkit import SdkMcpServerImpl
from clawkit.login.resources import address_of
from clawkit.login.tool_logins import tool_login
from clawkit.store.database import Database
from clawkit.wire.http.endpoint import http_app
from clawkit.wire.http.request_checks import LOOPBACK, Origins, TrustedProxies
from clawkit.wire.http.uvicorn_server import UvicornServer, listen
from tests.processes import PATIENCE
from tests.served import running


def tools(name: str, *called: str) -> SdkMcpServerImpl:
    """A server whose tools answer with nothing but a greeting."""
    server = SdkMcpServerImpl(name, "1.0.0")
    for one in called:
        server.tool(name=one)(_greet)
    return server


def _greet() -> str:
    """Say hello."""
    return "hello"


class ServedTools:
    """A running server of tools, known to people at `port`, wherever it listens."""

    def __init__(self, port: int, known_port: int) -> None:
        self.port = port
        self.known_port = known_port
        self.origin = f"http://localhost:{port}"
        self.known_origin = f"http://localhost:{known_port}"

    def call(self, token: str, tool: str) -> httpx2.Response:
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": {}},
        }
        headers = {"authorization": f"Bearer {token}"}
        place = f"{self.origin}/mcp"
        return httpx2.post(place, json=message, headers=headers, timeout=PATIENCE, verify=False)


@contextmanager
def served_tools(
    database: Database, server: SdkMcpServerImpl, known_port: int = 0, **options: Any
) -> Iterator[ServedTools]:
    """Serve tools until the block ends; `known_port` lets it stand in for another server."""
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    address = address_of("", "127.0.0.1", known_port or port)
    login = tool_login(
        database,
        server,
        server.name,
        address,
        Origins(LOOPBACK, ()),
        TrustedProxies(),
        **options,
    )
    app = http_app(server, admit=login.admit, authenticate=login.authenticate, routes=login.routes)
    with running(UvicornServer(app, on_stop=server.hub.close), listening):
        yield ServedTools(port, known_port or port)
