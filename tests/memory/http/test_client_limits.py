"""What one caller may not do to the others: too much, too often, too large, too slowly."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import SettingsError
from clawkit.memory import tokens
from clawkit.memory.http import authentication
from clawkit.memory.http.authentication import RequestLimits
from clawkit.memory.store import notes
from clawkit.wire.http.uvicorn_server import HttpLimits
from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import Served, served
from tests.processes import PATIENCE

NEVER = 1e-6
"""A rate at which nothing comes back within a test."""
WRONG = "brt_" + "x" * 43


def test_a_token_that_asks_too_much_waits_and_others_do_not(tmp_path: Path) -> None:
    with served(store_at(tmp_path), RequestLimits(rate=0.01, burst=3)) as server:
        greedy, other = server.token(), server.token()
        assert [server.ask(greedy, "tools/list").status_code for _ in range(3)] == [200] * 3
        refused = server.ask(greedy, "tools/list")
        assert refused.status_code == 429
        assert 90 <= int(refused.headers["retry-after"]) <= 100
        assert "Too many requests" in refused.json()["error"]["message"]
        assert server.ask(other, "tools/list").status_code == 200
        assert "clawkit_being_rate_limited_total 1" in server.http.get("/metrics").text


def test_an_address_that_guesses_is_locked_out_and_good_tokens_behind_it_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "READ_EVERY", 0.05)
    limits = RequestLimits(failures=3, failures_a_minute=NEVER)
    with served(store_at(tmp_path), limits) as server:
        known, unused = server.token(), server.token()
        revoked, reader = server.token(), server.token(scope="read-only")
        assert server.ask(known, "tools/list").status_code == 200
        with server.store.database.registry(write=True) as connection:
            (_, dead, _) = tokens.by_hash(connection, tokens.digest(revoked)) or ("", None, None)
            assert dead is not None
            tokens.revoke(connection, dead.id, 1.0)
        guesses = [server.ask(f"{WRONG}{n}", "tools/list").status_code for n in range(4)]
        assert guesses == [401, 401, 401, 429]
        for good in (known, unused, reader):
            assert server.ask(good, "tools/list").status_code == 200
        # One that is made during the lock-out waits until the good ones are read again.
        assert server.ask(server.token(), "tools/list").status_code == 200
        refused = server.ask(revoked, "tools/list")
        assert (refused.status_code, "retry-after" in refused.headers) == (429, True)


def test_guesses_of_a_locked_address_are_looked_for_together_and_few_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    whole, others_refused = tokens.good_hashes, threading.Event()

    def good_hashes(*given: Any) -> list[str]:
        reads.append(1)
        assert len(reads) == 1 or others_refused.wait(PATIENCE)
        return whole(*given)

    monkeypatch.setattr(tokens, "good_hashes", good_hashes)
    monkeypatch.setattr(authentication, "READ_EVERY", 0.0)
    monkeypatch.setattr(authentication, "MOST_WAITING", 5)
    limits = RequestLimits(failures=1, failures_a_minute=NEVER)
    with served(store_at(tmp_path), limits) as server:
        good = server.token()
        assert server.ask(WRONG, "tools/list").status_code == 401
        assert server.ask(good, "tools/list").status_code == 200
        with ThreadPoolExecutor(20) as pool:
            asked = [pool.submit(server.ask, f"{WRONG}{n}", "tools/list") for n in range(20)]
            for _ in islice(as_completed(asked, PATIENCE), 15):
                assert not others_refused.is_set()
            others_refused.set()
            assert [one.result().status_code for one in asked] == [429] * 20
        assert len(reads) == 2


def test_asking_without_a_token_is_no_guess(tmp_path: Path) -> None:
    with served(store_at(tmp_path), RequestLimits(failures=1, failures_a_minute=NEVER)) as server:
        for _ in range(5):
            assert server.http.post(server.path).status_code == 401
        assert server.ask(server.token(), "tools/list").status_code == 200


def test_a_message_of_four_megabytes_is_taken_and_a_larger_one_is_not(server: Served) -> None:
    token = server.token()
    room = RequestLimits().body - 200
    assert server.call(token, "recall", {"user_message": "x" * room}).status_code == 200
    refused = server.call(token, "recall", {"user_message": "x" * (room + 500)})
    assert refused.status_code == 413
    assert "at most 4194304 bytes" in refused.json()["error"]["message"]


def test_a_body_of_unknown_length_has_the_same_limit(server: Served) -> None:
    headers = {
        "authorization": f"Bearer {server.token()}",
        "content-type": "application/json",
    }
    parts = (b" " * 65536 for _ in range(100))
    response = server.http.post(server.path, content=parts, headers=headers)
    assert response.status_code == 413


def test_without_a_token_no_body_is_read(server: Served) -> None:
    with connected(server) as raw:
        raw.sendall(head(server, WRONG, "content-length: 4000000"))
        assert raw.recv(100).startswith(b"HTTP/1.1 401 ")


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    with served(store_at(tmp_path), RequestLimits(http=HttpLimits(body_seconds=0.2))) as server:
        with connected(server) as raw:
            raw.sendall(head(server, server.token(), "content-length: 100") + b'{"json')
            answer = received(raw)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"took longer than 0.2 s" in answer


@pytest.mark.parametrize(
    "headers",
    [
        [b"x-long: " + b"a" * 1_000_000],
        [b"x-%d: %s" % (n, b"a" * 1000) for n in range(200)],
    ],
    ids=["one", "many"],
)
def test_a_huge_head_is_refused(server: Served, headers: list[bytes]) -> None:
    sent = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + b"\r\n".join(headers) + b"\r\n\r\n"
    with connected(server) as raw:
        # It may be refused, and the connection closed, before all of it is sent.
        sending = threading.Thread(target=send_what_goes, args=(raw, sent))
        sending.start()
        answer = b""
        with suppress(ConnectionResetError):
            answer = raw.recv(100)
        sending.join(PATIENCE)
    assert answer[:12] in (b"", b"HTTP/1.1 431")
    assert server.http.get("/healthz").status_code == 200


def test_a_long_address_is_refused(server: Served) -> None:
    with connected(server) as raw:
        raw.sendall(b"GET /mcp/" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert raw.recv(12) == b"HTTP/1.1 431"


@pytest.mark.slow
def test_two_hundred_at_once_are_all_answered(server: Served) -> None:
    tokens = [server.token(label=str(n)) for n in range(10)]

    def write(n: int) -> int:
        note = {"notes": [f"note {n}"]}
        return server.call(tokens[n % 10], "update_notes", note).status_code

    with ThreadPoolExecutor(200) as pool:
        assert list(pool.map(write, range(400))) == [200] * 400
    with server.store.database.read(server.being.n) as unit:
        kept = {note.text for note in notes.waiting(unit, "note")}
    assert kept == {f"note {n}" for n in range(400)}


def test_a_client_that_does_not_read_keeps_nobody_waiting(server: Served) -> None:
    token = server.token()
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    ask = head(server, token, f"content-length: {len(body)}") + body
    with connected(server) as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.setblocking(False)
        for _ in range(200):
            try:
                raw.send(ask)
            except BlockingIOError:
                break
        assert server.ask(token, "tools/list").status_code == 200


def test_limits_that_make_no_sense_are_refused() -> None:
    for wrong in ({"rate": -1}, {"burst": 0}, {"body": 0}, {"failures": 0}):
        with pytest.raises(SettingsError):
            RequestLimits(**wrong)  # pyright: ignore[reportArgumentType]


def connected(server: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), PATIENCE)


def head(server: Served, token: str, more: str) -> bytes:
    lines = (
        f"POST {server.path} HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        f"authorization: Bearer {token}",
        more,
    )
    return "\r\n".join((*lines, "", "")).encode()


def received(raw: socket.socket) -> bytes:
    """A whole answer: head and body."""
    found = b""
    while b"}}" not in found:
        part = raw.recv(65536)
        if not part:
            break
        found += part
    return found


def send_what_goes(raw: socket.socket, data: bytes) -> None:
    try:
        raw.sendall(data)
    except OSError:
        return


def test_a_token_cannot_take_all_connections_with_streams(tmp_path: Path) -> None:
    with served(store_at(tmp_path), RequestLimits(at_once=2)) as server, ExitStack() as streams:
        greedy, other = server.token(scope="read-only"), server.token()
        heads = {"authorization": f"Bearer {greedy}", "accept": "text/event-stream"}
        for _ in range(2):
            opened = streams.enter_context(server.http.stream("GET", server.path, headers=heads))
            assert opened.status_code == 200
        refused = server.http.get(server.path, headers=heads)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert server.ask(other, "tools/list").status_code == 200
        streams.close()
        deadline = time.monotonic() + PATIENCE
        while server.ask(greedy, "tools/list").status_code != 200:
            assert time.monotonic() < deadline
