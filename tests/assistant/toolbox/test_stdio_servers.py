"""Other servers as processes: well-known ones, our own, and what becomes of them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path

import pytest

from clawkit.assistant.config import McpServer
from clawkit.models.protocol import Image
from tests.assistant.toolbox.boxes import (
    call,
    children,
    eventually,
    names,
    node_server,
    python_server,
    said,
    toolbox,
    write_tools,
)
from tests.processes import PATIENCE, serving
from tests.together.doors import EVERYTHING as OUR_EVERYTHING

pytestmark = pytest.mark.process


def our_server(**options: float) -> McpServer:
    command, *arguments = serving(OUR_EVERYTHING)
    return McpServer(command=command, args=tuple(arguments), **options)  # pyright: ignore[reportArgumentType] - only the timeout


async def test_a_well_known_server_is_started_called_and_stopped(tmp_path: Path) -> None:
    async with toolbox(tmp_path, every=node_server()) as box:
        assert children() == [], "nothing is started before it is needed"
        offered = await names(box)
        assert offered == sorted(offered)
        assert "mcp__every__get-sum" in offered
        assert box.problems == ()
        assert "42" in said(await call(box, "mcp__every__get-sum", a=2, b=40))
        picture = await call(box, "mcp__every__get-tiny-image")
        assert any(isinstance(part, Image) for part in picture.outcome.parts)
        assert [media.mime_type for media in picture.media] == ["image/png"]
        structured = await call(box, "mcp__every__get-structured-content", location="Chicago")
        assert json.loads(structured.text)["conditions"]
        links = await call(box, "mcp__every__get-resource-links", count=2)
        assert links.text.count("[link to ") == 2
        wrong = await call(box, "mcp__every__get-sum", a="two")
        assert wrong.outcome.is_error
        assert await names(box) == offered
    assert children() == []


async def test_our_own_server_is_spoken_to_in_the_modern_era(tmp_path: Path) -> None:
    heard: list[str] = []
    async with toolbox(tmp_path, ours=our_server()) as box:
        before = await names(box)
        assert said(await call(box, "mcp__ours__greet", name="Ada")) == "Hello, Ada!"
        await call(box, "mcp__ours__count", heard.append, to=3)
        assert heard == ["step 1", "step 2", "step 3"]
        await call(box, "mcp__ours__grow", name="bud")

        async def has_grown() -> bool:
            return "mcp__ours__bud" in await names(box)

        assert "mcp__ours__bud" not in before
        await eventually(has_grown)


async def test_a_server_of_the_handshake_era_says_that_its_tools_have_changed(
    tmp_path: Path,
) -> None:
    async with toolbox(tmp_path, growing=python_server(tmp_path, GROWING)) as box:
        assert await names(box) == ["mcp__growing__grow"]
        await call(box, "mcp__growing__grow")

        async def has_grown() -> bool:
            return await names(box) == ["mcp__growing__grow", "mcp__growing__leaf"]

        await eventually(has_grown)


GROWING = """
    import json, sys
    tools = ["grow"]
    for line in sys.stdin:
        message = json.loads(line)
        method, id = message["method"], message.get("id")
        if method == "initialize":
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "growing", "version": "1"},
            }
        elif method == "tools/list":
            # One tool a page.
            at = int(message.get("params", {}).get("cursor", 0))
            result = {"tools": [{"name": tools[at], "inputSchema": {"type": "object"}}]}
            if at + 1 < len(tools):
                result["nextCursor"] = str(at + 1)
        elif method == "tools/call":
            tools.append("leaf")
            print("a banner that is no message")
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
            result = {"content": []}
        elif id is None:
            continue
        else:
            error = {"code": -32601, "message": "Method not found"}
            print(json.dumps({"jsonrpc": "2.0", "id": id, "error": error}))
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}))
"""


async def test_a_server_that_wants_initialize_first_gets_it(tmp_path: Path) -> None:
    start = "        if method"
    leave = "        if id == 1 and method != 'initialize': sys.exit(9)\n"
    strict = GROWING.replace(start, leave + start, 1)
    async with toolbox(tmp_path, strict=python_server(tmp_path, strict)) as box:
        assert await names(box) == ["mcp__strict__grow"]


async def test_calls_run_side_by_side_and_one_that_is_cancelled_ends_alone(tmp_path: Path) -> None:
    asleep = asyncio.Event()
    async with toolbox(tmp_path, ours=our_server()) as box:
        await box.specs()
        sleeping = asyncio.create_task(
            call(box, "mcp__ours__sleep-softly", lambda _: asleep.set(), name="one")
        )
        await asyncio.wait_for(asleep.wait(), PATIENCE)
        (before,) = [child for child in children() if "serve" in child.cmdline()]
        assert said(await call(box, "mcp__ours__greet", name="Ada")) == "Hello, Ada!"
        sleeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeping
        assert said(await call(box, "mcp__ours__was-cancelled", name="one")) == "one was cancelled"
        assert before in children(), "the server goes on living"


async def test_a_call_that_takes_too_long_is_an_error_and_the_server_lives(tmp_path: Path) -> None:
    async with toolbox(tmp_path, every=node_server(timeout=5)) as box:
        await box.specs()
        slow = await call(box, "mcp__every__trigger-long-running-operation", duration=60, steps=1)
        assert slow.outcome.is_error
        assert "took longer than 5 s; `timeout` under [mcp.servers.every]" in said(slow)

        async def is_heard() -> bool:
            return "hi" in said(await call(box, "mcp__every__echo", message="hi"))

        await eventually(is_heard)


async def test_a_server_sees_little_of_the_environment_and_what_the_config_gives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-for-others")
    monkeypatch.setenv("GITHUB_TOKEN", "neither-is-this")
    monkeypatch.setenv("LC_TIME", "C")
    given = {"SERVICE_TOKEN": "Bearer ${TOKEN}", "PLAIN": "as it is"}
    keys = {"TOKEN": "a-secret-of-mine"}
    caplog.set_level(logging.DEBUG)
    async with toolbox(tmp_path, keys, every=node_server(env=given)) as box:
        await box.specs()
        seen = json.loads((await call(box, "mcp__every__get-env")).text)
    assert "ANTHROPIC_API_KEY" not in seen
    assert "GITHUB_TOKEN" not in seen
    assert seen["PATH"] == os.environ["PATH"]
    assert seen["HOME"] == os.environ["HOME"]
    assert seen["LC_TIME"] == "C"
    assert seen["SERVICE_TOKEN"] == "Bearer a-secret-of-mine"
    assert seen["PLAIN"] == "as it is"
    assert "every: Starting default (STDIO) server..." in caplog.text, "its stderr is in the log"


async def test_files_come_before_servers_and_servers_in_the_order_of_the_config(
    tmp_path: Path,
) -> None:
    write_tools(
        tmp_path,
        "mine.py",
        """
        from clawkit import claw_tool

        @claw_tool
        def look() -> None: ...
        """,
    )
    servers = {name: python_server(tmp_path, GROWING) for name in ("b", "a")}
    off = python_server(tmp_path, GROWING, enabled=False)
    async with toolbox(tmp_path, **servers, off=off) as box:
        assert await names(box) == ["mcp__mine__look", "mcp__b__grow", "mcp__a__grow"]


async def test_many_orders_at_once_share_one_server(tmp_path: Path) -> None:
    async with toolbox(tmp_path, every=node_server()) as box:
        found = await asyncio.gather(*(names(box) for _ in range(20)))
        assert all(offered == found[0] and offered for offered in found)
        assert len([child for child in children() if "stdio" in child.cmdline()]) == 1
        results = await asyncio.gather(
            *(call(box, "mcp__every__echo", message=f"<{n}>") for n in range(50))
        )
        assert [f"<{n}>" in said(result) for n, result in enumerate(results)] == [True] * 50
