"""Qualified names of tools, and allow lists checked against the tools there are."""

from __future__ import annotations

from typing import Any

import pytest

from clawkit import SdkMcpServerImpl
from clawkit.claude.client import ClaudeClient
from clawkit.claude.permissions import qualified, split_name, unmatched_names
from clawkit.errors import CliNotFoundError
from tests.claude.conversations import registry

SERVERS = {"math-tools": ["calculator", "add.up"], "files": None, "my server": ["go"]}


def test_a_tool_has_the_documented_name() -> None:
    assert qualified("math-tools", "calculator") == "mcp__math-tools__calculator"
    assert qualified("my server", "add.up") == "mcp__my_server__add_up"


@pytest.mark.parametrize(
    ("name", "servers", "parts"),
    [
        ("Bash", (), None),
        ("mcp__files__read", (), ("files", "read")),
        ("mcp__files__read__all", (), ("files", "read__all")),
        ("mcp__files", (), ("files", "")),
        ("mcp__a__b__c", ("a", "a__b"), ("a__b", "c")),
        ("mcp__a__b", ("a", "a__b"), ("a__b", "")),
        ("mcp__my_server__go", ("my server",), ("my server", "go")),
    ],
)
def test_a_name_is_taken_apart(
    name: str, servers: tuple[str, ...], parts: tuple[str, str] | None
) -> None:
    assert split_name(name, servers) == parts


@pytest.mark.parametrize(
    "name",
    [
        "Read",
        "Bash(git *)",
        "mcp__math-tools",
        "mcp__math-tools__*",
        "mcp__math-tools__calculator",
        "mcp__math-tools__calc*",
        "mcp__math-tools__add_up",
        "mcp__my_server__go",
        "mcp__files__whatever",
        "mcp__*",
    ],
)
def test_a_name_that_matches_is_no_stranger(name: str) -> None:
    assert list(unmatched_names([name], SERVERS)) == []


def test_a_name_that_matches_nothing_is_told_with_what_there_is() -> None:
    names = ["mcp__math__calculator", "mcp__math-tools__subtract"]
    server, tool = unmatched_names(names, SERVERS)
    assert server.startswith("mcp__math__calculator: there is no MCP server called 'math'; ")
    assert server.endswith("there is math-tools, files, my server")
    assert tool.startswith("mcp__math-tools__subtract: math-tools has no tool 'subtract'; ")
    assert tool.endswith("it has calculator, add.up")


@pytest.mark.parametrize("option", ["allowed_tools", "disallowed_tools"])
async def test_connecting_warns_of_a_name_that_matches_no_tool(option: str) -> None:
    server = SdkMcpServerImpl("kit", "1.0.0")

    @server.tool
    async def cut() -> str:
        return "cut"

    fields: dict[str, Any] = {option: ["mcp__kit__cut", "mcp__kit__glue"]}
    client = ClaudeClient(cli_path="/nowhere", **fields)
    client.register_mcp_message_handler(registry(server))
    with (
        pytest.warns(
            UserWarning, match="mcp__kit__glue: kit has no tool 'glue'; it has cut"
        ) as seen,
        pytest.raises(CliNotFoundError),
    ):
        await client.connect()
    assert len(seen) == 1
    assert seen[0].filename == __file__, "the warning points at whoever connects"
