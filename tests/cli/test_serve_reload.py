"""`claw serve --reload`: the file changes, and its clients stay connected."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
from mcp import Client

from tests.processes import PATIENCE, http_server, serving, stdio_server

TOOL = """
from clawkit import claw_tool

@claw_tool
def {name}() -> str:
    return "{said}"
"""
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def change(file: Path, text: str) -> None:
    """As an editor does it: the new file takes the old one's place."""
    beside = file.with_suffix(".new")
    beside.write_text(text)
    beside.replace(file)


def test_over_stdio_the_session_goes_on_with_the_new_tools(tmp_path: Path) -> None:
    file = tmp_path / "words.py"
    file.write_text(TOOL.format(name="say", said="one"))
    with stdio_server(*serving(file), "--reload") as server:
        server.call("initialize", HELLO)
        assert said(server.call("tools/call", {"name": "say"}, id=2)) == "one"
        change(file, TOOL.format(name="shout", said="two"))
        assert server.receive()["method"] == "notifications/tools/list_changed"
        tools = server.call("tools/list", id=3)["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["shout"]
        assert said(server.call("tools/call", {"name": "shout"}, id=4)) == "two"
        change(file, "def (")
        wait_for(server, "the version before goes on")
        assert said(server.call("tools/call", {"name": "shout"}, id=5)) == "two"
        change(file, TOOL.format(name="shout", said="three"))
        assert server.receive()["method"] == "notifications/tools/list_changed"
        assert said(server.call("tools/call", {"name": "shout"}, id=6)) == "three"
        server.close_input()
        assert server.process.wait(PATIENCE) == 0
        assert "claw serve: " in server.stderr
        assert "SyntaxError" in server.stderr
        assert "Traceback" not in server.stderr


def test_a_call_that_is_under_way_ends_as_it_began(tmp_path: Path) -> None:
    file, door = tmp_path / "slow.py", tmp_path / "door"
    slow = """
import asyncio
import pathlib
from clawkit import claw_tool

@claw_tool
async def wait() -> str:
    while not pathlib.Path({door!r}).exists():
        await asyncio.sleep(0.01)
    return "old"
"""
    file.write_text(slow.format(door=str(door)))
    with stdio_server(*serving(file), "--reload") as server:
        server.call("initialize", HELLO)
        server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait"}})
        change(file, TOOL.format(name="wait", said="new"))
        assert server.receive()["method"] == "notifications/tools/list_changed"
        assert said(server.call("tools/call", {"name": "wait"}, id=3)) == "new"
        door.touch()
        late = server.receive()
        assert (late["id"], said(late)) == (2, "old")


async def test_over_http_a_client_of_either_era_stays_connected(tmp_path: Path) -> None:
    file = tmp_path / "words.py"
    file.write_text(TOOL.format(name="say", said="one"))
    with http_server(file, "--reload", "--sessions") as url:
        for mode in ("legacy", "auto"):
            change(file, TOOL.format(name="say", said="one"))
            changed = anyio.Event()

            async def hear(message: Any, changed: anyio.Event = changed) -> None:
                if "ToolListChanged" in type(message).__name__:
                    changed.set()

            async with Client(url, mode=mode, message_handler=hear) as client:
                await until_said(client, "say", "one")
                change(file, TOOL.format(name="say", said="two"))
                await until_said(client, "say", "two")
                if mode == "legacy":
                    with anyio.fail_after(PATIENCE):
                        await changed.wait()


async def until_said(client: Client, tool: str, text: str) -> None:
    with anyio.fail_after(PATIENCE):
        while (await client.call_tool(tool)).content[0].text != text:  # pyright: ignore[reportAttributeAccessIssue]
            await anyio.lowlevel.checkpoint()


def said(reply: dict[str, Any]) -> str:
    return reply["result"]["content"][0]["text"]


def wait_for(server: Any, text: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while text not in server.stderr:
        assert time.monotonic() < deadline, server.stderr
        time.sleep(0.05)
