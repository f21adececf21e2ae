"""Orders through the Claude CLI: a config, tools, and what the scripted API heard of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil

from clawkit.assistant.assistant import Assistant
from clawkit.assistant.callbacks import AssistantReply
from clawkit.assistant.claude_cli_model import ClaudeCli
from clawkit.models.protocol import Event, Prompt
from tests.assistant.garden import TOOLS as GARDEN
from tests.assistant.providers.steps import Call, Request, Say, Script, Step
from tests.assistant.replies import Heard, config_of, say
from tests.processes import started

CONFIG = '[model]\nprovider = "claude-cli"\nretries = 0\n'
TOOLS = f"""{GARDEN}
import asyncio

arrived = []

@claw_tool
async def meet(guests: int) -> str:
    "Comes back when that many are there."
    arrived.append(guests)
    while len(arrived) < guests:
        await asyncio.sleep(0.01)
    return "all here"

@claw_tool
async def listing(lines: int) -> str:
    "Many lines."
    return "\\n".join(f"line {{n}}" for n in range(lines))

@claw_tool
async def forever() -> str:
    "Never comes back."
    await asyncio.sleep(600)
"""


def running() -> list[psutil.Process]:
    """Every CLI that this test has started and not reaped."""
    return [child for child in started() if child.is_running()]


def said(request: Request) -> list[dict[str, Any]]:
    """The parts of the message that the person sent."""
    return next(m["content"] for m in request.messages if m["role"] == "user")


def results(request: Request) -> dict[str, dict[str, Any]]:
    """What tools gave back, by the id of the call."""
    blocks = [b for m in request.messages if isinstance(m["content"], list) for b in m["content"]]
    return {b["tool_use_id"]: b for b in blocks if b.get("type") == "tool_result"}


def after_tools(*calls: Call, then: Step | None = None) -> Script:
    """A model that makes these calls, and answers when it has their results."""

    def script(request: Request) -> Step:
        if results(request):
            return then or Say("Done.")
        return [Say("Let me see."), *calls]

    return script


async def asked(home: Path, text: str = "hello", **more: Any) -> tuple[AssistantReply, Heard]:
    heard = Heard()
    async with Assistant(config_of(home, CONFIG)) as assistant:
        return await say(assistant, text, heard=heard, **more), heard


async def answered(model: ClaudeCli, prompt: Prompt) -> list[Event]:
    try:
        return [event async for event in model.stream(prompt)]
    finally:
        await model.close()
