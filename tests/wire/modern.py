"""Requests of the modern era, made in process."""

from __future__ import annotations

from typing import Any

from clawkit import SdkMcpServerImpl, Session
from clawkit.wire.revisions import META_CAPABILITIES, META_VERSION, MODERN, TASKS
from clawkit.wire.session import Principal

TASK_CLIENT: dict[str, Any] = {"elicitation": {}, "extensions": {TASKS: {}}}


class ModernClient:
    """Sends requests with the `_meta` they need and collects what the server says on its own."""

    def __init__(
        self,
        server: SdkMcpServerImpl,
        capabilities: dict[str, Any] | None = None,
        principal: Principal | None = None,
    ) -> None:
        self.server = server
        self.capabilities = capabilities or {}
        self.heard: list[dict[str, Any]] = []
        self.session = Session(self.heard.append, principal=principal)
        self._next = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._next += 1
        meta = {META_VERSION: MODERN, META_CAPABILITIES: self.capabilities}
        meta.update(params.pop("_meta", {}))
        request = {
            "jsonrpc": "2.0",
            "id": self._next,
            "method": method,
            "params": {**params, "_meta": meta},
        }
        reply = await self.server.handle_jsonrpc(request, self.session)
        assert reply is not None
        return reply

    async def call(self, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
        reply = await self.ask("tools/call", name=name, arguments=arguments or {}, **more)
        return reply.get("result") or reply
