"""`claw proxy --url`: what is slow, odd or broken keeps nothing else back, and is always said."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from clawkit.guard.http.stdio_bridge import StdioBridge
from clawkit.guard.http.transports import SseClient
from clawkit.guard.http.upstream import find_target
from clawkit.guard.judge import open_judge
from clawkit.guard.policy.policy import Paths
from clawkit.wire.revisions import META_VERSION, MODERN
from tests.guard.approvals import until
from tests.guard.guarded_server import ALLOW_ALL
from tests.guard.http.worlds import (
    Script,
    call,
    event,
    initialize,
    notice,
    obliging,
    remote_command,
    with_session,
)
from tests.processes import PATIENCE, StdioServer, stdio_server

SECRET = "tok" + "en-of-mine"


@pytest.fixture
def script() -> Iterator[Script]:
    with Script(with_session) as script:
        yield script


@pytest.fixture
def guard(script: Script, tmp_path: Path) -> Iterator[StdioServer]:
    with stdio_server(*remote_command(script.address, tmp_path)) as guard:
        yield guard


@pytest.mark.parametrize("method", ["notifications/progress", "notifications/initialized"])
def test_a_slow_notice_keeps_nothing_back_and_the_next_one_waits_for_it(
    method: str, script: Script, guard: StdioServer
) -> None:
    released = threading.Event()

    async def answer(request: Request, message: Any) -> Response:
        if message.get("method") == method:
            await asyncio.to_thread(released.wait, PATIENCE)
        if message.get("method") == "tools/call":
            asked = {"jsonrpc": "2.0", "id": "r", "method": "roots/list"}
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": {}}
            return script.stream(event(asked), event(reply))
        return await obliging(request, message)

    script.handler = answer
    notices = [notice(method, number=number) for number in range(3)]
    for each in notices:
        guard.send(each)
    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
    assert guard.ask(ping)["result"]
    guard.send(call("ls"))
    assert guard.receive()["method"] == "roots/list"
    roots = {"jsonrpc": "2.0", "id": "r", "result": {"roots": []}}
    guard.send(roots)
    assert guard.receive()["id"] == 1
    until(lambda: roots in script.messages())
    assert script.messages(method) == notices[:1]
    released.set()
    until(lambda: script.messages(method) == notices)


def test_a_version_that_no_header_can_say_is_an_error_for_its_request(
    script: Script, guard: StdioServer
) -> None:
    odd = call("ls", modern=True)
    odd["params"]["_meta"][META_VERSION] = MODERN + "中"
    assert guard.ask(odd)["error"]["code"] == -32600
    assert script.heard == []
    assert guard.ask(call("ls", modern=True))["result"]


class Client:
    """The other end of a guard that runs here, where a test can hand it what nobody else can."""

    def __init__(self, folder: Path, **headers: str) -> None:
        policy = folder / "policy.toml"
        policy.write_text(ALLOW_ALL)
        source, self._to_guard = os.pipe()
        self._from_guard, sink = os.pipe()
        target = replace(find_target("http://127.0.0.1:9/mcp", "", "far"), headers=headers)
        self.guard = StdioBridge(open_judge(policy, ("far",), Paths()), target, (source, sink))

    def say(self, *messages: Any) -> None:
        os.write(self._to_guard, b"".join(json.dumps(m).encode() + b"\n" for m in messages))

    def leave(self) -> None:
        os.close(self._to_guard)

    def answers(self) -> dict[Any, int]:
        """The codes of the errors by the ids of their requests."""
        with os.fdopen(self._from_guard) as lines:
            return {m["id"]: m["error"]["code"] for m in map(json.loads, lines)}


async def test_a_fault_of_the_guard_is_an_error_for_its_request_and_says_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Client(tmp_path, x=SECRET + "€")
    client.say(notice("notifications/progress"), call("ls", 1), call("ls", 2, modern=True))
    client.leave()
    assert await asyncio.wait_for(client.guard.run(), PATIENCE) == 0
    assert client.answers() == {1: -32603, 2: -32603}
    said = capsys.readouterr().err
    assert said.count("unexpected UnicodeEncodeError") == 3
    assert SECRET not in said


class Broken(SseClient):
    """A way to a server that takes nothing."""

    async def open(self) -> str:
        return ""

    async def send(self, line: bytes) -> None:
        if line:
            raise ValueError(SECRET)


async def test_a_fault_between_client_and_server_ends_the_guard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Client(tmp_path)
    assert await client.guard.switch_transport(Broken(client.guard), b"")
    client.say(call("ls"))
    assert await asyncio.wait_for(client.guard.run(), PATIENCE) == 1
    client.leave()
    assert client.answers() == {1: -32603}
    said = capsys.readouterr().err
    assert "unexpected ValueError" in said
    assert SECRET not in said


def test_garbage_among_the_notices_is_no_answer_to_a_call(
    script: Script, guard: StdioServer
) -> None:
    called, heard = threading.Event(), threading.Event()

    async def answer(request: Request, message: Any) -> Response:
        if request.method == "GET":
            changed = notice("notifications/tools/list_changed")
            await asyncio.to_thread(called.wait, PATIENCE)
            return script.stream(b'data: {"half\n\n', event(changed), ends=False)
        if message.get("method") == "tools/call":
            called.set()
            await asyncio.to_thread(heard.wait, PATIENCE)
        return await with_session(request, message)

    script.handler = answer
    guard.ask(initialize())
    guard.send(notice("notifications/initialized"))
    guard.send(call("ls"))
    assert guard.receive()["method"] == "notifications/tools/list_changed"
    heard.set()
    assert guard.receive()["result"] == {"asked": "tools/call"}
