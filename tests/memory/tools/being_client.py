"""A client of a Being's server, in process and in either era of the protocol."""

from __future__ import annotations

import json
from typing import Any

from clawkit.memory.mcp_server import principal_of
from clawkit.memory.records import Being
from clawkit.memory.tokens import META_CONVERSATION, Access, Caller
from clawkit.wire.revisions import META_CAPABILITIES, META_VERSION, MODERN
from clawkit.wire.server import ServerCore
from clawkit.wire.session import Session

FULL = Caller(token="token-full")
READER = Caller(token="token-reader", scope="read-only")


class BeingClient:
    """Calls the tools of one Being as the holder of one token."""

    def __init__(
        self,
        server: ServerCore,
        being: Being,
        caller: Caller = FULL,
        *,
        modern: bool = True,
        conversation: str = "",
    ) -> None:
        self.server = server
        self.modern = modern
        self.conversation = conversation
        self.access = Access(being, caller)
        self.session = Session()

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        meta: dict[str, Any] = {}
        if self.modern:
            meta |= {META_VERSION: MODERN, META_CAPABILITIES: {}}
        if self.conversation:
            meta[META_CONVERSATION] = self.conversation
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        self.session.principal = principal_of(self.access, params.get("name", ""))
        reply = await self.server.handle_jsonrpc(request, self.session)
        assert reply is not None
        return reply

    async def call(self, tool: str, **arguments: Any) -> str:
        """The text of a tool's answer, which is no error."""
        result = (await self.ask("tools/call", name=tool, arguments=arguments))["result"]
        text = result["content"][0]["text"]
        assert not result.get("isError"), text
        return text

    async def json(self, tool: str, **arguments: Any) -> Any:
        return json.loads(await self.call(tool, **arguments))

    async def error(self, tool: str, **arguments: Any) -> str:
        """The text of a tool's answer, which is an error."""
        result = (await self.ask("tools/call", name=tool, arguments=arguments))["result"]
        text = result["content"][0]["text"]
        assert result.get("isError"), text
        return text


def scene(action: str, **more: Any) -> dict[str, Any]:
    return {"action": action, "actors": [], "when": ["2026-05-01"], **more}
