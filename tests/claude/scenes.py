"""Conversations that bring about every control message there is, to be recorded and replayed."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from clawkit import SdkMcpServerImpl
from clawkit.claude.client import ClaudeClient
from clawkit.claude.messages import Message
from clawkit.claude.options import McpServerConfig
from clawkit.claude.permissions import (
    Allow,
    Deny,
    HookEvent,
    HookInput,
    HookMatcher,
    HookResult,
    Question,
    ToolRequest,
)
from clawkit.errors import ControlError
from tests.assistant.providers.scripted import Call, Say
from tests.assistant.providers.steps import Step
from tests.processes import PATIENCE, ROOT, serving


@dataclass(frozen=True)
class Scene:
    """What the model says, how the client is set up, and what is done with it."""

    act: Callable[[ClaudeClient], Awaitable[None]]
    script: list[Step] = field(default_factory=list)
    server: SdkMcpServerImpl | None = None
    options: dict[str, Any] = field(default_factory=dict)


async def say(client: ClaudeClient, prompt: str) -> list[Message]:
    await client.send(prompt)
    return [message async for message in client.receive_response()]


def calling() -> Scene:
    """A tool is called, one fails, arguments do not fit."""
    server = SdkMcpServerImpl("kit", "1.0.0")

    @server.tool(always_load=True)
    async def add(a: int, b: int) -> str:
        return str(a + b)

    async def act(client: ClaudeClient) -> None:
        await say(client, "What is 1 + 2?")

    calls = [
        Call("mcp__kit__add", {"a": 1, "b": 2}, id="toolu_right"),
        Call("mcp__kit__add", {"a": "one"}, id="toolu_wrong"),
    ]
    script = [calls, Say("It is 3.")]
    return Scene(act, script, server, {"allowed_tools": ["mcp__kit__add"]})


def interrupting() -> Scene:
    """A tool is cancelled by an interrupt."""
    server = SdkMcpServerImpl("kit", "1.0.0")
    started = asyncio.Event()

    @server.tool(always_load=True)
    async def wait() -> str:
        started.set()
        await asyncio.sleep(PATIENCE)
        return "never"

    async def act(client: ClaudeClient) -> None:
        turn = asyncio.create_task(say(client, "Wait."))
        await asyncio.wait_for(started.wait(), PATIENCE)
        await client.interrupt()
        await turn

    script = [Call("mcp__kit__wait", id="toolu_wait"), Say("Done.")]
    return Scene(act, script, server, {"allowed_tools": ["mcp__kit"]})


def growing() -> Scene:
    """A tool is added while the CLI runs."""
    server = SdkMcpServerImpl("kit", "1.0.0")

    async def grown() -> str:
        return "I am new"

    async def act(client: ClaudeClient) -> None:
        await say(client, "Hello?")
        server.tool(grown)

    return Scene(act, [Say("Hello.")], server)


def deciding() -> Scene:
    """Calls are allowed, changed, denied, and denied with the whole turn."""
    server = SdkMcpServerImpl("kit", "1.0.0")

    @server.tool(always_load=True)
    async def boil(minutes: int) -> str:
        return f"boiled for {minutes}"

    async def decide(request: ToolRequest) -> Allow | Deny | bool:
        match request.input["minutes"]:
            case 1:
                return True
            case 2:
                return Allow(updated_input={"minutes": 20})
            case 3:
                return False
            case _:
                return Deny("Enough", interrupt=True)

    async def act(client: ClaudeClient) -> None:
        await say(client, "Boil.")

    calls = [Call("mcp__kit__boil", {"minutes": n}, id=f"toolu_{n}") for n in range(1, 5)]
    return Scene(act, [calls, Say("Done.")], server, {"can_use_tool": decide})


def withdrawing() -> Scene:
    """A question to the person is withdrawn, because a hook has answered it."""
    server = SdkMcpServerImpl("kit", "1.0.0")

    @server.tool(always_load=True)
    async def boil() -> str:
        return "boiled"

    async def nobody(_: ToolRequest) -> bool:
        await asyncio.sleep(PATIENCE)
        return False

    async def hook(_: HookInput) -> HookResult:
        return HookResult(permission="allow")

    async def act(client: ClaudeClient) -> None:
        await say(client, "Boil.")

    script = [Call("mcp__kit__boil", id="toolu_boil"), Say("Done.")]
    hooks = {"PermissionRequest": [HookMatcher([hook])]}
    return Scene(act, script, server, {"can_use_tool": nobody, "hooks": hooks})


def hooking() -> Scene:
    """Hooks hear of many events, change arguments, add context and deny."""
    server = SdkMcpServerImpl("kit", "1.0.0")

    @server.tool(always_load=True)
    async def boil(minutes: int) -> str:
        if minutes > 9:
            raise ValueError("too long")
        return f"boiled for {minutes}"

    async def before(event: HookInput) -> HookResult:
        match event.tool_input["minutes"]:
            case 1:
                return HookResult(permission="allow", updated_input={"minutes": 2})
            case 3:
                return HookResult(permission="deny", reason="Not three")
            case _:
                return HookResult(permission="allow")

    async def after(_: HookInput) -> HookResult:
        return HookResult(context="The kettle is hot.")

    async def hear(_: HookInput) -> None:
        return None

    async def act(client: ClaudeClient) -> None:
        await say(client, "Boil.")

    heard: tuple[HookEvent, ...] = (
        *("PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "Stop", "SessionEnd"),
    )
    hooks: dict[HookEvent, Any] = {event: [HookMatcher([hear])] for event in heard}
    hooks["PreToolUse"] = [HookMatcher([before], "mcp__kit__.*", timeout=30)]
    hooks["PostToolUse"] = [HookMatcher([after])]
    calls = [Call("mcp__kit__boil", {"minutes": n}, id=f"toolu_{n}") for n in (1, 3, 11)]
    return Scene(act, [calls, Say("Done.")], server, {"hooks": hooks})


def steering() -> Scene:
    """Everything that can be asked of a running CLI and changed in it."""

    async def act(client: ClaudeClient) -> None:
        await say(client, "Hello?")
        await client.set_model("sonnet")
        await client.set_model(None)
        await client.set_permission_mode("plan")
        await client.mcp_status()
        await client.context_usage()
        for subtype in ("get_session_cost", "list_models", "get_settings"):
            await client.control(subtype)
        await client.control("rename_session", title="A talk")
        await client.control("rewind_files", user_message_id="none", dry_run=True)
        await client.interrupt()
        for subtype, fields in (("set_permission_mode", {"mode": "none"}), ("dance", {})):
            with contextlib.suppress(ControlError):
                await client.control(subtype, **fields)

    return Scene(act, [Say("Hello.")])


def serving_others() -> Scene:
    """External servers are set, turned off and on, called and taken away."""

    async def act(client: ClaudeClient) -> None:
        command = serving(ROOT / "examples" / "calculator.py")
        sums = McpServerConfig.Stdio(command=command[0], args=list(command[1:]))
        assert command[0] == sys.executable
        await client.set_mcp_servers({"sums": sums})
        await client.mcp_status()
        await client.toggle_mcp_server("sums", False)
        await client.toggle_mcp_server("sums", True)
        await client.reconnect_mcp_server("sums")
        await client.control("mcp_call", tool="mcp__sums__echo", arguments={"text": "hello"})
        await client.set_mcp_servers({})

    return Scene(act, [], SdkMcpServerImpl("kit", "1.0.0"))


def questioning() -> Scene:
    """An external server asks the person."""

    async def answer(question: Question) -> dict[str, Any] | None:
        return {} if '"tea"' in question.message else None

    async def act(client: ClaudeClient) -> None:
        await say(client, "Buy.")

    command = serving(ROOT / "tests" / "claude" / "questions.py")
    servers = {"shop": McpServerConfig.Stdio(command=command[0], args=list(command[1:]))}
    calls = [
        Call("mcp__shop__buy", {"what": "tea"}, id="toolu_tea"),
        Call("mcp__shop__buy", {"what": "gold"}, id="toolu_gold"),
    ]
    options = {"mcp_servers": servers, "allowed_tools": ["mcp__shop"], "elicit": answer}
    return Scene(act, [calls, Say("Done.")], None, options)


def speaking() -> Scene:
    """Prompts and agents that are given in `initialize`, and an answer that comes in pieces."""

    async def act(client: ClaudeClient) -> None:
        await say(client, "Hello?")

    options = {
        "system_prompt": "You are a shepherd.",
        "append_system_prompt": "Be brief.",
        "agents": {"counter": {"description": "Counts sheep", "prompt": "You count sheep."}},
        "include_partial_messages": True,
    }
    return Scene(act, [Say("Good ", "day.")], None, options)


SCENES: dict[str, Callable[[], Scene]] = {
    scene.__name__: scene
    for scene in (
        calling,
        interrupting,
        growing,
        deciding,
        withdrawing,
        hooking,
        steering,
        serving_others,
        questioning,
        speaking,
    )
}
