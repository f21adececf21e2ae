"""Bridges over a real WebSocket, from both sides: the device's and the client's."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from clawkit.memory import tokens
from clawkit.memory.bridges import LONGEST_FRAME
from clawkit.memory.http import app, bridge_socket
from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import Served, served, text_of
from tests.memory.http.test_authentication import revoke
from tests.processes import PATIENCE

LAMP = {
    "type": "register",
    "name": "lamp",
    "capabilities": [
        {"name": "light_on", "kind": "act", "description": "Switch the lamp on."},
        {"name": "warmth", "kind": "sense"},
    ],
}


def opened(server: Served, token: str, being_id: str = "", **more: Any) -> ClientConnection:
    address = f"ws://127.0.0.1:{server.port}/bridge/{being_id or server.being.id}"
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return connect(address, additional_headers=headers, open_timeout=PATIENCE, **more)


def say(socket: ClientConnection, frame: dict[str, Any]) -> None:
    socket.send(json.dumps(frame))


def hear(socket: ClientConnection) -> dict[str, Any]:
    return json.loads(socket.recv(PATIENCE))


@contextmanager
def lamp(server: Served, token: str) -> Iterator[ClientConnection]:
    with opened(server, token) as socket:
        say(socket, LAMP)
        assert hear(socket) == {"type": "registered"}
        yield socket


def context(server: Served, token: str) -> dict[str, Any]:
    return json.loads(text_of(server.call(token, "get_context")))


def tools(server: Served, token: str) -> set[str]:
    return {tool["name"] for tool in server.ask(token, "tools/list").json()["result"]["tools"]}


def until_gone(server: Served) -> None:
    deadline = time.monotonic() + PATIENCE
    while server.app.bridges.connected and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.app.bridges.connected == 0


def test_a_bridge_that_floods_is_read_no_faster_than_others_bear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge_socket, "FRAMES_AT_ONCE", 2)
    monkeypatch.setattr(bridge_socket, "FRAMES_A_SECOND", 1e-6)
    monkeypatch.setattr(app, "DRAIN_SECONDS", 0)  # it would read on in days
    with (
        served(store_at(tmp_path)) as server,
        opened(server, server.token(), close_timeout=0) as socket,
    ):
        for _ in range(5):
            say(socket, {"type": "ping"})
        assert [hear(socket) for _ in range(2)] == [{"type": "pong"}] * 2
        assert server.ask(server.token(), "tools/list").status_code == 200
        with pytest.raises(TimeoutError):
            socket.recv(0.2)


def test_a_check_of_a_token_that_fails_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(store_at(tmp_path), recheck_every=0.01) as server:
        token = server.token()
        with opened(server, token) as socket:
            whole, failed = tokens.check, threading.Event()

            def broken(*_: Any, **__: Any) -> Any:
                failed.set()
                raise ValueError("a fault")

            monkeypatch.setattr(tokens, "check", broken)
            assert failed.wait(PATIENCE)
            monkeypatch.setattr(tokens, "check", whole)
            revoke(server, token)
            with pytest.raises(ConnectionClosed):
                socket.recv(PATIENCE)


def test_a_client_has_a_device_act(server: Served) -> None:
    token = server.token()
    assert "act" not in tools(server, token)
    with lamp(server, token) as socket, ThreadPoolExecutor() as pool:
        assert "act" in tools(server, token)
        arguments = {"name": "light_on", "arguments": {"level": 3}}
        calling = pool.submit(server.call, token, "act", arguments)
        asked = hear(socket)
        assert (asked["type"], asked["name"], asked["arguments"]) == (
            "act",
            "light_on",
            {"level": 3},
        )
        say(socket, {"type": "result", "id": asked["id"], "result": {"on": True}})
        assert json.loads(text_of(calling.result(PATIENCE))) == {"on": True}
    until_gone(server)
    assert "act" not in tools(server, token)


def test_what_a_bridge_offers_and_senses_is_in_the_context(server: Served) -> None:
    token = server.token()
    with lamp(server, token) as socket:
        say(socket, {"type": "sense", "name": "warmth", "value": 21.5})
        say(socket, {"type": "ping"})
        assert hear(socket) == {"type": "pong"}
        found = context(server, token)
    assert found["capability_tools"] == [{"name": "light_on", "description": "Switch the lamp on."}]
    assert "warmth: 21.5" in found["snapshot"]


def test_another_being_sees_nothing_of_it(server: Served) -> None:
    token, bob = server.token(), server.store.create("Bob")
    theirs = server.token(bob)
    with lamp(server, token) as socket:
        say(socket, {"type": "sense", "name": "warmth", "value": 21.5})
        say(socket, {"type": "ping"})
        hear(socket)
        path = f"/mcp/{bob.id}"
        found = json.loads(text_of(server.call(theirs, "get_context", path=path)))
        assert found["capability_tools"] == []
        assert "warmth" not in found["snapshot"]
        refused = server.call(theirs, "act", {"name": "light_on"}, path=path)
        assert refused.json()["error"]["message"] == "Unknown tool: act"


def test_an_act_fails_at_once_when_the_device_leaves(server: Served) -> None:
    token = server.token()
    with ThreadPoolExecutor() as pool:
        with lamp(server, token) as socket:
            calling = pool.submit(server.call, token, "act", {"name": "light_on"})
            hear(socket)
        result = calling.result(PATIENCE).json()["result"]
    assert result["isError"]
    assert "lamp went away" in result["content"][0]["text"]


def test_a_device_that_is_silent_is_a_clear_error(server: Served) -> None:
    server.app.bridges._act_seconds = 0.1
    token = server.token()
    with lamp(server, token):
        result = server.call(token, "act", {"name": "light_on"}).json()["result"]
    assert result["isError"]
    assert "did not answer within 0.1 s" in result["content"][0]["text"]


def test_only_a_full_token_of_the_being_connects_a_bridge(server: Served) -> None:
    stranger = server.store.create("Bob").id
    for token, being_id, status, challenge in (
        ("", "", 401, 'Bearer realm="clawkit"'),
        ("brt_" + "x" * 43, "", 401, 'error="invalid_token"'),
        (server.token(scope="read-only"), "", 403, 'error="insufficient_scope"'),
        (server.token(), stranger, 403, 'error="insufficient_scope"'),
        (server.token(oauth=True), stranger, 403, 'error="insufficient_scope"'),
    ):
        with pytest.raises(InvalidStatus) as caught:
            opened(server, token, being_id)
        response = caught.value.response
        assert response.status_code == status
        assert challenge in response.headers["www-authenticate"]
        assert response.headers["x-request-id"]
        assert json.loads(response.body or b"")["error"]["message"]
    assert server.app.bridges.connected == 0


def test_a_page_of_somebody_else_cannot_connect_one(server: Served) -> None:
    with pytest.raises(InvalidStatus) as caught:
        opened(server, server.token(), origin="https://evil.example")
    assert caught.value.response.status_code == 403


def test_frames_that_cannot_be_used_end_the_connection(server: Served) -> None:
    with opened(server, server.token()) as socket:
        for n in range(10):
            socket.send(b"\xff\x00" if n % 2 else '{"type":"nonsense"}')
            assert hear(socket)["type"] == "error"
        with pytest.raises(ConnectionClosed) as caught:
            socket.recv(PATIENCE)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1008


def test_a_frame_that_is_too_large_ends_the_connection(server: Served) -> None:
    with opened(server, server.token()) as socket:
        with suppress(ConnectionClosed):
            socket.send("x" * (LONGEST_FRAME + 1))
        with pytest.raises(ConnectionClosed) as caught:
            socket.recv(PATIENCE)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1009
    until_gone(server)


def test_a_connection_ends_with_its_token(tmp_path: Path) -> None:
    with served(store_at(tmp_path), recheck_every=0.05) as server:
        token = server.token()
        with lamp(server, token) as socket:
            revoke(server, token)
            with pytest.raises(ConnectionClosed) as caught:
                socket.recv(PATIENCE)
        assert caught.value.rcvd is not None
        assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (1008, "The token was revoked")


def test_a_device_that_vanishes_is_noticed(server: Served) -> None:
    token = server.token()
    with lamp(server, token) as socket:
        socket.socket.close()
        until_gone(server)


def test_bridges_are_counted_and_logged_without_what_they_say(server: Served) -> None:
    token = server.token()
    with lamp(server, token) as socket:
        say(socket, {"type": "sense", "name": "warmth", "value": "what was sensed"})
        say(socket, {"type": "ping"})
        hear(socket)
        assert "clawkit_being_bridges 1" in server.http.get("/metrics").text
    until_gone(server)
    found = server.http.get("/metrics").text
    assert "clawkit_being_bridges 0" in found
    assert "clawkit_being_bridges_opened_total 1" in found
    (line,) = server.log(1)
    assert (line["method"], line["status"], line["being"]) == ("bridge", 101, server.being.id)
    assert "what was sensed" not in server.raw_log


def test_many_acts_of_many_clients_each_get_their_own_answer(server: Served) -> None:
    token = server.token()
    with lamp(server, token) as socket:

        def device() -> None:
            for _ in range(60):
                asked = hear(socket)
                say(socket, {"type": "result", "id": asked["id"], "result": asked["arguments"]})

        answering = threading.Thread(target=device)
        answering.start()

        def act(n: int) -> httpx2.Response:
            return server.call(token, "act", {"name": "light_on", "arguments": {"n": n}})

        with ThreadPoolExecutor(20) as pool:
            answers = [json.loads(text_of(answer))["n"] for answer in pool.map(act, range(60))]
        answering.join(PATIENCE)
    assert answers == list(range(60))
