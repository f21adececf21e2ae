"""Options are typed: editors show them, and type checkers find a wrong one before it runs.

A wrong use has an ignore with the error that `make types` must find there; without that error, the
ignore is one itself.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, get_type_hints

import pytest

from clawkit import SdkMcpTool, Server, ToolContent, claw_tool
from clawkit.claude import ClaudeAgentOptions, ClaudeClient, query
from clawkit.claude.options import ClaudeAgentOptionsDict
from clawkit.errors import SchemaError, SettingsError
from clawkit.guard import guard_server, load_policy
from clawkit.memory import open_being
from clawkit.tools.tool import ToolOptions, ToolOptionsDict
from clawkit.wire.http.endpoint import HttpAppOptions, http_app

SCHEMA: dict[str, Any] = {"type": "object"}


def area(width: float, height: float) -> float:
    return width * height


async def nothing(args: dict[str, Any]) -> None:
    del args


def test_the_typed_options_are_those_that_there_are() -> None:
    assert list(get_type_hints(ToolOptionsDict)) == list(ToolOptions.__struct_fields__)
    assert get_type_hints(ClaudeAgentOptionsDict) == get_type_hints(ClaudeAgentOptions)
    taken = [
        name for name, one in signature(http_app).parameters.items() if one.kind == one.KEYWORD_ONLY
    ]
    assert list(get_type_hints(HttpAppOptions)) == taken


def test_a_tool_takes_its_options() -> None:
    server = Server("shapes", "1.0.0")
    assert claw_tool(name="area", read_only=True, timeout=2.5)(area).tool.options.timeout == 2.5
    assert server.tool(description="Of a box.", idempotent=True)(area).tool.options.idempotent
    assert server.tool(area).fn(2.0, 3.0) == 6.0
    assert SdkMcpTool("none", "Nothing.", SCHEMA, nothing, concurrency=1).concurrency == 1


def test_a_tool_takes_no_others() -> None:
    server = Server("shapes", "1.0.0")
    with pytest.raises(SchemaError, match="has no option readonly"):
        claw_tool(readonly=True)  # pyright: ignore[reportCallIssue]
    with pytest.raises(SchemaError, match="timeout: expected"):
        claw_tool(timeout="soon")(area)  # pyright: ignore[reportArgumentType]
    with pytest.raises(SchemaError, match="has no option colour"):
        server.tool(colour="red")(area)  # pyright: ignore[reportCallIssue]
    with pytest.raises(SchemaError, match="has no option slow"):
        SdkMcpTool("none", "Nothing.", SCHEMA, nothing, slow=True)  # pyright: ignore[reportCallIssue]


def test_a_server_over_http_takes_the_options_of_its_app() -> None:
    server = Server("shapes", "1.0.0")
    assert server.http_app(path="/here", sessions=True, hosts=None)
    with pytest.raises(TypeError):
        server.http_app(root="/here")  # pyright: ignore[reportCallIssue]

    def never_called() -> None:
        server.serve_http(paths=("/a", "/b"))  # pyright: ignore[reportCallIssue]

    assert never_called


def test_content_takes_what_the_protocol_knows() -> None:
    link = ToolContent.link("file:///a", "a", mimeType="text/plain", size=3)
    assert link.annotated(audience=["user"], priority=0.5)["annotations"]["priority"] == 0.5
    ToolContent.link("file:///a", "a", mime_type="text/plain")  # pyright: ignore[reportCallIssue]
    link.annotated(audience="user")  # pyright: ignore[reportArgumentType]


def test_the_claude_cli_takes_its_options() -> None:
    client = ClaudeClient(model="opus", allowed_tools=["Read"])
    assert client.options.replace(max_turns=2).max_turns == 2
    with pytest.raises(SettingsError, match="did you mean model"):
        ClaudeClient(modell="opus")  # pyright: ignore[reportCallIssue]
    with pytest.raises(SettingsError, match="allowed_tools is a list"):
        client.options.replace(allowed_tools="Read")
    client.options.replace(max_turns="two")  # pyright: ignore[reportArgumentType]
    query("Hello", model="opus", cwd=".")
    query("Hello", modell="opus")  # pyright: ignore[reportCallIssue]


def test_memory_and_guard_take_theirs() -> None:
    with pytest.raises(TypeError):
        open_being("ada", place="sqlite:x")  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        load_policy(servers="x")  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        guard_server(Server("s", "1"), asks=None)  # pyright: ignore[reportCallIssue]
