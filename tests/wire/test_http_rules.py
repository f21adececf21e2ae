"""The rules of the HTTP door: who may come in, what a request must say and say twice, to whom a
session and a task belong.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx2
import pytest

from tests.processes import http_server
from tests.wire.samples.messages import (
    CAPABILITIES_KEY,
    MODERN,
    OPENING,
    SAMPLES,
    TASKS,
    VERSION_KEY,
    Message,
    call,
    cancel,
    headers,
    modern,
    notification,
    request,
    text,
    until,
)
from tests.wire.samples.peers import EVENTS, Peer, guarded

Open = Callable[..., Peer]

PING = request(1, "ping")


WAYS = {
    "stateless": lambda: http_server(SAMPLES / "workshop.py"),
    "sessions": lambda: http_server(SAMPLES / "workshop.py", "--sessions"),
    "guarded": lambda: guarded("--sessions"),
    "open": lambda: guarded("--open"),
}


@pytest.fixture(scope="module")
def addresses() -> Iterator[Callable[[str], str]]:
    """The address of each way to serve, which starts when it is first asked for."""
    found: dict[str, str] = {}
    with ExitStack() as stack:

        def address(way: str) -> str:
            if way not in found:
                found[way] = stack.enter_context(WAYS[way]())
            return found[way]

        yield address


@pytest.fixture
def open_peer(addresses: Callable[[str], str]) -> Iterator[Open]:
    with ExitStack() as stack:
        yield lambda way, **fields: stack.enter_context(Peer(addresses(way), **fields))


@pytest.fixture
def peer(open_peer: Open) -> Iterator[Peer]:
    """A client whose server must be alive after the test."""
    found = open_peer("stateless")
    yield found
    assert found.post(PING).json()["result"] == {}


@pytest.fixture
def stateful_peer(open_peer: Open) -> Peer:
    """A client of a server that keeps sessions."""
    return open_peer("sessions")


@pytest.fixture
def alice(open_peer: Open) -> Peer:
    return open_peer("guarded", Authorization="Bearer alice")


@pytest.fixture
def bob(open_peer: Open) -> Peer:
    return open_peer("guarded", Authorization="Bearer bob")


def refused(response: httpx2.Response, status: int, code: int = -32600) -> Message:
    assert response.status_code == status
    assert response.json()["error"]["code"] == code
    assert response.json()["error"]["message"]
    return response.json()["error"]


def test_a_body_that_does_not_say_it_is_json_is_refused(peer: Peer) -> None:
    for kind in ("text/plain", "application/json-patch+json", "application/jsonx", "json", ""):
        refused(peer.post(PING, Content_Type=kind), 415)
    refused(peer.http.post("/mcp", content=b'{"jsonrpc":"2.0","id":1,"method":"ping"}'), 415)
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"):
        assert peer.post(PING, Content_Type=kind).status_code == 200


def test_an_answer_is_of_a_kind_that_the_client_accepts_or_none_is_given(peer: Peer) -> None:
    for accepted in ("text/html", "image/*", "application/xml, text/plain"):
        refused(peer.post(PING, Accept=accepted), 406)
        refused(peer.post_modern(call(1, "echo", text="a"), Accept=accepted), 406)
    for accepted in ("application/json", "*/*", "application/*", "Application/JSON;q=0.5"):
        for message in (PING, call(1, "echo", text="a")):
            response = peer.post(message, Accept=accepted)
            assert response.status_code == 200
            assert response.headers["content-type"] == "application/json"
            assert response.json()["id"] == 1
    for message in (PING, call(1, "echo", text="a")):
        response = peer.post(message, Accept="text/event-stream")
        assert response.status_code == 406 or (
            response.headers["content-type"].startswith("text/event-stream")
        )


def test_a_web_page_of_another_place_is_refused(peer: Peer) -> None:
    for origin in (
        "https://evil.example",
        "http://localhost.evil.example",
        "http://evil.example:80",
        "null",
        "file://",
        "",
        "chrome-extension://localhost",
    ):
        refused(peer.post(PING, Origin=origin), 403)
        assert peer.http.get("/mcp", headers={"Origin": origin} | EVENTS).status_code == 403
        assert peer.http.delete("/mcp", headers={"Origin": origin}).status_code == 403
    for origin in ("http://localhost:5173", "http://127.0.0.1", "https://[::1]:443"):
        assert peer.post(PING, Origin=origin).status_code == 200


def test_a_name_that_leads_here_without_being_ours_is_refused(peer: Peer) -> None:
    """DNS rebinding: the page of an attacker reaches loopback under the attacker's own name."""
    for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "0.0.0.0", "[::2]"):
        refused(peer.post(PING, Host=host), 403)
        refused(peer.post(PING, Host=host, Origin=f"http://{host}"), 403)
        assert peer.http.get("/mcp", headers={"Host": host} | EVENTS).status_code == 403
    for host in ("localhost", "LOCALHOST:9", "127.0.0.1:1", "[::1]:80"):
        assert peer.post(PING, Host=host).status_code == 200


