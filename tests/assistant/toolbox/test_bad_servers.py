"""Servers that are slow, list what is no tool, or say too much: an answer comes all the same."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from clawkit.assistant.toolbox import external_server
from clawkit.assistant.toolbox.server_process import Command, ServerProcess
from clawkit.assistant.toolbox.toolbox import Toolbox
from tests.assistant.orders import assistant, order, text_of, write_config
from tests.assistant.providers.scripted import scripted_anthropic
from tests.assistant.providers.steps import Say, Status
from tests.assistant.test_faults import provider_config
from tests.assistant.toolbox.boxes import call, eventually, names, python_server, said, toolbox
from tests.processes import PATIENCE, heard_late

pytestmark = pytest.mark.process

RAW = """
    import json, os, sys, threading, time

    def say(**message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def tool(name, schema):
        return {"name": name, "inputSchema": schema}

    OBJECT = {"type": "object"}
    TOOLS = [tool("good", OBJECT)]

    def listed(request):
        say(id=request["id"], result={"tools": TOOLS})

    def called(request):
        content = [{"type": "text", "text": "done"}]
        say(id=request["id"], result={"content": content})

    def serve():
        for line in sys.stdin:
            request = json.loads(line)
            if request["method"] == "initialize":
                info = {"name": "raw", "version": "1"}
                result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
                say(id=request["id"], result={**result, "serverInfo": info})
            elif request["method"] == "tools/list":
                listed(request)
            elif request["method"] == "tools/call":
                called(request)
            elif "id" in request:
                say(id=request["id"], error={"code": -32601, "message": "unknown"})
"""
SILENT = f"{RAW}\n    listed = lambda request: None\n    serve()\n"
HANGING = "import time; time.sleep(600)"


@pytest.mark.parametrize("code", [SILENT, HANGING], ids=["never lists", "never starts"])
async def test_nobody_waits_twice_for_a_server_that_does_not_list_its_tools(
    tmp_path: Path, code: str
) -> None:
    slow = python_server(tmp_path, code, start_timeout=0.5, timeout=600)
    async with toolbox(
        tmp_path, slow=slow, good=python_server(tmp_path, f"{RAW}\n    serve()")
    ) as box:
        async with asyncio.timeout(10 * PATIENCE):
            for _ in range(3):
                assert await names(box) == ["mcp__good__good"]
                (problem,) = box.problems
                assert "mcp.servers.slow: left out: it has not listed its tools" in problem


async def test_tools_of_a_slow_server_are_there_as_soon_as_it_has_started(tmp_path: Path) -> None:
    go = tmp_path / "go"
    waiting = f"{RAW}\n    while not os.path.exists({str(go)!r}): time.sleep(0.01)\n    serve()"
    async with toolbox(tmp_path, slow=python_server(tmp_path, waiting, start_timeout=0.1)) as box:
        assert await names(box) == []
        go.touch()
        await eventually(lambda: has_tools(box))
        assert box.problems == ()
        assert said(await call(box, "mcp__slow__good")) == "done"


async def has_tools(box: Toolbox) -> bool:
    return bool(await names(box))


async def test_a_server_that_cannot_list_is_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    refusing = f"""{RAW}
    def listed(request):
        with open({str(asked)!r}, "a") as file:
            file.write("x")
        say(id=request["id"], error={{"code": -32603, "message": "not today"}})
    serve()
    """
    async with toolbox(tmp_path, moody=python_server(tmp_path, refusing)) as box:
        for _ in range(5):
            assert await names(box) == []
            (problem,) = box.problems
            assert "its tools cannot be listed: MCPError: not today" in problem
        assert asked.read_text() == "x"
        monkeypatch.setattr(external_server, "_now", lambda: time.monotonic() + 10)
        assert await names(box) == []
        assert asked.read_text() == "xx"


async def test_only_the_tool_without_a_valid_schema_is_left_out(tmp_path: Path) -> None:
    bad: dict[str, Any] = {
        "text": "no schema",
        "null": None,
        "array": {"type": "array"},
        "kind": {"type": "object", "properties": {"a": {"type": "strin"}}},
        "required": {"type": "object", "required": "a"},
    }
    mixed = f"""{RAW}
    TOOLS += [tool(name, schema) for name, schema in json.loads({json.dumps(bad)!r}).items()]
    TOOLS += [{{"name": "none"}}, "nonsense", {{"name": 5, "inputSchema": OBJECT}}]
    serve()
    """
    async with toolbox(tmp_path, mixed=python_server(tmp_path, mixed)) as box:
        assert await names(box) == ["mcp__mixed__good"]
        problems = "\n".join(box.problems)
        assert said(await call(box, "mcp__mixed__good")) == "done"
    for name in (*bad, "none"):
        assert f"mcp.servers.mixed: '{name}' is left out: inputSchema" in problems, problems
    assert "'strin' is not valid" in problems
    assert "'5' is left out: name: " in problems


async def test_a_server_that_floods_us_with_notifications_costs_no_memory(tmp_path: Path) -> None:
    flooding = f"""{RAW}
    NOTE = json.dumps({{"jsonrpc": "2.0", "method": "notifications/message", "params":
                       {{"level": "info", "data": "x" * 2000}}}}) + "\\n"

    def called(request):
        for _ in range(100_000):
            sys.stdout.write(NOTE)
        say(id=request["id"], result={{"content": []}})
    serve()
    """
    here = psutil.Process()
    async with toolbox(tmp_path, loud=python_server(tmp_path, flooding, timeout=600)) as box:
        await box.specs()
        before = here.memory_info().rss
        most = before
        calling = asyncio.get_running_loop().create_task(call(box, "mcp__loud__good"))
        while not calling.done():
            await asyncio.sleep(0.01)
            most = max(most, here.memory_info().rss)
        assert not calling.result().outcome.is_error
    assert most - before < 100_000_000


def test_an_order_is_answered_without_the_slow_server_and_all_troubles_are_in_the_result(
    tmp_path: Path,
) -> None:
    with scripted_anthropic([Say("Hello."), Say("Again.")]) as provider:
        hanging = f'command = "{psutil.Process().exe()}"\nargs = ["-c", "{HANGING}"]\n'
        broken = 'command = "no-such-command"\n'
        more = f"[mcp.servers.slow]\n{hanging}start_timeout = 0.2\n[mcp.servers.lost]\n{broken}"
        write_config(tmp_path, provider_config(provider) + more)
        with assistant(tmp_path) as server:
            first = text_of(server.ask(order("hello")))
            second = server.ask(order("hello", meta={"clawkit/structured": True}))
    assert first.startswith("Hello.\n\n[mcp.servers.")
    for answer in (first, text_of(second)):
        assert "[mcp.servers.slow: left out: it has not listed its tools" in answer
        assert "[mcp.servers.lost: command not found: 'no-such-command'" in answer
    assert len(second["result"]["structuredContent"]["notices"]) == 2


def test_an_order_that_fails_says_which_servers_were_missing_too(tmp_path: Path) -> None:
    with scripted_anthropic([Status(401)]) as provider:
        lost = '[mcp.servers.lost]\ncommand = "no-such-command"\n'
        write_config(tmp_path, provider_config(provider) + lost)
        with assistant(tmp_path) as server:
            reply = server.ask(order("hello"))
    assert reply["result"]["isError"] is True
    assert text_of(reply).startswith("Error: ")
    assert "[mcp.servers.lost: command not found: 'no-such-command'" in text_of(reply)


async def test_a_killed_server_is_reaped_by_the_event_loop_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hears = heard_late(monkeypatch)
    command = Command(sys.executable, ("-c", HANGING), dict(os.environ))
    child = await ServerProcess.start("sleeper", command, lambda _: None, lambda: None, str)
    child.kill()
    hears.set()
    await child.gone()
    assert child.exit_code == -signal.SIGKILL
