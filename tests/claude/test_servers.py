"""External MCP servers: how they are written down, and how the real CLI runs them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clawkit import SdkMcpServerImpl
from clawkit.claude.options import (
    ClaudeAgentOptions,
    McpServerConfig,
    mcp_config_of,
    read_mcp_json,
    write_mcp_json,
)
from clawkit.claude.permissions import Question
from clawkit.errors import SettingsError
from tests.assistant.providers.scripted import Call, Say
from tests.claude.conversations import talking
from tests.processes import ROOT, guarding, http_server, serving

CALCULATOR = ROOT / "examples" / "calculator.py"
SUM = Call("mcp__sums__calculator", {"operation": "add", "a": 2, "b": 3}, id="sum")


def stdio(*command: str) -> Any:
    return McpServerConfig.Stdio(command=command[0], args=list(command[1:]))


@pytest.mark.parametrize("guarded", [False, True], ids=["served", "behind the guard"])
async def test_a_stdio_server_of_ours_is_started_and_called(project: Path, guarded: bool) -> None:
    command = serving(CALCULATOR)
    server = stdio(*(guarding(*command) if guarded else command))
    async with talking(
        project, [SUM, Say("5")], mcp_servers={"sums": server}, allowed_tools=["mcp__sums"]
    ) as talk:
        await talk.say("2 + 3?")
        assert talk.read("sum") == "Result: 5"
        (status,) = await talk.client.mcp_status()
        assert (status["name"], status["status"]) == ("sums", "connected")
        assert [tool["name"] for tool in status["tools"]] == ["calculator", "echo"]


async def test_an_http_server_of_ours_is_called(project: Path) -> None:
    with http_server(CALCULATOR) as address:
        server = McpServerConfig.Http(url=address, headers={"X-Test": "1"})
        async with talking(
            project, [SUM, Say("5")], mcp_servers={"sums": server}, allowed_tools=["mcp__sums"]
        ) as talk:
            await talk.say("2 + 3?")
            assert talk.read("sum") == "Result: 5"


async def test_servers_are_set_turned_off_and_on_while_the_cli_runs(project: Path) -> None:
    kit = SdkMcpServerImpl("kit", "1.0.0")
    async with talking(project, [], kit) as talk:
        client = talk.client
        config = {"command": sys.executable, "args": list(serving(CALCULATOR)[1:])}
        changed = await client.set_mcp_servers({"sums": config})
        assert (changed["added"], changed["removed"], changed["errors"]) == (["sums"], [], {})
        await client.toggle_mcp_server("sums", False)
        assert await statuses(client) == {"kit": "connected", "sums": "disabled"}
        await client.toggle_mcp_server("sums", True)
        await client.reconnect_mcp_server("sums")
        assert await statuses(client) == {"kit": "connected", "sums": "connected"}
        called = await client.control(
            "mcp_call", tool="mcp__sums__echo", arguments={"text": "hello"}
        )
        assert "hello" in json.dumps(called)
        assert (await client.set_mcp_servers({}))["removed"] == ["sums"]
        assert await statuses(client) == {"kit": "connected"}


async def test_a_server_that_asks_the_person_is_answered_by_the_host(project: Path) -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> dict[str, Any] | None:
        asked.append(question)
        return {} if "tea" in question.message else None

    calls = [Call("mcp__shop__buy", {"what": what}, id=what) for what in ("tea", "gold")]
    options: dict[str, Any] = {
        "mcp_servers": {"shop": stdio(*serving(ROOT / "tests" / "claude" / "questions.py"))},
        "allowed_tools": ["mcp__shop"],
    }
    async with talking(project, [calls, Say("Done.")], elicit=answer, **options) as talk:
        await talk.say("Buy.")
        assert talk.read("tea") == "bought tea"
        assert talk.read("gold") == "buy was not approved"
    assert [question.server for question in asked] == ["shop", "shop"]
    assert asked[0].message == 'Allow buy to run with what = "tea"?'
    assert asked[0].schema["type"] == "object"
    async with talking(project, [calls, Say("Done.")], **options) as talk:
        await talk.say("Buy.")
        assert talk.read("tea") == "buy was not approved", "there is nobody to ask"


async def statuses(client: Any) -> dict[str, str]:
    return {status["name"]: status["status"] for status in await client.mcp_status()}


async def test_a_server_that_cannot_be_started_is_told_and_the_rest_works(project: Path) -> None:
    broken = stdio("/nowhere/to/be/found")
    async with talking(project, [Say("Hello.")], mcp_servers={"broken": broken}) as talk:
        assert (await talk.say("Hello?")).result == "Hello."
        assert await statuses(talk.client) == {"broken": "failed"}


@pytest.mark.parametrize(
    ("server", "written"),
    [
        (
            McpServerConfig.Stdio(command="npx", args=["-y", "files"], env={"ROOT": "/"}),
            {"type": "stdio", "command": "npx", "args": ["-y", "files"], "env": {"ROOT": "/"}},
        ),
        (
            McpServerConfig.Stdio(command="files"),
            {"type": "stdio", "command": "files", "args": [], "env": {}},
        ),
        (
            McpServerConfig.Sse(url="http://localhost/sse"),
            {"type": "sse", "url": "http://localhost/sse", "headers": {}},
        ),
        (
            McpServerConfig.Http(url="http://localhost/mcp", headers={"A": "b"}),
            {"type": "http", "url": "http://localhost/mcp", "headers": {"A": "b"}},
        ),
    ],
)
def test_a_server_is_written_as_the_document_shows_and_read_back(
    server: Any, written: dict[str, Any]
) -> None:
    assert server.to_dict() == written
    assert McpServerConfig.from_dict(written) == server
    assert mcp_config_of(ClaudeAgentOptions(mcp_servers={"it": server})) == {
        "mcpServers": {"it": written}
    }
    assert mcp_config_of(ClaudeAgentOptions(mcp_servers={"it": written})) == {
        "mcpServers": {"it": written}
    }


def test_an_entry_without_a_type_is_a_command_or_an_address() -> None:
    assert McpServerConfig.from_dict({"command": "x"}) == McpServerConfig.Stdio(command="x")
    assert McpServerConfig.from_dict({"url": "http://x"}) == McpServerConfig.Http(url="http://x")


@pytest.mark.parametrize("entry", [{}, {"type": "carrier-pigeon"}, {"command": 7}, {"type": "sse"}])
def test_an_entry_that_is_no_server_is_an_error_that_names_it(entry: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="mcp_servers: mine: "):
        mcp_config_of(ClaudeAgentOptions(mcp_servers={"mine": entry}))


def test_mcp_json_keeps_what_it_does_not_know(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    before = {
        "$schema": "https://example.com/schema",
        "mcpServers": {
            "other": {"type": "ws", "url": "ws://x", "colour": "blue"},
            "mine": {"command": "old", "disabled": True, "args": ["1"]},
        },
        "more": [1, {"a": "ü"}],
    }
    file.write_text(json.dumps(before))
    write_mcp_json(file, {"mine": McpServerConfig.Http(url="http://x")})
    after = json.loads(file.read_text())
    mine = {"type": "http", "url": "http://x", "headers": {}, "disabled": True}
    assert after == {**before, "mcpServers": {**before["mcpServers"], "mine": mine}}
    assert list(after) == list(before)


def test_mcp_json_is_made_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    servers = {
        "a": McpServerConfig.Stdio(command="x", args=["y"], env={"K": "v"}),
        "b": McpServerConfig.Sse(url="http://b", headers={"Authorization": "Bearer b"}),
    }
    write_mcp_json(file, servers)
    assert read_mcp_json(file) == servers


@pytest.mark.parametrize("text", ["", "[]", "{", '{"mcpServers": []}', '{"mcpServers": {"a": 1}}'])
def test_a_mcp_json_that_cannot_be_used_is_an_error_that_names_it(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"\.mcp\.json"):
        read_mcp_json(file)
    with pytest.raises(SettingsError, match=r"\.mcp\.json"):
        write_mcp_json(file, {})
    assert file.read_text() == text
