"""What the reverse proxy refuses by itself: nothing of it reaches the server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from clawkit.wire.revisions import META_CAPABILITIES, META_VERSION, MODERN
from tests.guard.guarded_server import ALLOW_ALL
from tests.guard.http.worlds import Script, obliging, reverse_proxy
from tests.processes import PATIENCE

POLICY = "[limits]\nmessage = 20000\n" + ALLOW_ALL
PARAMS = {"name": "t", "arguments": {"path": "/ok", "note": "elsewhere in the arguments"}}
CALL: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": PARAMS}


class World:
    """A proxy, the server behind it, and a client that is not polite."""

    def __init__(self, script: Script, address: str) -> None:
        self.script = script
        self.address = address
        self.http = httpx2.Client(timeout=PATIENCE, trust_env=False)

    def post(self, body: Any = None, **headers: str) -> httpx2.Response:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, bytes):
            fields = {"content-type": "application/json"} | fields
            return self.http.post(self.address, content=body, headers=fields)
        return self.http.post(self.address, json=body or CALL, headers=fields)

    def raw(self, head: str, body: bytes = b"") -> bytes:
        """The first bytes of the answer to a request that no library would send."""
        host, port = self.address.split("/")[2].split(":")
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            text = f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{head}"
            connection.sendall(text.encode() + b"\r\n" + body)
            return connection.recv(64)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("rules")
    home = str(folder / "home")
    with (
        Script(obliging) as script,
        reverse_proxy(script.address, folder, POLICY, CLAW_HOME=home, HOME=home) as address,
    ):
        world = World(script, address)
        with world.http:
            yield world


@pytest.fixture
def world(shared: World) -> Iterator[World]:
    """Nothing that a test sends arrives, and the next call works as ever."""
    shared.script.heard.clear()
    yield shared
    assert shared.script.heard == []
    assert shared.post().json()["result"] == {"asked": "tools/call"}


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example.org"},
        {"host": "localhost.evil.example.org"},
        {"origin": "https://evil.example.org"},
        {"origin": "null"},
        {"origin": "file://"},
    ],
    ids=str,
)
def test_a_web_page_elsewhere_is_refused(world: World, headers: dict[str, str]) -> None:
    response = world.post(**headers)
    assert response.status_code == 403
    assert "not allowed" in response.json()["error"]["message"]


def test_only_its_own_paths_and_methods_are_served(world: World) -> None:
    assert world.http.post(world.address + "/more", json=CALL).status_code == 404
    assert world.http.post(world.address + "/../admin", json=CALL).status_code == 404
    assert world.http.put(world.address, json=CALL).status_code == 405
    assert world.http.post(world.address.replace("/mcp", "/claw-messages/0"), json=CALL).is_error


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": "text/plain"}, 415),
        ({"content_type": ""}, 415),
        ({"content_encoding": "gzip"}, 415),
        ({"content_type": "application/json; charset=utf-7"}, 415),
        ({"content_type": 'application/json;charset="UTF-16"'}, 415),
        ({"content_type": "application/json; charset=utf-8; charset=utf-7"}, 415),
    ],
    ids=str,
)
def test_what_is_not_plain_json_is_refused(
    world: World, headers: dict[str, str], status: int
) -> None:
    assert world.post(b"{}", **headers).status_code == status


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', -32700),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","Name":"x"}}',
            -32600,
        ),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}', -32700),
        (b"[" * 10_000, -32700),
        (b'{"jsonrpc":"2.0","id":[1],"error":{}}', -32600),
    ],
    ids=[
        *("half", "empty", "none", "batch", "twice", "case", "null", "nan", "utf-8", "deep"),
        "answer to a list",
    ],
)
def test_what_can_be_read_in_two_ways_or_none_is_refused(
    world: World, body: bytes, code: int
) -> None:
    response = world.post(body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, code)


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(world: World) -> None:
    large = {**CALL, "params": {"name": "t", "arguments": {"x": "y" * 30_000}}}
    assert world.post(large).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 1000

    headers = {"content-type": "application/json"}
    response = world.http.post(world.address, content=pieces(), headers=headers)
    assert response.status_code == 413


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Content-Length : 5\r\n",
        "Content-Length: +5\r\n",
        "X: y\r\n Content-Length: 5\r\n",
        "Host: localhost\r\nContent-Length: 2\r\n",
        "Mcp-Name: t\r\nMcp-Name: u\r\nContent-Length: 2\r\n",
        "Authorization: a\r\nAuthorization: b\r\nContent-Length: 2\r\n",
    ],
    ids=[
        *("two lengths", "a list of lengths", "length and chunks", "chunks and length"),
        *("unknown coding", "chunks not last", "space before colon", "signed", "folded"),
        *("two hosts", "two names", "two credentials"),
    ],
)
def test_a_request_whose_end_or_meaning_is_unclear_is_refused(world: World, head: str) -> None:
    answer = world.raw(head, b"0\r\n\r\nGET /admin HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.split()[1] in (b"400", b"411", b"501"), answer


MODERN_CALL: dict[str, Any] = {
    **CALL,
    "params": {**CALL["params"], "_meta": {META_VERSION: MODERN, META_CAPABILITIES: {}}},
}


CONTRADICTIONS = [
    ("mcp_method", "tools/list"),
    ("mcp_name", "harmless"),
    ("mcp_name", "=?base64?aGFybWxlc3M=?="),
    ("mcp_param_path", "/etc/passwd"),
    ("mcp_param_path", "elsewhere in the arguments"),
]


@pytest.mark.parametrize(
    ("message", "header", "value"),
    [
        *((CALL, *contradiction) for contradiction in CONTRADICTIONS),
        *((MODERN_CALL, *contradiction) for contradiction in CONTRADICTIONS),
        (MODERN_CALL, "mcp_protocol_version", "2025-11-25"),
    ],
)
def test_a_header_that_contradicts_the_body_is_refused(
    world: World, message: Any, header: str, value: str
) -> None:
    response = world.post(message, **{header: value})
    assert response.status_code == 400
    assert (response.json()["id"], response.json()["error"]["code"]) == (1, -32020)


def test_an_empty_place_is_a_clear_error_at_the_start(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="http:// or https://"),
        reverse_proxy("ftp://h/", tmp_path),
    ):
        pass
