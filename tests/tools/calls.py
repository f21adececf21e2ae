"""Calling a tool as a client would, in process, and reading the text of its answer."""

from __future__ import annotations

from typing import Any

from clawkit import SdkMcpServerImpl, Session
from clawkit.tools.tool import ClawTool, SdkMcpTool


async def result_of(
    tool: ClawTool[Any] | SdkMcpTool, arguments: dict[str, Any], session: Session | None = None
) -> dict[str, Any]:
    """The result of one call, as clients over stdio and HTTP get it."""
    server = SdkMcpServerImpl("test", "1.0.0")
    server.register_tool(tool)
    (name,) = server.tools
    params = {"name": name, "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = await server.handle_jsonrpc(request, session or Session())
    assert reply is not None
    return reply["result"]


async def call(tool: ClawTool[Any] | SdkMcpTool, arguments: dict[str, Any]) -> str:
    return (await result_of(tool, arguments))["content"][0]["text"]
