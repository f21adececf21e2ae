"""Whatever a client posts: a status and a JSON-RPC error where they are due, and life goes on.
Everything goes to a real uvicorn over real sockets.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import psutil
import pytest

from clawkit.wire.http.endpoint import MAX_BODY
from tests.processes import http_server
from tests.wire.samples.messages import (
    DAMAGED,
    GARBAGE,
    MARK,
    MODERN,
    PING,
    SAMPLES,
    Message,
    call,
    line,
    modern,
    notification,
    request,
    text,
)
from tests.wire.samples.peers import Peer

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def peer(address: str) -> Iterator[Peer]:
    """A client whose server must be alive after the test."""
    with Peer(address) as found:
        yield found
        assert text(ask(found, call("last", "echo", text="alive"))) == "alive"


def ask(peer: Peer, message: Message) -> Any:
    """The reply to a message of the handshake era."""
    return peer.post(message).json()


def refused(response: httpx2.Response, status: int, code: int, id: Any = None) -> str:
    """The words of an error that is to have this status, this code and this id."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    reply = response.json()
    assert reply["error"]["code"] == code
    assert reply["id"] == id
    return reply["error"]["message"]


def head(*fields: str) -> bytes:
    """The first part of a request, up to its body."""
    lines = ("POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json", *fields)
    return "\r\n".join([*lines, "", ""]).encode()


def status_of(connection: socket.socket) -> int:
    """The status of the response that arrives, or 0 when the server just hangs up."""
    with connection.makefile("rb") as stream:
        return int((stream.readline().split() or [b"", b"0"])[1])


def test_what_is_not_json_is_a_parse_error_with_no_id(peer: Peer) -> None:
    for garbage in [*GARBAGE.values(), b"", b" ", b"\n"]:
        refused(peer.http.post("/mcp", content=garbage, headers=JSON), 400, -32700)


def test_a_parse_error_has_the_id_where_that_can_be_read(peer: Peer) -> None:
    for damaged in DAMAGED.values():
        refused(peer.http.post("/mcp", content=damaged, headers=JSON), 400, -32700, 1)


def test_a_byte_order_mark_before_a_message_is_overlooked(peer: Peer) -> None:
    assert peer.http.post("/mcp", content=MARK + PING, headers=JSON).json()["result"] == {}


def test_json_nested_a_hundred_thousand_levels_deep_is_refused(peer: Peer) -> None:
    for opening, ending in ((b"[", b"]"), (b'{"a":', b"1}"), (b'{"id":1,"params":', b"}")):
        for body in (opening * 100_000, opening * 100_000 + ending * 100_000):
            refused(peer.http.post("/mcp", content=body, headers=JSON), 400, -32700)


def test_a_batch_is_refused_in_every_revision(peer: Peer) -> None:
    one, told = request(1, "ping"), notification("notifications/initialized")
    revisions = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
    for revision in revisions:
        batches: list[list[Any]] = [[], [1, 2], [one], [one, modern(one)], [told]]
        for batch in batches:
            response = peer.post(batch, MCP_Protocol_Version=revision)
            assert "batch" in refused(response, 400, -32600)


def test_a_message_of_wrong_types_is_refused_under_its_id_if_it_has_one(
    peer: Peer,
) -> None:
    ping = request(7, "ping")
    for id in (None, True, 1.5, 1.0, {}, [1]):
        refused(peer.post({**ping, "id": id}), 400, -32600)
    for params in ([], [1], None, "text", 5):
        refused(peer.post({**ping, "params": params}), 400, -32600, 7)
    for method in (5, None, [], {}):
        refused(peer.post({**ping, "method": method}), 400, -32600, 7)
    for version in ("1.0", 2.0, None, ["2.0"]):
        refused(peer.post({**ping, "jsonrpc": version}), 400, -32600, 7)
    refused(peer.post({"id": 7, "method": "ping"}), 400, -32600, 7)
    for value in (None, True, 1, "ping"):
        refused(peer.http.post("/mcp", content=json.dumps(value), headers=JSON), 400, -32600)


def test_an_unknown_tool_is_an_error_of_the_request(peer: Peer) -> None:
    names: list[Any] = ["nobody", "", "x" * 10_000, None, 5, ["echo"], {"echo": 1}]
    for name in names:
        wanted = request(1, "tools/call", {"name": name, "arguments": {}})
        assert ask(peer, wanted)["error"]["code"] == -32602
        said = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call"}
        if isinstance(name, str):
            said["Mcp-Name"] = name
        response = peer.http.post("/mcp", json=modern(wanted), headers=said)
        assert response.status_code in (200, 400)
        assert response.json()["error"]["code"] == -32602
        assert response.json()["id"] == 1


def test_arguments_that_are_no_object_are_an_error_of_the_request(peer: Peer) -> None:
    for tool in ("echo", "place"):
        for arguments in ("text", 5, [1], [{"text": "a"}]):
            wanted = request(1, "tools/call", {"name": tool, "arguments": arguments})
            assert ask(peer, wanted)["error"]["code"] == -32602
            assert peer.post_modern(wanted).json()["error"]["code"] == -32602


def test_invalid_arguments_are_a_text_for_the_model_that_names_them(peer: Peer) -> None:
    wanted = call(1, "add", a=1, b="2")
    for reply in (ask(peer, wanted), peer.post_modern(wanted).json()):
        assert reply["result"]["isError"] is True
        assert text(reply).startswith("Invalid arguments for add: b: ")


def test_every_string_and_every_integer_is_an_id(peer: Peer) -> None:
    for id in (0, -1, 2**64, 10**399, "", "ключ\0\n", "x" * 10_000):
        assert ask(peer, call(id, "echo", text="a"))["id"] == id
        assert peer.post_modern(request(id, "tools/list")).json()["id"] == id


