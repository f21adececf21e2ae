"""Questions of the toolbox's servers and tools, put to the client that ordered."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    TextContent,
)

from tests.assistant.orders import INITIALIZE, order, text_of, write_config
from tests.assistant.providers.scripted import Call, Say, ScriptedServer, scripted_anthropic
from tests.assistant.replies import provider_config
from tests.claw import PROGRAMS
from tests.processes import StdioServer, stdio_server
from tests.wire.samples.messages import cancel

ROOM = """
from clawkit import Context, claw_tool

@claw_tool
async def book(context: Context) -> str:
    "Book a table."
    form = {"type": "object", "properties": {"people": {"type": "integer"}}, "required": ["people"]}
    first = await context.elicit("For how many?", form)
    second = await context.elicit("Inside?", {"type": "object", "properties": {}})
    return f"{first.action} {first.content} {second.action}"

@claw_tool
async def praise(context: Context) -> str:
    "Ask the client's model."
    answer = await context.sample("Say something nice.")
    return answer["content"]["text"]
"""
BOOK = "mcp__inn__book"
PRAISE = "mcp__inn__praise"
FORMS = {"elicitation": {}}


@contextmanager
def inn(home: Path, where: str, tool: str) -> Generator[ScriptedServer]:
    """An assistant whose model calls a tool that asks: in a file of tools, or of another server."""
    tools = home / "config" / "claw" / "tools"
    tools.mkdir(parents=True)
    file = (tools if where == "file" else home) / "inn.py"
    file.write_text(ROOM)
    server = (
        f'[mcp.servers.inn]\ncommand = "{PROGRAMS / "claw"}"\nargs = ["serve", "{file}"]\n'
        "start_timeout = 3000\n"
    )
    with scripted_anthropic([Call(tool, {}, id="c1"), Say("Booked.")]) as provider:
        write_config(home, provider_config(provider) + (server if where == "server" else ""))
        yield provider


def outcome(provider: ScriptedServer) -> str:
    """What the model was told that came of its call."""
    return str(provider.requests[-1].json["messages"][-1]["content"])


@contextmanager
def ordering(home: Path, capabilities: dict[str, Any]) -> Generator[StdioServer]:
    environment = {"CLAW_HOME": str(home), "ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
    with stdio_server(str(PROGRAMS / "openclaw"), "mcp-server", env=environment) as server:
        server.call("initialize", {**INITIALIZE, "capabilities": capabilities}, id="init")
        yield server


def received(server: StdioServer, method: str) -> dict[str, Any]:
    """The next message of this method."""
    while (message := server.receive()).get("method") != method:
        pass
    return message


def official(home: Path, mode: str, asked: list[str]) -> Client:
    async def elicit(context: Any, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG001
        asked.append(params.message)
        if "how many" in params.message:
            return ElicitResult(action="accept", content={"people": 4})
        return ElicitResult(action="decline")

    async def sample(
        context: Any,  # noqa: ARG001
        params: CreateMessageRequestParams,
    ) -> CreateMessageResult:
        asked.append(str(params.messages[0].content))
        text = TextContent(type="text", text="Lovely.")
        return CreateMessageResult(role="assistant", content=text, model="theirs")

    command = StdioServerParameters(
        command=str(PROGRAMS / "openclaw"),
        args=["mcp-server"],
        env={"CLAW_HOME": str(home), "PATH": str(Path(sys.executable).parent)},
    )
    return Client(command, mode=mode, elicitation_callback=elicit, sampling_callback=sample)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("where", ["server", "file"])
async def test_a_form_of_a_tool_is_filled_by_the_client_that_ordered(
    tmp_path: Path, where: str, mode: str
) -> None:
    asked: list[str] = []
    with inn(tmp_path, where, BOOK) as provider:
        async with official(tmp_path, mode, asked) as client:
            found = await client.call_tool("order_openclaw", {"message": "A table, please."})
    assert "Booked." in str(found.content[0])
    assert "accept {'people': 4} decline" in outcome(provider)
    who = "inn asks: " if where == "server" else ""
    assert asked == [f"{who}For how many?", f"{who}Inside?"]
    assert len(provider.requests) == 2


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("where", ["server", "file"])
async def test_a_tool_can_ask_the_model_of_the_client_that_ordered(
    tmp_path: Path, where: str, mode: str
) -> None:
    asked: list[str] = []
    with inn(tmp_path, where, PRAISE) as provider:
        async with official(tmp_path, mode, asked) as client:
            found = await client.call_tool("order_openclaw", {"message": "Praise me."})
    assert "Booked." in str(found.content[0])
    assert "Lovely." in outcome(provider)
    assert "Say something nice." in asked[0]


@pytest.mark.parametrize("where", ["server", "file"])
def test_a_client_that_cannot_answer_is_not_asked(tmp_path: Path, where: str) -> None:
    with inn(tmp_path, where, BOOK) as provider, ordering(tmp_path, {}) as server:
        reply = server.ask(order("A table, please.", 1))
    assert "Booked." in text_of(reply)
    assert "'elicitation'" in outcome(provider)


def test_what_the_client_refuses_the_tool_is_told(tmp_path: Path) -> None:
    with inn(tmp_path, "server", BOOK) as provider, ordering(tmp_path, FORMS) as server:
        server.send(order("A table, please.", 1))
        question = received(server, "elicitation/create")
        error = {"code": -1, "message": "not now"}
        server.send({"jsonrpc": "2.0", "id": question["id"], "error": error})
        while server.receive().get("id") != 1:
            pass
    assert "not now" in outcome(provider)


def test_a_question_that_nobody_waits_for_any_more_is_taken_back(tmp_path: Path) -> None:
    with inn(tmp_path, "server", BOOK), ordering(tmp_path, FORMS) as server:
        server.send(order("A table, please.", 1))
        question = received(server, "elicitation/create")
        server.send(cancel(1))
        notice = received(server, "notifications/cancelled")
    assert notice["params"]["requestId"] == question["id"]
