"""claude-agent-sdk: its dispatch over a wire, and a conversation with the CLI."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    Transport,
    create_sdk_mcp_server,
    tool,
)
from claude_agent_sdk._internal.query import Query

from benchmarks.claude_dispatch import SERVER, Wire


@tool("add", "Add two numbers", {"a": int, "b": int})
async def add(arguments: dict[str, Any]) -> dict[str, Any]:
    """Add two numbers."""
    return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}


class OverWire(Transport):
    """Reads and writes as its subprocess transport does, without the process."""

    def __init__(self, wire: Wire) -> None:
        """Keep the wire."""
        self._wire = wire

    async def connect(self) -> None:
        """Nothing to start."""

    async def close(self) -> None:
        """Nothing to stop."""

    async def end_input(self) -> None:
        """Nothing to end."""

    def is_ready(self) -> bool:
        """Always."""
        return True

    async def write(self, data: str) -> None:
        """Send a reply."""
        await self._wire.write(data.encode())

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Messages, decoded as its own transport decodes them."""
        async for line in self._wire.lines():
            yield json.loads(line.decode())


@asynccontextmanager
async def reading(wire: Wire) -> AsyncIterator[None]:
    """Run its own loop over the wire."""
    config = create_sdk_mcp_server(SERVER, "1.0.0", [add])
    servers = {SERVER: config["instance"]}
    query = Query(OverWire(wire), is_streaming_mode=True, sdk_mcp_servers=servers)
    await query.start()
    try:
        yield
    finally:
        await query.close()


@asynccontextmanager
async def conversing(cli: str, env: dict[str, str], cwd: str, tool: str) -> AsyncIterator[Any]:
    """Connect to the CLI; gives what says something and waits for the answer."""
    options = ClaudeAgentOptions(
        cli_path=cli,
        env=env,
        cwd=cwd,
        tools=[],
        allowed_tools=[tool],
        setting_sources=[],
        mcp_servers={SERVER: create_sdk_mcp_server(SERVER, "1.0.0", [add])},
    )
    async with ClaudeSDKClient(options) as client:

        async def say(text: str) -> str | None:
            await client.query(text)
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    return message.result
            return None

        yield say
