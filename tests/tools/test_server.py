"""The documented in-process surface, to the letter: sections 3, 5, 8 and 9 of the document."""

from __future__ import annotations

from typing import Any

import pytest

from clawkit import (
    ClawError,
    Context,
    Limits,
    SdkMcpServer,
    SdkMcpServerImpl,
    SdkMcpServerRegistry,
    SdkMcpTool,
    ToolHandler,
    ToolResult,
    claw_tool,
)
from clawkit.errors import SchemaError, SettingsError
from clawkit.tools.loader import load_server
from tests.processes import ROOT

NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}


class Adder:
    async def call(self, args: dict[str, Any]) -> ToolResult:
        if "a" not in args:
            raise ClawError.ToolExecution("a is missing")
        return ToolResult.text(f"Result: {args['a'] + args['b']}")


@pytest.fixture
def server() -> SdkMcpServerImpl:
    server = SdkMcpServerImpl("my_server", "1.0.0")
    server.register_tool(SdkMcpTool("calculator", "Add two numbers", NUMBERS, Adder()))
    return server


async def ask(server: SdkMcpServerImpl, method: str, params: Any = None) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 3, "method": method}
    reply = await server.handle_jsonrpc(
        request if params is None else {**request, "params": params}
    )
    assert reply is not None
    assert reply["id"] == 3
    return reply


async def test_initialize_answers_as_documented(server: SdkMcpServerImpl) -> None:
    assert (await ask(server, "initialize"))["result"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "my_server", "version": "1.0.0"},
    }


async def test_tools_list_answers_as_documented(server: SdkMcpServerImpl) -> None:
    definition = {"name": "calculator", "description": "Add two numbers", "inputSchema": NUMBERS}
    assert (await ask(server, "tools/list"))["result"] == {"tools": [definition]}
    assert server.list_tools() == [definition]


async def test_tools_call_answers_as_documented(server: SdkMcpServerImpl) -> None:
    params = {"name": "calculator", "arguments": {"a": 2, "b": 3}}
    assert await ask(server, "tools/call", params) == {
        "jsonrpc": "2.0",
        "id": 3,
        "result": {"content": [{"type": "text", "text": "Result: 5"}]},
    }


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/vanish", {}, -32601),
        ("tools/call", {"name": "nothing", "arguments": {}}, -32602),
        ("tools/call", {"name": "calculator", "arguments": {}}, -32603),
        ("tools/call", {"name": 5}, -32602),
        ("tools/call", {"name": "calculator", "arguments": [1]}, -32602),
    ],
)
async def test_the_error_codes_are_the_documented_ones(
    server: SdkMcpServerImpl, method: str, params: Any, code: int
) -> None:
    assert (await ask(server, method, params))["error"]["code"] == code


async def test_invalid_arguments_of_a_function_are_32603_and_name_the_argument() -> None:
    @claw_tool
    def double(number: int) -> int:
        return number * 2

    server = SdkMcpServerImpl("s", "1")
    server.register_tool(double)
    reply = await ask(server, "tools/call", {"name": "double", "arguments": {"number": "x"}})
    assert reply["error"]["code"] == -32603
    assert "number" in reply["error"]["message"]


async def test_an_error_result_is_a_successful_response() -> None:
    @claw_tool
    async def refuse() -> ToolResult:
        return ToolResult.error("Invalid input: expected positive number")

    server = SdkMcpServerImpl("s", "1")
    server.register_tool(refuse())
    reply = await ask(server, "tools/call", {"name": "refuse"})
    assert reply["result"]["isError"] is True


def test_tools_are_found_by_name_and_a_second_one_overwrites(server: SdkMcpServerImpl) -> None:
    found = server.get_tool("calculator")
    assert found is not None
    assert found.input_schema == NUMBERS
    assert server.get_tool("nothing") is None
    server.register_tool(SdkMcpTool("calculator", "Another", NUMBERS, Adder()))
    assert [tool["description"] for tool in server.list_tools()] == ["Another"]


