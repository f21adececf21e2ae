"""What goes through the reverse proxy, in both directions: as it came, or not at all."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.guard.approvals import until
from tests.guard.guarded_server import ALLOW_ALL, records
from tests.guard.http.worlds import Script, event, obliging, result, reverse_proxy
from tests.nodejs import node_program
from tests.processes import PATIENCE, ROOT

POLICY = """
[limits]
message = 200000

[[rule]]
action = "deny"
tool = "rm"
description = "No deleting"

[[rule]]
action = "allow"
tool = "*"
"""
BOTH = {"accept": "application/json, text/event-stream"}


def call(tool: str = "t", request_id: Any = 1) -> dict[str, Any]:
    params = {"name": tool, "arguments": {}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


class World(NamedTuple):
    """A proxy, the server behind it, and the home that it writes to."""

    script: Script
    address: str
    home: Path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("passing")
    env = {"CLAW_HOME": str(folder / "claw"), "CLAW_HEADER_X_KEY": "k" * 5}
    with (
        Script(obliging) as script,
        reverse_proxy(script.address + "?team=7", folder, POLICY, **env) as address,
    ):
        yield World(script, address, folder)


@pytest.fixture
def script(world: World) -> Script:
    world.script.handler = obliging
    world.script.heard.clear()
    return world.script


@pytest.fixture
def address(world: World) -> str:
    return world.address


@pytest.fixture
def http() -> Iterator[httpx2.Client]:
    with httpx2.Client(timeout=PATIENCE, trust_env=False, headers=BOTH) as client:
        yield client


def messages(response: httpx2.Response) -> list[Any]:
    """The messages of a stream of events."""
    lines = response.text.splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def test_an_allowed_call_arrives_as_the_bytes_that_it_was(
    script: Script, address: str, http: httpx2.Client
) -> None:
    body = b'{ "id":1, "method" : "tools/call","params":{"name":"t"}, "jsonrpc":"2.0" }'
    headers = {"content-type": "application/json; charset=utf-8"}
    assert http.post(address, content=body, headers=headers).json()["id"] == 1
    (heard,) = script.heard
    assert (heard.body, heard.path, heard.query) == (body, "/mcp", "team=7")


def test_a_message_over_several_lines_goes_on_in_one(
    script: Script, address: str, http: httpx2.Client
) -> None:
    async def answer(_: Request, message: Any) -> Response:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": {"said": text}}
        parts = json.dumps(reply, indent=1).split("\n")
        return script.stream("\n".join([*(f"data: {part}" for part in parts), "", ""]).encode())

    text = "one\u2028two\x85three"
    message = call()
    message["params"]["arguments"] = {"text": text}
    body = json.dumps(message, indent=1, ensure_ascii=False).replace("\n", "\r\n").encode()
    script.handler = answer
    response = http.post(address, content=body, headers={"content-type": "application/json"})
    (heard,) = script.heard
    assert heard.message == message
    assert len(heard.body.decode().splitlines()) == 1
    (data,) = [line for line in response.text.splitlines() if line.startswith("data: {")]
    assert json.loads(data.removeprefix("data: "))["id"] == 1


def test_express_reads_what_the_guard_has_judged(tmp_path: Path, http: httpx2.Client) -> None:
    program = [node_program(), str(ROOT / "tests" / "node" / "express_server.mjs")]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            with reverse_proxy(f"http://127.0.0.1:{port}/mcp", tmp_path, POLICY) as address:
                # In UTF-7 it is a call of `rm`.
                odd = json.dumps(call()).replace('"t"', '"t","+AG4AYQBtAGU-":"rm"').encode()
                charset = {"content-type": "application/json; charset=utf-7"}
                refused = http.post(address, content=odd, headers=charset)
                plain = http.post(address, json=call(), headers={"x-http-method-override": "PUT"})
        finally:
            server.terminate()
    assert refused.status_code == 415
    assert "utf-7" in refused.json()["error"]["message"]
    heard = plain.json()["result"]
    assert (heard["name"], heard["headers"]["content-type"]) == ("t", "application/json")
    assert "x-http-method-override" not in heard["headers"]


def test_a_denied_call_is_answered_here_and_the_rule_is_all_it_says(
    script: Script, address: str, http: httpx2.Client, world: World
) -> None:
    response = http.post(address, json=call("rm", "x"))
    assert (response.status_code, response.json()["id"]) == (200, "x")
    error = response.json()["error"]
    assert (error["code"], error["message"]) == (-32001, "Denied by policy: No deleting")
    assert script.heard == []
    denied = records(world.home)[-1]
    assert (denied["decision"], denied["tool"], denied["host"]) == ("deny", "rm", "http 127.0.0.1")


def test_headers_pass_if_they_are_meant_for_the_server(
    script: Script, address: str, http: httpx2.Client
) -> None:
    async def answer(_: Request, message: Any) -> Response:
        more = {"mcp_session_id": "s", "set_cookie": "c=1", "x_more": "y", "server": "z"}
        return result(message, **more)

    script.handler = answer
    sent = {
        "authorization": "Bearer mine",
        "x-team": "7",
        "mcp-protocol-version": "2025-06-18",
        "traceparent": "00-1",
        "cookie": "session=other-app",
        "origin": "http://localhost:9",
        "x-atlassian-jira-url": "https://jira.example.com",
        "x-forwarded-for": "1.2.3.4",
        "x_forwarded_for": "1.2.3.4",
        "x_team": "8",
        "x-original-url": "/admin",
        "x-rewrite-url": "/admin",
        "x-http-method-override": "DELETE",
        "x-method-override": "DELETE",
        "x-http-method": "DELETE",
        "x-host": "elsewhere",
        "x-real-ip": "1.2.3.4",
        "true-client-ip": "1.2.3.4",
        "x-middleware-subrequest": "1",
        "content-language": "de",
        "connection": "keep-alive, x-hop",
        "x-hop": "1",
        "x-key": "of the client",
    }
    response = http.post(address, json=call(), headers=sent)
    heard = script.heard[-1].headers
    assert heard["authorization"] == "Bearer mine"
    assert (heard["x-team"], heard["traceparent"]) == ("7", "00-1")
    assert heard["x-atlassian-jira-url"] == "https://jira.example.com"
    assert heard["mcp-protocol-version"] == "2025-06-18"
    assert heard["x-key"] == "kkkkk"
    assert heard["accept-encoding"] == "identity"
    assert heard["host"] == script.origin.removeprefix("http://")
    assert heard["content-type"] == "application/json"
    wanted = {
        *("accept", "accept-encoding", "authorization", "connection", "content-length"),
        *("content-type", "host", "mcp-protocol-version", "traceparent", "user-agent"),
        *("x-atlassian-jira-url", "x-key", "x-team"),
    }
    assert heard.keys() == wanted
    assert response.headers["mcp-session-id"] == "s"
    assert not {"set-cookie", "x-more"} & response.headers.keys()
    http.cookies.clear()
    http.post(address, json=call())
    assert "cookie" not in script.heard[-1].headers


def test_notices_and_other_methods_pass_with_their_status(
    script: Script, address: str, http: httpx2.Client
) -> None:
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert http.post(address, json=notice).status_code == 202
    assert script.messages("notifications/initialized") == [notice]
    refused = http.get(address, headers={"accept": "text/event-stream"})
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert http.delete(address, headers={"mcp-session-id": "s"}).status_code == 405
    without_id = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "t"}}
    assert http.post(address, json=without_id).status_code == 202
    assert script.messages("tools/call") == []


def test_a_stream_passes_event_by_event_with_its_marks(
    script: Script, address: str, http: httpx2.Client
) -> None:
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"n": "\u2028"}}

    async def answer(_: Request, message: Any) -> Response:
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": {}}
        return script.stream(
            b"id: 1\nretry: 50\ndata: \n\n",
            b": ping\n\n",
            event(progress, id="2"),
            b"event: other\ndata: nonsense\n\n",
            event(reply, event="message", id="3"),
        )

    script.handler = answer
    response = http.post(address, json=call())
    assert response.headers["content-type"] == "text/event-stream"
    assert [m.get("method", "answer") for m in messages(response)] == [
        "notifications/progress",
        "answer",
    ]
    assert "id: 1\nretry: 50\n" in response.text
    assert "id: 3\n" in response.text
    assert ": ping\n" in response.text
    assert "nonsense" not in response.text


def test_an_answer_that_nobody_waits_for_is_dropped_and_the_right_one_passes(
    script: Script, address: str, http: httpx2.Client, world: World
) -> None:
    async def answer(_: Request, __: Any) -> Response:
        said = [("1", "text"), (2, "foreign"), (1, "right"), (1, "second")]
        replies = [{"jsonrpc": "2.0", "id": i, "result": {"x": x}} for i, x in said]
        return script.stream(*map(event, replies))

    def dropped() -> int:
        reasons = [record.get("reason") for record in records(world.home)]
        return reasons.count("an answer that nobody waits for")

    http.post(address, content=b"no message", headers={"content-type": "application/json"})
    script.handler = answer
    before = dropped()
    (only,) = messages(http.post(address, json=call()))
    assert only["result"] == {"x": "right"}
    assert dropped() - before == 3


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (b'{"jsonrpc":"2.0","id":"1","result":{}}', "application/json", "something else"),
        (b'{"jsonrpc":"2.0","id":7,"result":{}}', "application/json", "something else"),
        (b'[{"jsonrpc":"2.0","id":1,"result":{}}]', "application/json", "batch"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}', "application/json", "stands twice"),
        (b"<html>hello</html>", "text/html", "something else"),
        (b"", "application/json", "nothing else"),
        (
            b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 300_000 + b'"}',
            "application/json",
            "more",
        ),
        (b"data: {\n\n", "text/event-stream", "cannot be used"),
        (b"data: " + b"x" * 300_000 + b"\n\n", "text/event-stream", "more than"),
        (b": nothing\n\n", "text/event-stream", "ended the stream"),
    ],
    ids=["text id", "foreign", "batch", "twice", "html", "empty", "huge", "half", "long", "silent"],
)
def test_an_answer_that_cannot_be_used_becomes_an_error_for_its_call(
    script: Script, address: str, http: httpx2.Client, content: bytes, kind: str, reason: str
) -> None:
    async def answer(_: Request, __: Any) -> Response:
        return Response(content, media_type=kind)

    script.handler = answer
    response = http.post(address, json=call())
    found = messages(response)[0] if kind == "text/event-stream" else response.json()
    assert found["id"] == 1
    assert reason in found["error"]["message"]
    script.handler = obliging
    assert http.post(address, json=call()).json()["result"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(
    script: Script, address: str, http: httpx2.Client, status: int
) -> None:
    async def answer(_: Request, __: Any) -> Response:
        return Response(status_code=status, headers={"location": script.origin + "/elsewhere"})

    script.handler = answer
    response = http.post(address, json=call(), headers={"authorization": "Bearer mine"})
    assert (response.status_code, response.json()["id"]) == (502, 1)
    assert "redirect" in response.json()["error"]["message"]
    assert http.get(address).status_code == 502
    assert {heard.path for heard in script.heard} == {"/mcp"}


@pytest.mark.parametrize(
    ("status", "content", "said"),
    [
        (401, b"go away", "it wants a login: run `claw login"),
        (500, b"<html>secret stack trace</html>", "answered with the status 500"),
        (400, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no x"}}', "no x"),
        (404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"what?"}}', "what?"),
        (400, b'{"jsonrpc":"2.0","id":"e","error":{"code":-32600,"message":"odd"}}', "odd"),
    ],
    ids=["credentials", "broken", "own id", "no id", "other id"],
)
def test_a_refusal_keeps_its_status_and_is_an_error_for_the_call(
    script: Script, address: str, http: httpx2.Client, status: int, content: bytes, said: str
) -> None:
    async def answer(_: Request, __: Any) -> Response:
        return Response(content, status, headers={"www-authenticate": "Bearer x"})

    script.handler = answer
    response = http.post(address, json=call())
    assert (response.status_code, response.json()["id"]) == (status, 1)
    assert said in response.json()["error"]["message"]
    assert response.headers["www-authenticate"] == "Bearer x"
    assert "stack trace" not in response.text


def test_a_server_that_is_not_there_is_a_clear_error(tmp_path: Path, http: httpx2.Client) -> None:
    with reverse_proxy("http://127.0.0.1:9/mcp", tmp_path) as address:
        response = http.post(address, json=call())
        assert response.status_code == 502
        assert "http://127.0.0.1:9 cannot be reached" in response.json()["error"]["message"]
        assert http.get(address).status_code == 502
        assert http.delete(address).status_code == 502


def test_a_packed_answer_that_nobody_asked_for_is_not_unpacked(
    script: Script, address: str, http: httpx2.Client
) -> None:
    async def answer(_: Request, __: Any) -> Response:
        return JSONResponse({}, headers={"content-encoding": "gzip"})

    script.handler = answer
    assert "encoding" in http.post(address, json=call()).json()["error"]["message"]


def test_a_stream_without_end_is_passed_on_and_closed_when_its_client_leaves(
    script: Script, address: str, http: httpx2.Client
) -> None:
    async def answer(_: Request, __: Any) -> Response:
        first = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        return script.stream(event(first), ends=False)

    script.handler = answer
    for method, message in (("POST", call()), ("GET", None)):
        with http.stream(method, address, json=message) as response:
            text = response.iter_text()
            assert "notifications/progress" in next(text)
            left = script.left
        until(lambda left=left: script.left == left + 1)


def test_the_path_of_the_server_is_served_like_ours(tmp_path: Path, http: httpx2.Client) -> None:
    with (
        Script(obliging) as script,
        reverse_proxy(script.origin + "/deep/place", tmp_path, ALLOW_ALL) as address,
    ):
        for path in ("/mcp", "/deep/place"):
            found = http.post(address.replace("/mcp", path), json=call())
            assert found.json()["result"]
        assert {heard.path for heard in script.heard} == {"/deep/place"}