def test_text_of_every_kind_comes_back_as_it_was(peer: Peer) -> None:
    for said in ("", "\0", "a\r\nb\u2028c\x85d\n\ndata: x", "🦀 ключ \ufeff \uffff", '"\\/\b\f\t'):
        assert text(ask(peer, call(1, "echo", text=said))) == said


def test_a_body_over_the_limit_is_refused_before_it_is_sent(peer: Peer) -> None:
    for length in (MAX_BODY + 1, 10**15):
        with peer.connect() as connection:
            connection.sendall(head(f"Content-Length: {length}"))
            assert status_of(connection) == 413
    assert ask(peer, request(1, "ping"))["result"] == {}


def test_a_body_that_grows_over_the_limit_is_refused(peer: Peer) -> None:
    chunk = b"100000\r\n" + b"x" * 2**20 + b"\r\n"
    with peer.connect() as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        for _ in range(MAX_BODY // 2**20 + 1):
            connection.sendall(chunk)
        assert status_of(connection) == 413
    assert ask(peer, request(1, "ping"))["result"] == {}


def test_a_body_of_ten_megabytes_is_answered(peer: Peer) -> None:
    said = "x" * 10_000_000
    assert text(ask(peer, call(1, "echo", text=said))) == said


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"hello\r\n\r\n", id="no HTTP"),
        pytest.param(line(request(1, "ping")), id="a line of the stdio door"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(head("Content-Length: many"), id="a length that is no number"),
        pytest.param(head("Content-Length: -1"), id="a negative length"),
        pytest.param(head("Transfer-Encoding: chunked") + b"zz\r\n{}\r\n", id="no chunk size"),
        pytest.param(
            head("Transfer-Encoding: chunked") + b"2\r\n" + PING + b"\r\n0\r\n\r\n",
            id="a chunk longer than it says",
        ),
    ],
)
def test_broken_http_is_refused(peer: Peer, sent: bytes) -> None:
    with peer.connect() as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert status_of(connection) in (0, 400)
    assert ask(peer, request(1, "ping"))["result"] == {}


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"POST /mcp HT", id="half a request line"),
        pytest.param(head()[:-10], id="half a head"),
        pytest.param(head("Content-Length: 100") + b'{"jsonrpc"', id="half a body"),
        pytest.param(head("Transfer-Encoding: chunked") + b'a\r\n{"json', id="half a chunk"),
    ],
)
def test_half_a_request_holds_nobody_up_and_may_end_at_any_time(peer: Peer, sent: bytes) -> None:
    connections = [peer.connect() for _ in range(50)]
    for connection in connections:
        connection.sendall(sent)
    assert text(ask(peer, call(1, "echo", text="not held up"))) == "not held up"
    for connection in connections:
        connection.close()


def test_a_message_may_arrive_byte_by_byte(peer: Peer) -> None:
    with peer.connect() as connection:
        for byte in head(f"Content-Length: {len(PING)}") + PING:
            connection.send(bytes([byte]))
        assert status_of(connection) == 200
    assert ask(peer, request(1, "ping"))["result"] == {}


def test_two_requests_may_arrive_in_one_write(peer: Peer) -> None:
    one = head(f"Content-Length: {len(PING)}") + PING
    with peer.connect() as connection:
        connection.sendall(one + head(f"Content-Length: {len(PING)}", "Connection: close") + PING)
        with connection.makefile("rb") as stream:
            assert stream.read().count(b'"result":{}') == 2
    assert ask(peer, request(1, "ping"))["result"] == {}


def test_one_id_may_be_in_flight_twice_where_there_are_no_sessions(peer: Peer) -> None:
    with ThreadPoolExecutor(10) as pool:
        slow = [call(1, "wait", seconds=0.3, note=str(number)) for number in range(10)]
        found = [text(reply) for reply in pool.map(lambda one: ask(peer, one), slow)]
    assert found == [str(number) for number in range(10)]


def test_responses_and_notifications_that_nobody_waits_for_are_taken(peer: Peer) -> None:
    error = {"code": -32700, "message": "Parse error"}
    for message in (
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "unknown", "error": error},
        {"jsonrpc": "2.0", "error": error},
        {"jsonrpc": "2.0", "id": None, "error": error},
        notification("notifications/unknown"),
        notification("notifications/cancelled", {"requestId": {"a": 1}}),
        notification("tools/call", {"name": "leave"}),
        modern(notification("notifications/unknown")),
    ):
        response = peer.post(message)
        assert (response.status_code, response.content) == (202, b"")


@pytest.mark.parametrize("tool", ["leave", "leave-at-once", "give-up"])
def test_a_tool_that_ends_itself_is_answered_and_does_not_end_the_server(tool: str) -> None:
    with http_server(SAMPLES / "workshop.py") as address, Peer(address) as peer:
        reply = ask(peer, call(1, tool))
        assert reply["result"]["isError"] if "result" in reply else reply["error"]["code"] == -32603
        assert text(ask(peer, call(2, "echo", text="alive"))) == "alive"


def test_a_client_that_never_reads_its_events_costs_little_memory() -> None:
    body = line(call(1, "report", {"progressToken": 1}, count=300_000, size=1000))
    with http_server(SAMPLES / "workshop.py") as address, Peer(address) as peer:
        port = peer.http.base_url.port
        server = next(
            child
            for child in psutil.Process().children()
            if any(found.laddr.port == port for found in child.net_connections())
        )
        with peer.connect() as connection:
            accept = "Accept: text/event-stream, application/json"
            connection.sendall(head(accept, f"Content-Length: {len(body)}") + body)
            assert text(ask(peer, call(2, "echo", text="alive"))) == "alive"
            assert server.memory_info().rss < 200_000_000
