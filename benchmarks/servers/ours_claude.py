"""Our client of the Claude CLI: its dispatch over a wire, and a conversation with the CLI."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.claude_dispatch import SERVER, Wire
from clawkit import SdkMcpServerImpl, SdkMcpServerRegistry
from clawkit.claude.client import ClaudeClient
from clawkit.claude.control import Control
from clawkit.claude.messages import ResultMessage

server = SdkMcpServerImpl(SERVER, "1.0.0")


@server.tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


registry = SdkMcpServerRegistry()
registry.register(server)


@asynccontextmanager
async def reading(wire: Wire) -> AsyncIterator[None]:
    """Let the client read from the wire, with what `connect` gives it to answer with."""
    client = ClaudeClient()
    client.register_mcp_message_handler(registry)
    client._control = Control(wire.write, {"mcp_message": client._tools.answer})

    async def read() -> None:
        async for line in wire.lines():
            client._hear(line)

    task = asyncio.ensure_future(read())
    try:
        yield
    finally:
        task.cancel()


@asynccontextmanager
async def conversing(cli: str, env: dict[str, str], cwd: str, tool: str) -> AsyncIterator[Any]:
    """Connect to the CLI; gives what says something and waits for the answer."""
    client = ClaudeClient(cli_path=cli, env=env, cwd=cwd, tools=[], allowed_tools=[tool])
    client.register_mcp_message_handler(registry)
    async with client:

        async def say(text: str) -> str | None:
            await client.send(text)
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    return message.result
            return None

        yield say
