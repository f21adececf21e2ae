"""`prompt` through the reverse proxy: the call waits, a person is asked, the answer finds back."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response

from clawkit.guard.approval_window import ApprovalWindow
from clawkit.wire.revisions import META_CAPABILITIES, META_VERSION, MODERN
from tests.guard.approvals import short_folder, until
from tests.guard.guarded_server import records
from tests.guard.http.worlds import Script, event, result, reverse_proxy
from tests.processes import PATIENCE

POLICY = """
[limits]
prompt_timeout = 30

[[rule]]
action = "prompt"
tool = "rm"
description = "Ask before deleting"

[[rule]]
action = "prompt"
tool = "sampling/createMessage"

[[rule]]
action = "allow"
tool = "*"
"""
BOTH = {"accept": "application/json, text/event-stream", "mcp-session-id": "s1"}
CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 5,
    "method": "tools/call",
    "params": {"name": "rm", "arguments": {"path": "/a"}},
}
SAMPLING = {"jsonrpc": "2.0", "id": 77, "method": "sampling/createMessage", "params": {"x": 1}}


async def server(request: Request, message: Any) -> Response:
    if request.method == "DELETE":
        return Response(status_code=204)
    if "method" not in message or "id" not in message:
        return Response(status_code=202)
    if message["method"] == "initialize":
        return result(message, {"protocolVersion": "2025-11-25"}, mcp_session_id="s1")
    return result(message, {"done": True})


class Stream:
    """A response that is read while it comes."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.iter_lines()

    def next(self) -> Any:
        return next(json.loads(line[6:]) for line in self._lines if line.startswith("data: {"))