def test_a_web_page_is_refused_even_where_every_host_name_is_ours(open_peer: Open) -> None:
    peer = open_peer("open")
    assert peer.post(PING, Host="server.example").status_code == 200
    assert peer.post(PING, Host="a.example", Origin="https://friend.example").status_code == 200
    # A page whose name was pointed here by DNS has an Origin that is its Host.
    for origin in ("https://evil.example", "http://server.example"):
        refused(peer.post(PING, Host="server.example", Origin=origin), 403)


def test_the_limit_of_a_body_can_be_chosen(open_peer: Open) -> None:
    peer = open_peer("open")
    assert peer.post(request("x" * 900, "ping")).status_code == 200
    refused(peer.post(request("x" * 1000, "ping")), 413)


def test_other_verbs_and_other_places_are_refused(peer: Peer) -> None:
    for verb in ("PUT", "PATCH", "HEAD", "OPTIONS"):
        response = peer.http.request(verb, "/mcp")
        assert response.status_code == 405
        assert "POST" in response.headers["allow"]
    assert peer.http.post("/other", json=PING).status_code == 404


def test_the_modern_era_has_post_and_nothing_else(peer: Peer, stateful_peer: Peer) -> None:
    fields = {"MCP-Protocol-Version": MODERN, **EVENTS}
    for one in (peer, stateful_peer):
        for verb in ("GET", "DELETE"):
            response = one.http.request(verb, "/mcp", headers=fields)
            refused(response, 405)
            assert response.headers["allow"] == "POST"


def test_a_client_without_a_session_may_listen_and_say_goodbye(peer: Peer) -> None:
    refused(peer.http.get("/mcp", headers={"Accept": "application/json"}), 405)
    with peer.http.stream("GET", "/mcp", headers=EVENTS) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
    assert peer.http.delete("/mcp").status_code in (200, 204, 405)


def test_headers_that_disagree_with_the_body_are_refused(peer: Peer) -> None:
    wanted = modern(call(1, "echo", text="a"))
    said = headers(wanted)
    assert peer.http.post("/mcp", json=wanted, headers=said).status_code == 200
    for field, lie in (
        ("MCP-Protocol-Version", "2025-11-25"),
        ("MCP-Protocol-Version", "2099-01-01"),
        ("Mcp-Method", "tools/list"),
        ("Mcp-Method", "TOOLS/CALL"),
        ("Mcp-Name", "add"),
        ("Mcp-Name", "Echo"),
        ("Mcp-Name", "=?base64?YWRk?="),
        ("Mcp-Name", "=?base64?not base64?="),
        ("Mcp-Name", "=?base64?/w==?="),
    ):
        error = refused(
            peer.http.post("/mcp", json=wanted, headers=said | {field: lie}), 400, -32020
        )
        assert field in error["message"]
    for field in said:
        fewer = {name: value for name, value in said.items() if name != field}
        refused(peer.http.post("/mcp", json=wanted, headers=fewer), 400, -32020)


def test_names_may_be_wrapped_in_base64_and_must_be_outside_ascii(peer: Peer) -> None:
    def wrapped(name: str) -> str:
        return f"=?base64?{base64.b64encode(name.encode()).decode()}?="

    assert text(peer.post_modern(call(1, "echo", text="a"), Mcp_Name=wrapped("echo")).json()) == "a"
    reply = peer.post_modern(call(1, "größe"), Mcp_Name=wrapped("größe")).json()
    assert text(reply) == "large"
    refused(peer.post_modern(call(1, "größe"), Mcp_Name=wrapped("echo")), 400, -32020)


