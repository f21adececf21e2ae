"""A client of the real CLI, a scripted model that answers it, and what each of them heard."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from clawkit import SdkMcpServerImpl, SdkMcpServerRegistry
from clawkit.claude.client import ClaudeClient, Prompt
from clawkit.claude.messages import Message, ResultMessage, SystemMessage
from tests.assistant.providers.scripted import ScriptedServer, scripted_anthropic
from tests.assistant.providers.steps import Request, Script
from tests.claude.cli import environment, real_cli


class Talk:
    """One conversation."""

    def __init__(self, client: ClaudeClient, api: ScriptedServer) -> None:
        self.client = client
        self.api = api
        self.messages: list[Message] = []

    async def say(self, prompt: Prompt) -> ResultMessage:
        """Say something and hear the turn to its end."""
        await self.client.send(prompt)
        async for message in self.client.receive_response():
            self.messages.append(message)
        result = self.messages[-1]
        assert isinstance(result, ResultMessage)
        return result

    @property
    def init(self) -> dict[str, Any]:
        """What the CLI said of itself at the start."""
        found = [m for m in self.messages if isinstance(m, SystemMessage) and m.subtype == "init"]
        return found[-1].data

    @property
    def asked(self) -> list[Request]:
        """The questions to the model; a CLI also looks whether the API is there."""
        return [request for request in self.api.requests if request.method == "POST"]

    @property
    def heard(self) -> str:
        """Everything that the model was told."""
        return "".join(request.body.decode() for request in self.asked)

    @property
    def offered(self) -> list[str]:
        """The tools that the last request offered to the model."""
        return self.api.last.tools

    def result(self, tool_use_id: str) -> dict[str, Any]:
        """What the model was given as the result of a call."""
        for request in self.asked:
            for message in request.messages:
                for block in message["content"]:
                    if isinstance(block, dict) and block.get("tool_use_id") == tool_use_id:
                        return block
        raise AssertionError(f"the model never saw a result of {tool_use_id}")

    def read(self, tool_use_id: str) -> str:
        """The words in that result."""
        content = self.result(tool_use_id)["content"]
        if isinstance(content, str):
            return content
        return "\n".join(part["text"] for part in content if part["type"] == "text")


@asynccontextmanager
async def talking(
    project: Path, script: Script, *servers: SdkMcpServerImpl, **options: Any
) -> AsyncIterator[Talk]:
    """The CLI at work in `project`, with the answers of `script` and these in-process servers."""
    env = options.pop("env", {})
    with scripted_anthropic(script) as api:
        known = environment(api.url, project.parent)
        cli = os.environ.get("CLAUDE_CLI_PATH") or real_cli()
        client = ClaudeClient(cli_path=cli, cwd=project, env={**known, **env}, **options)
        if servers:
            client.register_mcp_message_handler(registry(*servers))
        async with client:
            yield Talk(client, api)


def registry(*servers: SdkMcpServerImpl) -> SdkMcpServerRegistry:
    found = SdkMcpServerRegistry()
    for server in servers:
        found.register(server)
    return found
