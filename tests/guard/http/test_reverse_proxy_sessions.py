"""What belongs together: the requests of one session, and the answers to a server's questions."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response

from clawkit.guard.conversation import GuardConversation
from clawkit.guard.http.reverse_proxy import ProxySession, ProxySessions
from clawkit.guard.judge import open_judge
from clawkit.guard.policy.policy import Paths
from tests.guard.approvals import until
from tests.guard.guarded_server import ALLOW_ALL, records
from tests.guard.http.worlds import Script, event, obliging, proxy_process, result, reverse_proxy
from tests.processes import PATIENCE

BOTH = {"accept": "application/json, text/event-stream"}
SESSION = {**BOTH, "mcp-session-id": "s1"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "arguments": {}}}
ROOTS = {"jsonrpc": "2.0", "id": "r", "method": "roots/list"}


@pytest.fixture
def script() -> Iterator[Script]:
    with Script(obliging) as script:
        yield script


@pytest.fixture
def address(script: Script, tmp_path: Path) -> Iterator[str]:
    with reverse_proxy(script.address, tmp_path) as address:
        yield address


@pytest.fixture
def http() -> Iterator[httpx2.Client]:
    with httpx2.Client(timeout=PATIENCE, trust_env=False) as client:
        yield client


def answers_of(response: httpx2.Response) -> list[Any]:
    return [json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: {")]


def test_an_answer_that_was_cut_off_comes_over_the_stream_that_resumes_it(
    script: Script, address: str, http: httpx2.Client
) -> None:
    async def answer(request: Request, _: Any) -> Response:
        if request.method == "POST":
            return script.stream(b"id: e1\ndata: \n\n")
        assert request.headers["last-event-id"] == "e1"
        reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
        return script.stream(event(reply), event(reply))

    script.handler = answer
    assert answers_of(http.post(address, json=CALL, headers=SESSION)) == []
    resumed = http.get(address, headers={**SESSION, "last-event-id": "e1"})
    assert answers_of(resumed) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    other = http.get(address, headers={**SESSION, "mcp-session-id": "s2", "last-event-id": "e1"})
    assert answers_of(other) == []


@pytest.mark.parametrize("headers", [BOTH, SESSION], ids=["without a session", "in a session"])
def test_a_question_of_the_server_is_answered_once_and_only_if_it_was_asked(
    script: Script, address: str, http: httpx2.Client, headers: dict[str, str]
) -> None:
    answered = threading.Event()

    async def answer(_: Request, message: Any) -> Response:
        if "result" in message:
            answered.set()
            return Response(status_code=202)
        return script.stream(event(ROOTS), ends=False)

    script.handler = answer
    reply = {"jsonrpc": "2.0", "id": "r", "result": {"roots": []}}
    assert http.post(address, json=reply, headers=headers).status_code == 202
    with http.stream("POST", address, json=CALL, headers=headers) as response:
        lines = response.iter_lines()
        asked = next(line for line in lines if line.startswith("data: {"))
        assert json.loads(asked[6:]) == ROOTS
        for _ in range(2):
            assert http.post(address, json=reply, headers=headers).status_code == 202
        assert answered.wait(PATIENCE)
    assert [m for m in script.messages() if "result" in m] == [reply]


def test_a_session_that_the_server_does_not_know_is_told_so_in_its_words(
    script: Script, address: str, http: httpx2.Client
) -> None:
    async def answer(_: Request, __: Any) -> Response:
        return Response(b"gone", 404)

    script.handler = answer
    response = http.post(address, json=CALL, headers=SESSION)
    assert (response.status_code, response.json()["id"]) == (404, 1)
    assert "connect again" in response.json()["error"]["message"]


def test_garbage_on_one_stream_is_no_answer_on_another(
    script: Script, address: str, http: httpx2.Client
) -> None:
    listened = threading.Event()

    async def answer(request: Request, _: Any) -> Response:
        if request.method == "GET":
            return script.stream(b'data: {"half\n\n')
        reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
        await asyncio.to_thread(listened.wait, PATIENCE)
        return script.stream(event(reply), b'data: {"half\n\n')

    script.handler = answer
    with ThreadPoolExecutor() as threads:
        called = threads.submit(http.post, address, json=CALL, headers=SESSION)
        until(lambda: script.messages("tools/call"))
        assert answers_of(http.get(address, headers=SESSION)) == []
        listened.set()
        assert answers_of(called.result()) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


def test_two_sessions_may_use_the_same_id_and_one_may_not_use_it_twice(
    script: Script, address: str, http: httpx2.Client
) -> None:
    async def answer(request: Request, message: Any) -> Response:
        if request.headers["mcp-session-id"] == "s1":
            return script.stream(b": working\n\n", ends=False)
        return result(message)

    script.handler = answer
    with http.stream("POST", address, json=CALL, headers=SESSION) as response:
        lines = response.iter_lines()
        assert next(lines) == ": working"
        other = http.post(address, json=CALL, headers={**BOTH, "mcp-session-id": "s2"})
        assert other.json()["result"] == {}
        again = http.post(address, json=CALL, headers=SESSION)
        assert "already in use" in again.json()["error"]["message"]


def test_what_cannot_be_written_down_does_not_pass(
    script: Script, tmp_path: Path, http: httpx2.Client
) -> None:
    (tmp_path / "claw").write_text("not a folder")
    env = {"CLAW_HOME": str(tmp_path / "claw")}
    with reverse_proxy(script.address, tmp_path, ALLOW_ALL, **env) as address:
        for message in (CALL, {"jsonrpc": "2.0", "method": "notifications/initialized"}):
            response = http.post(address, json=message, headers=BOTH)
            assert "result" not in response.text
    assert script.heard == []


def test_a_guard_that_is_stopped_ends_its_streams_and_is_gone(
    script: Script, tmp_path: Path, http: httpx2.Client, home: Path
) -> None:
    async def answer(_: Request, __: Any) -> Response:
        return script.stream(b": working\n\n", ends=False)

    script.handler = answer
    with proxy_process(script.address, tmp_path) as (guard, address):
        post = http.stream("POST", address, json=CALL, headers=BOTH)
        get = http.stream("GET", address, headers=BOTH)
        with post as posted, get as got:
            lines = posted.iter_lines(), got.iter_lines()
            assert [next(each) for each in lines] == [": working"] * 2
            guard.terminate()
            for each in lines:
                assert all(line in ("", ": working", ": still here") for line in each)
            guard.wait(PATIENCE)
    assert records(home)[-1]["kind"] == "answer"


def test_the_oldest_idle_session_makes_room(home: Path) -> None:
    assert home.exists()
    judge = open_judge(home / "policy.toml", ("far",), Paths())

    def conversation() -> GuardConversation:
        return GuardConversation(judge, "test", lambda _: None)

    sessions = ProxySessions(conversation, most=3)
    busy, idle, young = (sessions.find(name) for name in ("busy", "idle", "young"))
    with busy.in_use(), young.in_use():
        sessions.keep("new", ProxySession(conversation()))
        assert len(sessions) == 3
        assert sessions.find("busy") is busy
    assert sessions.find("young") is young
    assert sessions.find("idle") is not idle
    assert len(sessions) == 3
