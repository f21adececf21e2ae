"""A Being elsewhere that answers with anything: the caller hears one clear error."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from clawkit.assistant.memory.backend import TurnMessage
from clawkit.assistant.memory.remote_backend import RemoteMemory
from clawkit.errors import BeingError
from clawkit.memory.remote_being import RemoteBeing

OK = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ok"}]}}'


@contextmanager
def answering(*answers: bytes, status: int = 200) -> Iterator[tuple[RemoteBeing, list[bytes]]]:
    """A server that gives these answers in turn, the last of them again and again."""
    left, asked = list(answers), list[bytes]()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["content-length"])))
            body = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    remote = RemoteBeing(f"http://127.0.0.1:{server.server_port}/mcp", "brt_secret")
    try:
        yield remote, asked
    finally:
        remote.close()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"<html>",
        b"\xff\xfe",
        b'{"error":"no"}',
        b'{"error":{"message":5}}',
        b'{"result":[]}',
        b'{"result":{"content":"x"}}',
        b'{"result":{"content":["x"]}}',
        b'{"result":{"content":[{"text":{}}]}}',
        b'{"result":' + b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("status", [200, 403, 500])
def test_what_is_no_answer_is_said(body: bytes, status: int) -> None:
    with answering(body, status=status) as (remote, _):
        with pytest.raises(BeingError, match=str(status)) as caught:
            remote.call("recall", {"user_message": "x"})
        assert "brt_secret" not in str(caught.value)


def test_what_could_not_be_sent_is_sent_later_and_in_parts() -> None:
    said = tuple(TurnMessage("user", f"message {n}", 0.0) for n in range(250))
    with answering(b"{}", OK) as (remote, asked):
        being = RemoteMemory(remote)
        with pytest.raises(BeingError):
            being.keep(said, "one")
        being.keep(said[:1], "two")
        being.close()
    first, *sent = asked
    assert b"message 199" in first
    assert [one.count(b'"role"') for one in sent] == [200, 50, 1]


def test_what_can_never_be_sent_does_not_grow_for_ever() -> None:
    said = tuple(TurnMessage("user", "x", 0.0) for _ in range(900))
    with answering(b"{}", b"{}", b"{}", b"{}", OK) as (remote, asked):
        being = RemoteMemory(remote)
        for _ in range(4):
            with pytest.raises(BeingError):
                being.keep(said, "one")
        being.close()
    assert sum(one.count(b'"role"') for one in asked[4:]) == 2_000


def test_a_being_that_never_answers_is_said_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        remote = RemoteBeing(url, "brt_secret", timeout=0.25)
        with closing(remote), pytest.raises(BeingError, match=r"did not answer within 0\.25 s"):
            remote.call("recall", {"user_message": "x"})