def test_arguments_that_are_mirrored_in_headers_must_be_the_same_there(peer: Peer) -> None:
    def post(arguments: Message, **said: str) -> httpx2.Response:
        fields = {f"Mcp_Param_{name}": value for name, value in said.items()}
        return peer.post_modern(call(1, "place", None, **arguments), None, **fields)

    zürich = base64.b64encode("Zürich".encode()).decode()
    everything = {"region": "EU", "floor": 3, "lit": True}
    assert text(post({"region": "EU"}, Region="EU").json()) == "EU None None"
    assert text(post({"region": "Zürich"}, Region=f"=?base64?{zürich}?=").json())[:6] == "Zürich"
    assert text(post(everything, Region="EU", Floor="3", Lit="true").json()) == "EU 3 True"
    assert post({"region": "EU", "floor": None}, Region="EU").status_code == 200
    assert post({"region": ""}, Region="").status_code == 200
    large = 2**53 + 1
    assert post({"region": "EU", "floor": large}, Region="EU", Floor=str(large)).status_code == 200
    for lies in (
        {"Region": "US", "Floor": "3", "Lit": "true"},
        {"Region": "eu", "Floor": "3", "Lit": "true"},
        {"Region": "EU", "Floor": "4", "Lit": "true"},
        {"Region": "EU", "Floor": "three", "Lit": "true"},
        {"Region": "EU", "Floor": "3", "Lit": "false"},
        {"Region": "EU", "Floor": "3", "Lit": "1"},
        {"Floor": "3", "Lit": "true"},
        {"Region": "EU"},
    ):
        refused(post(everything, **lies), 400, -32020)
    refused(post({"region": "EU", "floor": large}, Region="EU", Floor=str(large - 1)), 400, -32020)


def test_an_unknown_method_is_not_found(peer: Peer) -> None:
    for method in ("tools/destroy", "ping", "initialize", "logging/setLevel"):
        refused(peer.post_modern(request(1, method)), 404, -32601)
    assert peer.post(request(1, "tools/destroy")).json()["error"]["code"] == -32601


def test_a_version_that_is_not_spoken_is_refused_with_those_that_are(peer: Peer) -> None:
    old = {"_meta": {VERSION_KEY: "1999-01-01", CAPABILITIES_KEY: {}}}
    for message in (request(1, "tools/list", old), request(1, "tools/list")):
        fields = {"MCP_Protocol_Version": "1999-01-01", "Mcp_Method": "tools/list"}
        error = refused(peer.post(message, **fields), 400, -32022)
        assert error["data"] == {"supported": [MODERN], "requested": "1999-01-01"}


def test_a_modern_request_with_incomplete_meta_is_refused(peer: Peer) -> None:
    fields = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/list"}
    able: Message = {CAPABILITIES_KEY: {}}
    for params in (None, {}, {"_meta": {}}, {"_meta": able}, {"_meta": 5}, {"_meta": []}):
        refused(peer.post(request(1, "tools/list", params), **fields), 400, -32602)
    for capabilities in (None, [], 5, "all"):
        meta = {VERSION_KEY: MODERN, CAPABILITIES_KEY: capabilities}
        message = request(1, "tools/list", {"_meta": meta})
        refused(peer.post(message, **fields), 400, -32602)


def test_a_capability_that_the_client_did_not_declare_is_named(peer: Peer) -> None:
    error = refused(peer.post_modern(call(1, "ask-person")), 400, -32021)
    assert error["data"] == {"requiredCapabilities": {"elicitation": {}}}
    error = refused(peer.post_modern(call(1, "long-work")), 400, -32021)
    assert error["data"] == {"requiredCapabilities": TASKS}
    assert "taskId" in peer.post_modern(call(1, "long-work"), TASKS).json()["result"]


def test_a_session_must_be_named_known_and_not_over(stateful_peer: Peer) -> None:
    refused(stateful_peer.post(PING), 400)
    refused(stateful_peer.post(PING, Mcp_Session_Id="unknown"), 404)
    refused(stateful_peer.http.delete("/mcp"), 400)
    refused(stateful_peer.http.get("/mcp", headers={"Mcp-Session-Id": "unknown"} | EVENTS), 404)
    session = stateful_peer.post(OPENING).headers["mcp-session-id"]
    assert stateful_peer.post(PING, Mcp_Session_Id=session).json()["result"] == {}
    told = notification("notifications/initialized")
    assert stateful_peer.post(told, Mcp_Session_Id=session).status_code == 202
    assert stateful_peer.http.delete("/mcp", headers={"Mcp-Session-Id": session}).status_code == 204
    for message in (PING, told, OPENING):
        refused(stateful_peer.post(message, Mcp_Session_Id=session), 404)
    assert stateful_peer.http.delete("/mcp", headers={"Mcp-Session-Id": session}).status_code == 404


def test_sessions_know_nothing_of_each_other(stateful_peer: Peer) -> None:
    one, two = (stateful_peer.post(OPENING).headers["mcp-session-id"] for _ in range(2))
    assert one != two
    with ThreadPoolExecutor() as pool:
        slow = call(1, "wait", seconds=6, note=one)
        waiting = pool.submit(lambda: stateful_peer.post(slow, Mcp_Session_Id=one).json())
        until(lambda: f"{one} began" in stateful_peer.history(Mcp_Session_Id=two))
        other = stateful_peer.post(call(1, "echo", text="other"), Mcp_Session_Id=two)
        assert text(other.json()) == "other"
        again = stateful_peer.post(call(1, "echo", text="again"), Mcp_Session_Id=one)
        assert again.json()["error"]["code"] == -32600
        assert stateful_peer.post(cancel(1), Mcp_Session_Id=two).status_code == 202
        assert text(waiting.result()) == one


