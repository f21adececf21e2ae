"""An assistant for tests: a home of its own, and a scripted provider behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clawkit.assistant.assistant import Assistant
from clawkit.assistant.callbacks import AssistantReply, Callbacks, MessageContext
from clawkit.assistant.config import Config, parse_config
from clawkit.assistant.toolbox.tool_source import CallResult
from clawkit.models.protocol import ToolCall
from clawkit.settings import Settings
from tests.assistant.providers.scripted import ScriptedServer, scripted_anthropic, scripted_openai
from tests.assistant.providers.steps import Script
from tests.processes import PATIENCE

SCRIPTED = {"anthropic": scripted_anthropic, "openai": scripted_openai}


def places(home: Path) -> Settings:
    return Settings(home / "config", home / "data", home / "policy")


def config_of(home: Path, text: str = "") -> Config:
    return parse_config(text, home / "config.toml", places(home))


@contextmanager
def scripted(
    home: Path, script: Script, *, wire: str = "anthropic", more: str = ""
) -> Generator[tuple[ScriptedServer, Config]]:
    """A provider that follows a script, and the config that asks it."""
    with SCRIPTED[wire](script) as server:
        yield server, config_of(home, provider_config(server, wire) + more)


def provider_config(server: ScriptedServer, wire: str = "anthropic") -> str:
    return (
        f'[providers.scripted]\nkind = "{wire}"\nbase_url = "{server.url}"\n'
        '[model]\nuse = "scripted/one"\nretries = 1\n'
    )


class Heard(Callbacks):
    """Everything that was heard on the way."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def text(self, delta: str) -> None:
        self.events.append(("text", delta))

    def block(self, text: str) -> None:
        self.events.append(("block", text))

    def tool_started(self, call: ToolCall) -> None:
        self.events.append(("started", call.name))

    def tool_ended(self, call: ToolCall, result: CallResult) -> None:
        self.events.append(("ended", (call.name, result.text)))

    def step(self, text: str, tool: str = "") -> None:
        self.events.append(("step", f"{tool}: {text}" if tool else text))

    def notice(self, text: str) -> None:
        self.events.append(("notice", text))

    def of(self, kind: str) -> list[Any]:
        return [value for name, value in self.events if name == kind]


async def get_reply(
    config: Config, context: MessageContext, callbacks: Callbacks
) -> AssistantReply:
    """One reply from an assistant that is opened for it."""
    async with Assistant(config) as assistant:
        return await assistant.reply(context, callbacks)


async def say(
    assistant: Assistant, text: str, key: str = "k", heard: Callbacks | None = None, **more: Any
) -> AssistantReply:
    return await assistant.reply(MessageContext(text, key, **more), heard or Heard())


async def until(seen: Callable[[], object]) -> None:
    """Wait for something that happens elsewhere."""
    async with asyncio.timeout(PATIENCE):
        while not seen():  # noqa: ASYNC110 - what is waited for is not ours to set an event
            await asyncio.sleep(0.01)
