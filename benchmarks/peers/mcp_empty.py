"""The least that the official SDK can serve over stdio: a low-level server without any tool."""

from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
    """Answer `tools/list`."""
    return types.ListToolsResult(tools=[])


server: Server[Any] = Server("empty", version="1.0.0", on_list_tools=list_tools)


async def main() -> None:
    """Serve until the end of input."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
