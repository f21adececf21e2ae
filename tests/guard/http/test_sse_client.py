"""HTTP+SSE, the transport of 2024: through both doors, with the official package at both ends."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.server.mcpserver import Context, MCPServer
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tests.guard.approvals import until
from tests.guard.guarded_server import ALLOW_ALL, CLIENT, records
from tests.guard.http.worlds import Script, event, remote_command, reverse_proxy, served
from tests.processes import PATIENCE, ROOT, stdio_server

POLICY = f"""
[[rule]]
action = "deny"
tool = "rm"
description = "No deleting"

[[rule]]
action = "prompt"
tool = "ask"
description = "Ask first"

{ALLOW_ALL}
"""


def server() -> MCPServer:
    made = MCPServer("old")

    @made.tool()
    def echo(text: str) -> str:
        return text

    @made.tool()
    def ask(text: str) -> str:
        return text

    @made.tool()
    async def steps(context: Context) -> str:
        await context.report_progress(1, 2)
        return "done"

    return made


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with served(server().sse_app()) as origin:
        yield f"{origin}/sse"


@asynccontextmanager
async def _streams(door: str, upstream: str, folder: Path) -> AsyncGenerator[Any]:
    if door == "reverse":
        with reverse_proxy(upstream, folder, POLICY) as address:
            async with sse_client(address.replace("/mcp", "/sse")) as streams:
                yield streams
        return
    command, *args = remote_command(upstream, folder, POLICY)
    env = {"CLAW_HOME": str(folder / "claw")}
    process = StdioServerParameters(command=command, args=args, cwd=ROOT, env=env)
    async with stdio_client(process) as streams:
        yield streams


@pytest.mark.parametrize("door", ["reverse", "stdio"])
async def test_the_official_client_and_server_notice_nothing(
    door: str, upstream: str, tmp_path: Path
) -> None:
    told: list[float] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (2, None)
        told.append(progress)

    async with _streams(door, upstream, tmp_path) as streams, ClientSession(*streams) as client:
        await client.initialize()
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo", "ask", "steps"]
        result = await client.call_tool("echo", {"text": "hello"})
        assert result.structured_content == {"result": "hello"}
        await client.call_tool("steps", progress_callback=heard)
        with pytest.raises(MCPError, match="No deleting"):
            await client.call_tool("rm", {})
        with pytest.raises(MCPError, match="nobody can be asked"):
            await client.call_tool("ask", {"text": "x"})
    assert told == [1]


@pytest.mark.parametrize("door", ["reverse", "stdio"])
async def test_a_person_is_asked_through_the_client(
    door: str, upstream: str, tmp_path: Path
) -> None:
    decisions = ["allow once", "deny"]

    async def answer(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert context is not None
        assert "Ask first" in params.message
        return types.ElicitResult(action="accept", content={"decision": decisions.pop(0)})

    async with (
        _streams(door, upstream, tmp_path) as streams,
        ClientSession(*streams, elicitation_callback=answer) as client,
    ):
        await client.initialize()
        result = await client.call_tool("ask", {"text": "please"})
        assert result.structured_content == {"result": "please"}
        with pytest.raises(MCPError, match="a person said no"):
            await client.call_tool("ask", {"text": "please"})


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "i",
    "method": "initialize",
    "params": {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": CLIENT},
}


@pytest.mark.parametrize(
    "endpoint",
    ["http://evil.example.org/messages", "//evil.example.org/m", "http://x@127.0.0.1/m", "ftp:/x"],
)
def test_an_address_for_messages_that_is_not_the_servers_own_is_refused(
    endpoint: str, tmp_path: Path, home: Path
) -> None:
    async def answer(request: Request, _: Any) -> Response:
        if request.method == "POST":
            return Response(status_code=405)
        return script.stream(f"event: endpoint\ndata: {endpoint}\n\n".encode(), ends=False)

    with Script(answer) as script:
        with reverse_proxy(script.address, tmp_path) as address:
            said = httpx2.get(address, timeout=PATIENCE, trust_env=False).text
        assert "event: error" in said
        assert "evil" not in said
        assert "not its own" in records(home)[-1]["reason"]
        with stdio_server(*remote_command(script.address, tmp_path)) as guard:
            assert "405" in guard.ask(INITIALIZE)["error"]["message"]
        assert not [heard for heard in script.heard if heard.path != "/mcp"]


def test_what_is_posted_after_the_stream_ended_goes_nowhere(upstream: str, tmp_path: Path) -> None:
    with (
        reverse_proxy(upstream, tmp_path, POLICY) as address,
        httpx2.Client(timeout=PATIENCE, trust_env=False) as http,
    ):
        base = address.removesuffix("/mcp")
        with http.stream("GET", base + "/sse") as response:
            lines = response.iter_lines()
            place = next(line for line in lines if line.startswith("data: ")).removeprefix("data: ")
            assert http.post(base + place, json=INITIALIZE).status_code == 202
            answer = next(line for line in lines if line.startswith("data: {"))
            assert json.loads(answer[6:])["id"] == "i"
            assert http.post(base + place, content=b"{", headers=_JSON).status_code == 202
            error = next(line for line in lines if line.startswith("data: {"))
            assert json.loads(error[6:])["error"]["code"] == -32700
        until(lambda: http.post(base + place, json=INITIALIZE).status_code == 404)


def test_a_server_that_ends_its_stream_ends_the_guard_with_an_error_for_each_call(
    tmp_path: Path,
) -> None:
    async def answer(request: Request, _: Any) -> Response:
        if request.method == "GET":
            return script.stream(b"event: endpoint\ndata: /post\n\n", ends=False)
        return Response(status_code=202 if request.url.path == "/post" else 405)

    with (
        Script(answer) as script,
        stdio_server(*remote_command(script.address, tmp_path)) as guard,
    ):
        guard.send(INITIALIZE)
        until(lambda: [h for h in script.heard if h.path == "/post"])
        script.stop()
        error = guard.receive()
        assert (error["id"], error["error"]["code"]) == ("i", -32603)
        assert guard.process.wait(PATIENCE) == 1


def test_a_slow_notice_does_not_keep_a_request_back(tmp_path: Path) -> None:
    released = threading.Event()
    posted: list[Any] = []

    async def events() -> AsyncGenerator[bytes]:
        yield b"event: endpoint\ndata: /post\n\n"
        answered = 0
        while True:
            asked = [message for message in posted if "id" in message]
            for message in asked[answered:]:
                yield event({"jsonrpc": "2.0", "id": message["id"], "result": {}})
            answered = len(asked)
            await asyncio.sleep(0.01)

    async def answer(request: Request, message: Any) -> Response:
        if request.method == "GET":
            return StreamingResponse(events(), media_type="text/event-stream")
        if request.url.path != "/post":
            return Response(status_code=405)
        posted.append(message)
        if "id" not in message:
            await asyncio.to_thread(released.wait, PATIENCE)
        return Response(status_code=202)

    with (
        Script(answer) as script,
        stdio_server(*remote_command(script.address, tmp_path)) as guard,
    ):
        guard.ask(INITIALIZE)
        for number in range(2):
            params = {"number": number}
            guard.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert guard.ask(ping)["result"] == {}
        assert len(script.messages("notifications/progress")) == 1
        released.set()
        until(lambda: len(script.messages("notifications/progress")) == 2)


_JSON = {"content-type": "application/json"}