def test_a_call_of_a_session_can_be_cancelled(stateful_peer: Peer) -> None:
    session = stateful_peer.post(OPENING).headers["mcp-session-id"]
    with ThreadPoolExecutor() as pool:
        slow = call(1, "wait", seconds=600, note=session)
        waiting = pool.submit(lambda: stateful_peer.post(slow, Mcp_Session_Id=session).json())
        until(lambda: f"{session} began" in stateful_peer.history(Mcp_Session_Id=session))
        stateful_peer.post(cancel(1), Mcp_Session_Id=session)
        assert "error" in waiting.result()
    assert f"{session} cancelled" in stateful_peer.history(Mcp_Session_Id=session)


def test_a_session_has_one_stream_and_its_end_ends_it(stateful_peer: Peer) -> None:
    fields = {"Mcp-Session-Id": stateful_peer.post(OPENING).headers["mcp-session-id"]} | EVENTS
    with stateful_peer.http.stream("GET", "/mcp", headers=fields) as response:
        assert response.status_code == 200
        refused(stateful_peer.http.get("/mcp", headers=fields), 409)
        stateful_peer.http.delete("/mcp", headers=fields)
        assert response.read() == b""


def test_a_caller_without_a_token_is_told_how_to_get_one(open_peer: Open) -> None:
    nobody = open_peer("guarded")
    for response in (
        nobody.post(OPENING),
        nobody.post_modern(request(1, "tools/list")),
        nobody.post(PING, Authorization="Bearer mallory"),
        nobody.post(notification("notifications/initialized")),
        nobody.http.get("/mcp", headers=EVENTS),
        nobody.http.delete("/mcp"),
    ):
        refused(response, 401)
        assert response.headers["www-authenticate"] == 'Bearer realm="guarded"'


def test_a_caller_who_may_not_do_this_is_told_what_is_missing(open_peer: Open) -> None:
    guest = open_peer("guarded", Authorization="Bearer guest")
    assert guest.post_modern(request(1, "tools/list")).status_code == 200
    response = guest.post_modern(call(1, "who"))
    refused(response, 403)
    assert 'error="insufficient_scope"' in response.headers["www-authenticate"]


def test_the_tool_knows_its_caller(alice: Peer, bob: Peer) -> None:
    for name, one in (("alice", alice), ("bob", bob)):
        assert text(one.post_modern(call(1, "who")).json()) == f"{name} may call look"


def test_a_session_belongs_to_the_one_who_opened_it(alice: Peer, bob: Peer) -> None:
    session = alice.post(OPENING).headers["mcp-session-id"]
    assert text(alice.post(call(1, "who"), Mcp_Session_Id=session).json())[:5] == "alice"
    refused(bob.post(PING, Mcp_Session_Id=session), 404)
    refused(bob.http.get("/mcp", headers={"Mcp-Session-Id": session} | EVENTS), 404)
    refused(bob.http.delete("/mcp", headers={"Mcp-Session-Id": session}), 404)
    assert alice.post(PING, Mcp_Session_Id=session).status_code == 200


def test_a_task_belongs_to_the_one_who_started_it(alice: Peer, bob: Peer) -> None:
    task = alice.post_modern(call(1, "long-work", seconds=5), TASKS).json()["result"]["taskId"]
    for method in ("tasks/get", "tasks/cancel"):
        reply = bob.post_modern(request(1, method, {"taskId": task}), TASKS).json()
        assert reply["error"]["code"] == -32602

    def status() -> str:
        found = alice.post_modern(request(1, "tasks/get", {"taskId": task}), TASKS)
        return found.json()["result"]["status"]

    assert status() == "working"
    until(lambda: status() == "completed")


def test_nobody_hears_of_the_tasks_of_others(alice: Peer, bob: Peer) -> None:
    tasks = [
        one.post_modern(call(1, "long-work", seconds=seconds), TASKS).json()["result"]["taskId"]
        for one, seconds in ((alice, 3), (bob, 5))
    ]
    wanted = request("listening", "subscriptions/listen", {"notifications": {"taskIds": tasks}})
    listen = modern(wanted, TASKS)
    heard = ""
    fields = headers(listen) | EVENTS
    with bob.http.stream("POST", "/mcp", json=listen, headers=fields) as response:
        for piece in response.iter_text():
            heard += piece
            if "the secret of bob" in heard:
                break
    assert "the secret of alice" not in heard
