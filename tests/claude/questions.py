"""A server whose tool asks the person first."""

from __future__ import annotations

from clawkit import SdkMcpServerImpl

server = SdkMcpServerImpl("shop", "1.0.0")


@server.tool(always_load=True, requires_approval=True)
async def buy(what: str) -> str:
    return f"bought {what}"
