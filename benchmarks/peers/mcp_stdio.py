"""The official SDK's low-level server: one tool, `add`, over stdio.

Version 2 of the low-level server validates no arguments (its migration guide leaves that to the
handler). The cheapest validation at hand, a pydantic model built once, stands in for it.
"""

from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import BaseModel


class Add(BaseModel):
    """The arguments of `add`."""

    a: int
    b: int


ADD_SCHEMA: dict[str, Any] = Add.model_json_schema()
ADD_TOOL = types.Tool(name="add", description="Add two numbers.", input_schema=ADD_SCHEMA)


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
    """Answer `tools/list`."""
    return types.ListToolsResult(tools=[ADD_TOOL])


async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Validate, call, wrap."""
    if params.name != "add":
        raise ValueError(f"unknown tool {params.name!r}")
    arguments = Add.model_validate(params.arguments)
    total = await add(arguments.a, arguments.b)
    return types.CallToolResult(content=[types.TextContent(text=str(total))])


# The schema lookup spares it a listing before every modern HTTP call.
server: Server[Any] = Server(
    "bench",
    version="1.0.0",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    get_tool_input_schema={"add": ADD_SCHEMA}.get,
)


async def main() -> None:
    """Serve until the end of input."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
