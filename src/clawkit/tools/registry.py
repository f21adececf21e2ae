"""Several in-process servers by name, as the Claude CLI addresses them."""

from __future__ import annotations

from typing import Any

import msgspec

from clawkit.errors import InvalidParamsError
from clawkit.tools.server import SdkMcpServerImpl
from clawkit.wire import jsonrpc
from clawkit.wire.session import Session


class SdkMcpServer(msgspec.Struct, frozen=True):
    """The name and version of an in-process server, as options announce it."""

    name: str
    version: str = "1.0.0"


class SdkMcpServerRegistry:
    """Routes a message to the server it is meant for."""

    def __init__(self) -> None:
        self._servers: dict[str, SdkMcpServerImpl] = {}
        self._sessions: dict[str, Session] = {}

    def register(self, server: SdkMcpServerImpl) -> None:
        """Add a server; a second one of the same name takes its place."""
        self._servers[server.name] = server
        self._sessions[server.name] = Session(strict=True)

    def get(self, server_name: str) -> SdkMcpServerImpl | None:
        return self._servers.get(server_name)

    def announcements(self) -> list[SdkMcpServer]:
        return [SdkMcpServer(s.name, s.version) for s in self._servers.values()]

    async def handle(self, server_name: str, request: dict[str, Any]) -> dict[str, Any] | None:
        """The reply of the server called `server_name`, or a JSON-RPC error if there is none."""
        server = self._servers.get(server_name)
        if server is None:
            known = ", ".join(self._servers) or "none"
            problem = InvalidParamsError(f"No server called {server_name!r}; there is {known}")
            return jsonrpc.failure(jsonrpc.reply_id(request), problem)
        return await server.handle_jsonrpc(request, self._sessions[server_name])
