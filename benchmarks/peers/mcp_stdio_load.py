"""The official SDK's low-level server with the tools that carry weight, `size` and `pause`."""

from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import BaseModel


class Size(BaseModel):
    """The arguments of `size`."""

    text: str


class Pause(BaseModel):
    """The arguments of `pause`."""

    seconds: float


TOOLS = [
    types.Tool(name="size", description="Count characters.", input_schema=Size.model_json_schema()),
    types.Tool(name="pause", description="Wait.", input_schema=Pause.model_json_schema()),
]


async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
    """Answer `tools/list`."""
    return types.ListToolsResult(tools=TOOLS)


async def answer(name: str, arguments: dict[str, Any] | None) -> str:
    """Validate and call."""
    if name == "size":
        return str(len(Size.model_validate(arguments).text))
    if name == "pause":
        await anyio.sleep(Pause.model_validate(arguments).seconds)
        return "done"
    raise ValueError(f"unknown tool {name!r}")


async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Wrap the answer as text."""
    text = await answer(params.name, params.arguments)
    return types.CallToolResult(content=[types.TextContent(text=text)])


server: Server[Any] = Server(
    "bench", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool
)


async def main() -> None:
    """Serve until the end of input."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
