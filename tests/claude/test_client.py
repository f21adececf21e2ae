"""The client: what it can be told, and conversations that go on."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from clawkit import SdkMcpServerImpl, SdkMcpServerRegistry
from clawkit.claude.client import ClaudeClient, query
from clawkit.claude.messages import AssistantMessage, ResultMessage, StreamEvent
from clawkit.claude.options import ClaudeAgentOptions
from clawkit.claude.permissions import ToolRequest
from clawkit.errors import CliEndedError, CliError, ControlError
from tests.assistant.providers.scripted import Call, Request, Say, scripted_anthropic
from tests.assistant.providers.steps import Step
from tests.claude.cli import environment, real_cli
from tests.claude.conversations import talking


def system(request: Request) -> str:
    return "\n".join(part["text"] for part in request.json["system"])


def said(request: Request) -> str:
    """All that was said before, by either side."""
    return request.body.decode()


async def test_a_conversation_goes_on_over_several_turns(project: Path) -> None:
    async with talking(project, [Say("One."), Say("Two.")]) as talk:
        first = await talk.say("First?")
        second = await talk.say([{"type": "text", "text": "Second?"}])
        assert (first.result, second.result) == ("One.", "Two.")
        assert first.session_id == second.session_id
        assert "First?" in said(talk.api.last)
        assert "One." in said(talk.api.last)
        assert talk.client.version == "2.1.325"
        assert talk.client.server_info["models"]
    assert second.usage["output_tokens"] > 0
    assert isinstance(second.total_cost_usd, float)


async def test_the_model_and_the_permission_mode_can_be_changed_in_mid_conversation(
    project: Path,
) -> None:
    asked: list[ToolRequest] = []

    async def decide(request: ToolRequest) -> bool:
        asked.append(request)
        return True

    def write(name: str) -> Call:
        return Call("Write", {"file_path": str(project / name), "content": name}, id=name)

    script = [write("one"), Say("."), write("two"), Say("."), Say("Sonnet.")]
    async with talking(project, script, can_use_tool=decide) as talk:
        await talk.say("Write.")
        assert [request.tool_use_id for request in asked] == ["one"]
        await talk.client.set_permission_mode("acceptEdits")
        await talk.say("Write without asking.")
        assert [request.tool_use_id for request in asked] == ["one"]
        await talk.client.set_model("sonnet")
        await talk.say("Who are you?")
        models = [request.json["model"] for request in talk.api.requests]
        assert "sonnet" in models[-1]
        assert "sonnet" not in models[0]
        with pytest.raises(
            ControlError, match="Cannot set permission mode: must be one of"
        ) as caught:
            await talk.client.set_permission_mode("anything")  # pyright: ignore[reportArgumentType]
        assert caught.value.subtype == "set_permission_mode"
    assert {file.name for file in project.iterdir()} == {"one", "two"}  # noqa: ASYNC240 - a few


async def test_a_session_is_resumed_forked_and_has_the_id_that_was_chosen(project: Path) -> None:
    chosen = str(uuid.uuid4())
    async with talking(project, [Say("The word is mellon.")], session_id=chosen) as talk:
        assert (await talk.say("What is the word?")).session_id == chosen
    async with talking(project, [Say("As I said.")], resume=chosen) as talk:
        assert (await talk.say("Again?")).session_id == chosen
        assert "The word is mellon." in said(talk.api.last)
    async with talking(project, [Say("Yes.")], resume=chosen, fork_session=True) as talk:
        forked = (await talk.say("And here?")).session_id
        assert forked != chosen
        assert "As I said." in said(talk.api.last)
    async with talking(project, [Say("No.")], resume=chosen) as talk:
        await talk.say("Do you know of the fork?")
        assert "And here?" not in said(talk.api.last)
    async with talking(project, [Say("The last.")], continue_conversation=True) as talk:
        await talk.say("Which one is this?")
        assert "Do you know of the fork?" in said(talk.api.last)


async def test_a_session_that_is_not_kept_cannot_be_resumed(project: Path) -> None:
    async with talking(project, [Say("Hush.")], keep_session=False) as talk:
        session = (await talk.say("A secret.")).session_id
    with pytest.raises(CliError, match="No conversation found"):
        async with talking(project, [Say("What?")], resume=session) as talk:
            await talk.say("Again?")


async def test_the_system_prompt_is_replaced_or_extended(project: Path) -> None:
    async with talking(project, [Say("Arr.")], system_prompt="You are a pirate.") as talk:
        await talk.say("Who are you?")
        assert "You are a pirate." in system(talk.api.last)
        replaced = len(system(talk.api.last))
    async with talking(project, [Say("Hm.")], append_system_prompt="Be brief.") as talk:
        await talk.say("Who are you?")
        assert "Be brief." in said(talk.api.last)
        assert len(system(talk.api.last)) > replaced


async def test_an_agent_answers_with_its_own_prompt(project: Path) -> None:
    def script(request: Request) -> Step:
        if "You count sheep." in system(request):
            return Say("Seven sheep.")
        if "Seven sheep." in said(request):
            return Say("There are seven.")
        task = {"subagent_type": "shepherd", "description": "count", "prompt": "How many?"}
        return Call("Agent", {**task, "run_in_background": False}, id="agent")

    agents = {"shepherd": {"description": "Counts sheep", "prompt": "You count sheep."}}
    async with talking(project, script, agents=agents, allowed_tools=["Agent"]) as talk:
        assert (await talk.say("How many sheep?")).result == "There are seven."
        assert "Seven sheep." in talk.read("agent")
        assert "shepherd" in talk.init["agents"]


async def test_partial_messages_come_as_they_are_made(project: Path) -> None:
    script = [Say("Once ", "upon ", "a time.")]
    async with talking(project, script, include_partial_messages=True) as talk:
        await talk.say("Tell me a story.")
    pieces = [m.text for m in talk.messages if isinstance(m, StreamEvent) and m.text]
    whole = [m.text for m in talk.messages if isinstance(m, AssistantMessage)]
    assert pieces == ["Once ", "upon ", "a time."]
    assert whole == ["Once upon a time."]


async def test_an_answer_in_the_shape_that_was_asked_for_however_long_that_is(
    project: Path,
) -> None:
    schema = {
        "type": "object",
        "properties": {"sheep": {"type": "integer", "description": "How many. " * 20_000}},
        "required": ["sheep"],
    }
    script = [Call("StructuredOutput", {"sheep": 7}, id="s"), Say("There.")]
    async with talking(project, script, json_schema=schema) as talk:
        result = await talk.say("How many sheep?")
        assert "StructuredOutput" in talk.api.requests[0].tools
    assert result.structured_output == {"sheep": 7}


async def test_tools_can_be_taken_away(project: Path) -> None:
    server = SdkMcpServerImpl("kit", "1.0.0")

    @server.tool(always_load=True)
    async def keep() -> str:
        return "kept"

    @server.tool(always_load=True)
    async def drop() -> str:
        return "dropped"

    options: dict[str, Any] = {
        "disallowed_tools": ["Bash", "mcp__kit__drop"],
        "allowed_tools": ["mcp__kit__keep"],
    }
    async with talking(project, [Say("Fine.")], server, **options) as talk:
        await talk.say("What can you do?")
        assert "mcp__kit__keep" in talk.offered
        assert "Read" in talk.offered
        assert not {"Bash", "mcp__kit__drop"} & set(talk.offered)
    async with talking(project, [Say("Fine.")], tools=["Read"]) as talk:
        await talk.say("And now?")
        assert not {"Bash", "Write"} & set(talk.offered)
        assert "Read" in talk.offered


async def test_turns_can_be_limited(project: Path) -> None:
    server = SdkMcpServerImpl("kit", "1.0.0")

    @server.tool
    async def step() -> str:
        return "one further"

    def script(_: Request) -> Step:
        return Call("mcp__kit__step")

    async with talking(project, script, server, max_turns=2, allowed_tools=["mcp__kit"]) as talk:
        result = await talk.say("Go.")
    assert (result.subtype, result.is_error) == ("error_max_turns", True)
    assert "2" in result.errors[0]


async def test_the_cli_knows_every_flag_that_options_become(project: Path) -> None:
    settings = project / "settings.json"
    settings.write_text("{}")
    options: dict[str, Any] = {
        "strict_mcp_config": True,
        "allowed_tools": ["Read", "Bash(git status)"],
        "disallowed_tools": ["WebFetch"],
        "tools": ["Read", "Bash"],
        "permission_mode": "acceptEdits",
        "model": "sonnet",
        "fallback_model": "haiku",
        "effort": "low",
        "max_turns": 5,
        "max_budget_usd": 1.5,
        "max_thinking_tokens": 2000,
        "json_schema": {"type": "object"},
        "betas": ["context-1m-2025-08-07"],
        "session_id": str(uuid.uuid4()),
        "keep_session": False,
        "add_dirs": [project.parent],
        "settings": settings,
        "setting_sources": ["user", "project", "local"],
        "plugin_dirs": [project],
        "include_partial_messages": True,
        "extra_args": {"name": "a talk", "replay-user-messages": None},
    }
    async with talking(project, [Say("Hello.")], **options) as talk:
        await talk.say("Hello?")
        request = talk.api.requests[0]
        assert "sonnet" in request.json["model"]
        assert talk.init["permissionMode"] == "acceptEdits"
        assert talk.init["session_id"] == options["session_id"]
        assert "context-1m-2025-08-07" in request.headers["anthropic-beta"]
    with pytest.raises(CliEndedError, match="unknown option '--dance'") as caught:
        async with talking(project, [], extra_args={"dance": None}):
            pass
    assert caught.value.code == 1


async def test_context_usage_is_told(project: Path) -> None:
    async with talking(project, [Say("Hello.")]) as talk:
        await talk.say("Hello?")
        usage = await talk.client.context_usage()
        assert usage["totalTokens"] > 0
        assert usage["categories"]


async def test_one_question_or_several_with_query(project: Path) -> None:
    async def prompts() -> AsyncIterator[str]:
        yield "One?"
        yield "Two?"

    with scripted_anthropic([Say("First."), Say("Second."), Say("Third.")]) as api:
        options = ClaudeAgentOptions(
            cli_path=real_cli(), cwd=project, env=environment(api.url, project.parent)
        )
        single = [m async for m in query("Zero?", options) if isinstance(m, ResultMessage)]
        several = [m async for m in query(prompts(), options) if isinstance(m, ResultMessage)]
    assert [m.result for m in single] == ["First."]
    assert [m.result for m in several] == ["Second.", "Third."]


async def test_two_clients_at_once_do_not_hear_each_other(project: Path) -> None:
    async def one(name: str) -> str | None:
        server = SdkMcpServerImpl("kit", "1.0.0")

        @server.tool
        async def who() -> str:
            return name

        script = [Call("mcp__kit__who", id="w"), Say(f"I am {name}.")]
        async with talking(project, script, server, allowed_tools=["mcp__kit"]) as talk:
            result = await talk.say("Who?")
            assert talk.read("w") == name
            return result.result

    assert await asyncio.gather(one("Ann"), one("Bob")) == ["I am Ann.", "I am Bob."]


async def test_a_client_can_be_connected_again(project: Path) -> None:
    with scripted_anthropic([Say("One."), Say("Two.")]) as api:
        client = ClaudeClient(
            cli_path=real_cli(), cwd=project, env=environment(api.url, project.parent)
        )
        answers: list[str | None] = []
        for _ in range(2):
            await client.connect("Hello?")
            await client.connect()  # it is already
            heard = [message async for message in client.receive_response()]
            answers.append(getattr(heard[-1], "result", None))
            await client.disconnect()
            await client.disconnect()
    assert answers == ["One.", "Two."]


async def test_a_client_that_is_not_connected_says_so() -> None:
    client = ClaudeClient()
    for action in (client.send("Hello?"), client.interrupt()):
        with pytest.raises(CliError, match=r"not connected: call connect\(\) first"):
            await action


async def test_a_registry_can_be_registered_as_the_document_does_it() -> None:
    registry = SdkMcpServerRegistry()
    registry.register(SdkMcpServerImpl("math-tools", "1.0.0"))
    client = ClaudeClient()
    await client.register_mcp_message_handler(registry)
    assert [server.name for server in client.options.sdk_mcp_servers] == ["math-tools"]
