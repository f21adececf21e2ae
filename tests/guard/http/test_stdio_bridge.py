"""`claw proxy --url`: a client that speaks stdio, and a server that speaks Streamable HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from clawkit.wire.revisions import META_CAPABILITIES, META_VERSION, MODERN
from tests.guard.approvals import until
from tests.guard.guarded_server import records
from tests.guard.http.worlds import (
    Script,
    call,
    event,
    initialize,
    notice,
    obliging,
    remote_command,
    result,
    with_session,
)
from tests.processes import PATIENCE, StdioServer, stdio_server

POLICY = """
[[rule]]
action = "deny"
tool = "rm"
description = "No deleting"

[[rule]]
action = "prompt"
tool = "ask"

[[rule]]
action = "allow"
tool = "*"
"""
SECRET = "tok" + "en-of-mine"
CANCELLED = "notifications/cancelled"


@pytest.fixture
def script() -> Iterator[Script]:
    with Script(with_session) as script:
        yield script


@contextmanager
def guarding(script: Script, folder: Path, policy: str = POLICY) -> Generator[StdioServer]:
    env = {"CLAW_HEADER_AUTHORIZATION": f"Bearer {SECRET}"}
    with stdio_server(*remote_command(script.address, folder, policy), env=env) as guard:
        yield guard
        assert SECRET not in guard.stderr


@pytest.fixture
def guard(script: Script, tmp_path: Path) -> Iterator[StdioServer]:
    with guarding(script, tmp_path) as guard:
        yield guard


def test_a_session_is_kept_from_initialize_to_the_end(script: Script, guard: StdioServer) -> None:
    ready = notice("notifications/initialized")
    for message in (initialize(), ready, call("ls", 1), call("rm", 2)):
        guard.send(message)
    replies = [guard.receive() for _ in range(3)]
    assert {r["id"]: r.get("error", {}).get("message") for r in replies} == {
        "i": None,
        1: None,
        2: "Denied by policy: No deleting",
    }
    guard.close_input()
    assert guard.process.wait(PATIENCE) == 0
    first, *later = script.heard
    assert (first.message, "mcp-session-id" in first.headers) == (initialize(), False)
    assert [h.method for h in later if h.method != "GET"] == ["POST", "POST", "DELETE"]
    assert [h.message for h in later if h.method == "POST"] == [ready, call("ls", 1)]
    for heard in later:
        assert heard.headers["mcp-session-id"] == "s-1"
        assert heard.headers["mcp-protocol-version"] == "2025-06-18"
    assert all(h.headers["authorization"] == f"Bearer {SECRET}" for h in script.heard)
    assert [h.headers["accept"] for h in later if h.method == "GET"] == ["text/event-stream"]


def test_notices_of_a_session_come_from_its_stream_which_is_opened_again(
    script: Script, guard: StdioServer
) -> None:
    async def answer(request: Request, message: Any) -> Response:
        if request.method != "GET":
            return await with_session(request, message)
        number = request.headers.get("last-event-id", "0") + "1"
        changed = notice("notifications/tools/list_changed", number=number)
        return script.stream(event(changed, id=number, retry="10"))

    script.handler = answer
    guard.call(method="initialize", params=initialize()["params"], id="i")
    guard.send(notice("notifications/initialized"))
    numbers = [guard.receive()["params"]["number"] for _ in range(3)]
    assert numbers == ["01", "011", "0111"]


def test_the_modern_era_gets_its_headers(script: Script, guard: StdioServer) -> None:
    schema = {"properties": {"city": {"type": "string", "x-mcp-header": "City"}}}

    async def answer(_: Request, message: Any) -> Response:
        tools = [{"name": "größe", "inputSchema": schema}]
        listing = message["method"] == "tools/list"
        return result(message, {"tools": tools} if listing else {"ok": True})

    script.handler = answer
    meta = {META_VERSION: MODERN, META_CAPABILITIES: {}}
    assert guard.call("tools/list", {"_meta": meta}, "l")["result"]
    assert guard.ask(call("größe", modern=True, city="Zürich"))["result"] == {"ok": True}
    listed, called = (heard.headers for heard in script.heard)
    assert (listed["mcp-protocol-version"], listed["mcp-method"]) == (MODERN, "tools/list")
    assert called["mcp-name"] == "=?base64?Z3LDtsOfZQ==?="
    assert called["mcp-param-city"] == "=?base64?WsO8cmljaA==?="
    assert "mcp-session-id" not in called


def test_answers_come_as_documents_of_several_lines_or_as_streams(
    script: Script, guard: StdioServer
) -> None:
    async def answer(_: Request, message: Any) -> Response:
        if message["id"] == 1:
            text = b'{"jsonrpc": "2.0",\n "id": 1,\r\n "result": {"a": "b\\nc"}}'
            return Response(text, media_type="application/json")
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": {}}
        foreign = {"jsonrpc": "2.0", "id": 1, "result": {}}
        progress = notice("notifications/progress")
        return script.stream(event(progress), event(foreign), event(reply), ends=False)

    script.handler = answer
    assert guard.ask(call("ls", 1))["result"] == {"a": "b\nc"}
    guard.send(call("ls", 2))
    assert guard.receive()["method"] == "notifications/progress"
    assert guard.receive()["id"] == 2
    until(lambda: script.left == 1)


def test_an_answer_that_was_cut_off_is_asked_for_again(script: Script, guard: StdioServer) -> None:
    async def answer(request: Request, _: Any) -> Response:
        if request.method == "POST":
            return script.stream(b"id: a\nretry: 10\ndata: \n\n")
        if request.headers["last-event-id"] == "a":
            return script.stream(event(notice("notifications/progress"), id="b"))
        return script.stream(event({"jsonrpc": "2.0", "id": 1, "result": {"late": True}}))

    script.handler = answer
    assert guard.ask(call("ls"))["result"] == {"late": True}
    assert [heard.headers.get("last-event-id") for heard in script.heard] == [None, "a", "b"]


def test_a_modern_request_is_cancelled_by_hanging_up_and_an_older_one_by_saying_so(
    script: Script, guard: StdioServer
) -> None:
    async def answer(request: Request, message: Any) -> Response:
        if message.get("method") == "tools/call":
            return script.stream(b": working\n\n", ends=False)
        return await obliging(request, message)

    script.handler = answer
    guard.send(call("ls", 1, modern=True))
    until(lambda: len(script.heard) == 1)
    guard.send(notice(CANCELLED, requestId=1))
    until(lambda: script.left == 1)
    assert script.messages(CANCELLED) == []
    guard.send(call("ls", 2))
    until(lambda: len(script.heard) == 2)
    guard.send(notice(CANCELLED, requestId=2))
    until(lambda: script.messages(CANCELLED))
    assert script.left == 1


@pytest.mark.parametrize(
    ("status", "content", "said"),
    [
        (401, b"no", "CLAW_HEADER_<NAME>"),
        (403, b"no", "it wants other credentials"),
        (500, b"<html>", "answered with the status 500"),
        (302, b"", "redirect"),
        (202, b"", "nothing else"),
        (200, b"{", "cannot be used"),
        (200, b'{"jsonrpc":"2.0","id":"1","result":{}}', "something else"),
        (404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"eh"}}', "eh"),
        (200, b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 99_000 + b'"}', "more than"),
    ],
    ids=str,
)
def test_what_goes_wrong_is_an_error_for_the_call(
    script: Script, tmp_path: Path, status: int, content: bytes, said: str
) -> None:
    async def answer(_: Request, __: Any) -> Response:
        where = {"location": script.origin + "/elsewhere"}
        return Response(content, status, media_type="application/json", headers=where)

    script.handler = answer
    with guarding(script, tmp_path, "[limits]\nmessage = 50000\n" + POLICY) as guard:
        error = guard.ask(call("ls"))["error"]["message"]
        assert said in error
        assert SECRET not in error
        script.handler = obliging
        assert guard.ask(call("ls"))["result"]
    assert {heard.path for heard in script.heard} == {"/mcp"}


def test_a_server_that_is_not_there_is_an_error_and_the_next_try_may_work(
    script: Script, guard: StdioServer
) -> None:
    script.stop()
    assert f"{script.origin} cannot be reached" in guard.ask(call("ls"))["error"]["message"]
    guard.close_input()
    assert guard.process.wait(PATIENCE) == 0


def test_at_the_end_of_input_what_is_on_its_way_is_still_answered(
    script: Script, guard: StdioServer, home: Path
) -> None:
    async def slowly(_: Request, message: Any) -> Response:
        await asyncio.sleep(0.5)
        return result(message, {"slow": True})

    script.handler = slowly
    for number in range(5):
        guard.send(call("ls", number))
    guard.close_input()
    assert {guard.receive()["id"] for _ in range(5)} == set(range(5))
    assert guard.process.wait(PATIENCE) == 0
    assert [r["kind"] for r in records(home)][-1] == "end"


def test_at_the_end_of_input_nobody_waits_for_an_answer_that_does_not_come(
    script: Script, guard: StdioServer
) -> None:
    async def never(_: Request, __: Any) -> Response:
        return script.stream(b": working\n\n", ends=False)

    script.handler = never
    guard.send(call("ls"))
    until(lambda: script.heard)
    guard.close_input()
    assert guard.receive()["error"]
    assert guard.process.wait(PATIENCE) == 0


def test_a_person_is_asked_through_the_client(script: Script, guard: StdioServer) -> None:
    guard.ask(initialize(elicitation={}))
    guard.send(call("ask", 5))
    question = guard.receive()
    assert question["method"] == "elicitation/create"
    content = {"action": "accept", "content": {"decision": "allow once"}}
    guard.send({"jsonrpc": "2.0", "id": question["id"], "result": content})
    assert guard.receive()["id"] == 5
    assert [m["params"] for m in script.messages("tools/call")] == [call("ask")["params"]]


def test_what_is_no_message_is_refused_and_the_next_one_is_served(
    script: Script, guard: StdioServer
) -> None:
    guard.write(b"{\n\n[]\n")
    assert [guard.receive()["error"]["code"] for _ in range(2)] == [-32700, -32600]
    assert guard.ask(call("ls"))["result"]
    assert len(script.heard) == 1


@pytest.mark.parametrize("url", ["ftp://x/", "http://me:pass@x/", "nonsense"])
def test_an_address_that_cannot_be_used_is_said_at_once(url: str, tmp_path: Path) -> None:
    with stdio_server(*remote_command(url, tmp_path)) as guard:
        assert guard.process.wait(PATIENCE) == 2
        until(lambda: "claw proxy: " in guard.stderr)
        assert "pass" not in guard.stderr.replace("password", "")