class Client:
    def __init__(self, address: str) -> None:
        self.address = address
        self.http = httpx2.Client(timeout=PATIENCE, trust_env=False, headers=BOTH)

    def post(self, message: Any) -> httpx2.Response:
        return self.http.post(self.address, json=message)

    def initialize(self, capabilities: dict[str, Any]) -> None:
        info = {"name": "tester", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        headers = {"accept": BOTH["accept"]}
        with httpx2.Client(timeout=PATIENCE, trust_env=False, headers=headers) as http:
            assert http.post(self.address, json=message).headers["mcp-session-id"] == "s1"

    @contextmanager
    def stream(self, message: Any) -> Generator[Stream]:
        with self.http.stream("POST", self.address, json=message) as response:
            assert response.headers["content-type"] == "text/event-stream"
            yield Stream(response)

    def answer(self, question: Any, decision: str) -> None:
        content = {"action": "accept", "content": {"decision": decision}}
        reply = {"jsonrpc": "2.0", "id": question["id"], "result": content}
        assert self.post(reply).status_code == 202


@pytest.fixture
def script() -> Iterator[Script]:
    with Script(server) as script:
        yield script


@pytest.fixture
def place() -> Iterator[Path]:
    with short_folder() as place:
        yield place


@pytest.fixture
def client(script: Script, tmp_path: Path, place: Path) -> Iterator[Client]:
    env = {"CLAW_HOME": str(place / "claw")}
    with reverse_proxy(script.address, tmp_path, POLICY, **env) as address:
        client = Client(address)
        with client.http:
            yield client


def test_a_legacy_client_is_asked_on_the_stream_that_later_has_the_answer(
    script: Script, client: Client
) -> None:
    client.initialize({"elicitation": {}})
    with client.stream(CALL) as stream:
        question = stream.next()
        assert question["method"] == "elicitation/create"
        assert "Ask before deleting" in question["params"]["message"]
        assert script.messages("tools/call") == []
        client.answer(question, "allow once")
        assert stream.next() == {"jsonrpc": "2.0", "id": 5, "result": {"done": True}}
    assert script.messages("tools/call") == [CALL]
    assert not [m for m in script.messages() if "method" not in m]
    with client.stream(CALL) as stream:
        client.answer(stream.next(), "deny")
        assert "a person said no" in stream.next()["error"]["message"]


def test_for_this_session_is_for_this_session(client: Client) -> None:
    client.initialize({"elicitation": {}})
    with client.stream(CALL) as stream:
        client.answer(stream.next(), "allow for this session")
        assert stream.next()["result"]
    assert client.post(CALL).json()["result"] == {"done": True}
    assert client.http.delete(client.address).status_code == 204
    assert "nobody can be asked" in client.post(CALL).json()["error"]["message"]


def test_a_stream_of_the_server_follows_the_question_on_the_same_stream(
    script: Script, client: Client
) -> None:
    client.initialize({"elicitation": {}})

    async def answer(request: Request, message: Any) -> Response:
        if message.get("method") != "tools/call":
            return await server(request, message)
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        reply = {"jsonrpc": "2.0", "id": 5, "result": {}}
        return script.stream(event(progress), event(reply))

    script.handler = answer
    with client.stream(CALL) as stream:
        client.answer(stream.next(), "allow once")
        assert stream.next()["method"] == "notifications/progress"
        assert stream.next()["id"] == 5


def test_a_client_that_leaves_takes_its_question_along(
    script: Script, client: Client, place: Path
) -> None:
    client.initialize({"elicitation": {}})
    with client.stream(CALL) as stream:
        question = stream.next()
    until(lambda: records(place)[-1].get("method") == "notifications/cancelled")
    client.answer(question, "allow once")
    assert script.messages("tools/call") == []
    with client.stream(CALL) as stream:
        assert stream.next()["method"] == "elicitation/create"


@pytest.mark.parametrize("decision", ["allow once", "deny"])
def test_a_server_that_asks_the_model_waits_for_the_person_too(
    script: Script, client: Client, decision: str
) -> None:
    client.initialize({"elicitation": {}, "sampling": {}})
    answered = threading.Event()

    async def answer(request: Request, message: Any) -> Response:
        if message.get("method") == "tools/call":
            return script.stream(event(SAMPLING), ends=False)
        if message.get("id") == 77:
            answered.set()
        return await server(request, message)

    script.handler = answer
    harmless = {**CALL, "params": {"name": "ls", "arguments": {}}}
    with client.stream(harmless) as stream:
        question = stream.next()
        assert question["method"] == "elicitation/create"
        client.answer(question, decision)
        if decision == "allow once":
            assert stream.next() == SAMPLING
            reply = {"jsonrpc": "2.0", "id": 77, "result": {"role": "assistant"}}
            assert client.post(reply).status_code == 202
        assert answered.wait(PATIENCE)
    (given,) = [m for m in script.messages() if m.get("id") == 77]
    assert ("result" in given) == (decision == "allow once")
    said = next(heard for heard in script.heard if b"77" in heard.body)
    assert said.headers["mcp-session-id"] == "s1"


@contextmanager
def view(socket: Path, decision: Any) -> Generator[list[Any]]:
    """A `claw approvals` that answers each question at once."""
    seen: list[Any] = []
    ended = threading.Event()

    def watch(view: ApprovalWindow) -> None:
        while not ended.wait(0.01):
            for ask in view.asks():
                seen.append(ask)
                view.answer(ask.id, decision)

    with ApprovalWindow(socket) as opened:
        thread = threading.Thread(target=watch, args=(opened,))
        thread.start()
        try:
            yield seen
        finally:
            ended.set()
            thread.join()


@pytest.mark.parametrize(("decision", "part"), [("once", "result"), ("deny", "error")])
def test_without_a_form_the_call_is_held_until_the_view_has_answered(
    script: Script, client: Client, place: Path, decision: str, part: str
) -> None:
    client.initialize({})
    assert "nobody can be asked" in client.post(CALL).json()["error"]["message"]
    with view(place / "claw/data/claw/guard/approvals", decision) as seen:
        response = client.post(CALL)
    assert part in response.json()
    assert [ask.tool for ask in seen] == ["rm"]
    assert len(script.messages("tools/call")) == (decision == "once")


def test_a_modern_client_is_asked_by_a_result_and_comes_back_with_the_answer(
    script: Script, client: Client
) -> None:
    meta = {META_VERSION: MODERN, META_CAPABILITIES: {"elicitation": {}}}
    params = {**CALL["params"], "_meta": meta}
    headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "rm"}
    http = httpx2.Client(timeout=PATIENCE, trust_env=False, headers=headers)

    def ask(number: int, **more: Any) -> Any:
        message = {**CALL, "id": number, "params": {**params, **more}}
        return http.post(client.address, json=message).json()

    with http:
        asked = ask(1)["result"]
        assert asked["resultType"] == "input_required"
        (name,) = asked["inputRequests"]
        assert script.messages() == []
        yes = {name: {"action": "accept", "content": {"decision": "allow once"}}}
        state = asked["requestState"]
        assert ask(2, inputResponses=yes, requestState=state)["result"] == {"done": True}
        (sent,) = script.messages("tools/call")
        assert sent["params"] == params
        again = ask(3, inputResponses=yes, requestState=state)
        assert again["result"]["resultType"] == "input_required"
