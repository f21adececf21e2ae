"""Models on scripted providers, and what their tests ask them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from clawkit.models.anthropic import AnthropicModel
from clawkit.models.openai import OpenAiModel
from clawkit.models.protocol import (
    Called,
    Event,
    Finished,
    Message,
    ModelSettings,
    Prompt,
    Text,
    TextDelta,
    ToolCall,
    ToolSpec,
)
from tests.assistant.providers.scripted import Say, scripted_anthropic, scripted_openai

KEY = "sk-not-a-real-key-0123456789"
ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
WIRES = {"anthropic": scripted_anthropic, "openai": scripted_openai}
Adapter = AnthropicModel | OpenAiModel


def user(*parts: Any) -> Message:
    return Message("user", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def assistant(*parts: Any) -> Message:
    return Message("assistant", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def outcomes(*parts: Any) -> Message:
    return Message("tool", parts)


def prompt(*messages: Message, **options: Any) -> Prompt:
    fields: dict[str, Any] = {"system": "Be kind.", "messages": messages or (user("Hello"),)}
    return Prompt(**{**fields, **options})


@asynccontextmanager
async def adapter(wire: str, url: str, **options: Any) -> AsyncGenerator[Adapter]:
    """A model that asks the server at this address."""
    given: dict[str, Any] = {"key": KEY, "timeout": 20.0, "provider": wire, **options}
    key_env = given.pop("key_env", f"{wire.upper()}_API_KEY")
    settings = ModelSettings(model="m-1", base_url=url, **given)
    model = (AnthropicModel if wire == "anthropic" else OpenAiModel)(settings, key_env=key_env)
    try:
        yield model
    finally:
        await model.close()


async def heard(events: AsyncIterator[Event]) -> tuple[str, list[ToolCall], Finished]:
    """An answer to its end: the text, the calls, and how it ended."""
    text, calls, end = "", [], None
    async for event in events:
        assert end is None, "something came after the end"
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, Called):
            calls.append(event.call)
        else:
            end = event
    assert end is not None
    return text, calls, end


async def asked(wire: str, script: Any, given: Prompt | None = None, **options: Any) -> Any:
    """One prompt to one scripted server; gives the answer and the body of the last request."""
    with WIRES[wire](script) as server:
        async with adapter(wire, server.url, **options) as model:
            found = await heard(model.stream(given or prompt()))
        return *found, server.last.json


async def messages_sent(wire: str, *messages: Any, **options: Any) -> Any:
    """The messages of the request that a conversation becomes."""
    *_, body = await asked(wire, [Say("ok")], prompt(*messages, **options))
    return body["messages"]