def test_a_class_with_an_async_call_is_a_tool_handler() -> None:
    assert isinstance(Adder(), ToolHandler)


async def test_a_handler_may_take_the_context_or_be_a_plain_coroutine_function() -> None:
    class Curious:
        async def call(self, args: dict[str, Any], context: Any) -> ToolResult:
            return ToolResult.text(f"{context.server.name} {args['a']}")

    async def plain(args: dict[str, Any]) -> str:
        return f"plain {args['a']}"

    server = SdkMcpServerImpl("s", "1")
    server.register_tool(SdkMcpTool("curious", "", NUMBERS, Curious()))
    server.register_tool(SdkMcpTool("plain", "", NUMBERS, plain))
    for name, text in (("curious", "s 1"), ("plain", "plain 1")):
        reply = await ask(server, "tools/call", {"name": name, "arguments": {"a": 1}})
        assert reply["result"]["content"][0]["text"] == text


@pytest.mark.parametrize("handler", [5, object(), "text"])
def test_a_handler_that_cannot_be_called_is_refused(handler: Any) -> None:
    with pytest.raises(SchemaError, match="call"):
        SdkMcpTool("t", "", NUMBERS, handler)


def test_an_input_schema_that_is_no_object_is_refused() -> None:
    with pytest.raises(SchemaError, match="object"):
        SdkMcpTool("t", "", {"type": "string"}, Adder())


async def test_the_registry_routes_by_server_name(server: SdkMcpServerImpl) -> None:
    registry = SdkMcpServerRegistry()
    registry.register(server)
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    found = await registry.handle("my_server", request)
    assert found is not None
    assert found["result"]["tools"][0]["name"] == "calculator"
    missing = await registry.handle("other", request)
    assert missing is not None
    assert missing["error"]["code"] == -32602
    assert "my_server" in missing["error"]["message"]
    assert registry.announcements() == [SdkMcpServer("my_server", "1.0.0")]


async def test_a_notification_gets_no_answer(server: SdkMcpServerImpl) -> None:
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert await server.handle_jsonrpc(notice) is None


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("s", None), {}),
        ((None, "1"), {}),
    ],
)
def test_a_server_without_a_name_or_version_is_refused(arguments: Any, options: Any) -> None:
    with pytest.raises(SettingsError, match="name and a version"):
        SdkMcpServerImpl(*arguments, **options)


@pytest.mark.parametrize("limits", [{"concurrency": 0}, {"threads": 0}, {"timeout": 0}], ids=str)
def test_limits_that_would_answer_nothing_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Limits(**limits)


async def test_a_sync_tool_sees_that_its_caller_was_cancelled() -> None:
    import asyncio
    import threading

    started, noticed = threading.Event(), threading.Event()

    @claw_tool
    def watch(context: Context) -> None:
        started.set()
        while not context.cancelled:
            threading.Event().wait(0.01)
        noticed.set()

    server = SdkMcpServerImpl("s", "1")
    server.register_tool(watch)
    caller = asyncio.ensure_future(ask(server, "tools/call", {"name": "watch"}))
    await asyncio.to_thread(started.wait, 20)
    caller.cancel()
    assert await asyncio.to_thread(noticed.wait, 20)


async def test_concurrent_calls_without_a_session_may_share_an_id(server: SdkMcpServerImpl) -> None:
    import asyncio

    params = {"name": "calculator", "arguments": {"a": 1, "b": 1}}
    replies = await asyncio.gather(*(ask(server, "tools/call", params) for _ in range(20)))
    assert all("result" in reply for reply in replies)


async def test_the_example_echoes_as_often_as_it_is_told() -> None:
    server = load_server(str(ROOT / "examples" / "calculator.py"))
    for repeat, text in ((None, "a"), (0, ""), (1, "a"), (3, "a\na\na")):
        arguments = {"text": "a"} if repeat is None else {"text": "a", "repeat": repeat}
        params = {"name": "echo", "arguments": arguments}
        reply = await server.handle_jsonrpc(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        )
        assert reply is not None
        assert reply["result"]["content"] == [{"type": "text", "text": text}]
