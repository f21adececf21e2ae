"""The server as a process: how it starts, how it goes, and that its log is never in the way."""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from clawkit.errors import LoadError
from clawkit.memory.http.app import serve
from clawkit.memory.store import notes
from tests.memory.http.being_store import store_at
from tests.memory.http.process import BeingProcess, being_process
from tests.processes import PATIENCE

KEYWORDS = ("--embedder", "none")


@pytest.fixture
def being(tmp_path: Path) -> Iterator[BeingProcess]:
    with being_process(tmp_path, *KEYWORDS) as found:
        yield found


def noting(being: BeingProcess, text: str) -> tuple[bytes, bytes]:
    """The head and the body of a request that notes something."""
    params = {"name": "update_notes", "arguments": {"notes": [text]}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    lines = (
        f"POST /mcp/{being.id} HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        f"authorization: Bearer {being.full}",
        f"content-length: {len(body)}",
        "expect: 100-continue",
    )
    return "\r\n".join((*lines, "", "")).encode(), body


def until(raw: socket.socket, mark: bytes) -> bytes:
    found = b""
    while mark not in found:
        part = raw.recv(65536)
        assert part, found
        found += part
    return found


def test_what_was_begun_is_answered_after_sigterm(being: BeingProcess, tmp_path: Path) -> None:
    place = urlsplit(being.url)
    assert place.port is not None
    begun: list[tuple[socket.socket, bytes]] = []
    for n in range(10):
        raw = socket.create_connection((place.hostname, place.port), PATIENCE)
        head, body = noting(being, f"begun {n}")
        raw.sendall(head)
        until(raw, b"100 Continue")
        begun.append((raw, body))
    being.process.send_signal(signal.SIGTERM)
    for raw, body in begun:
        raw.sendall(body)
        assert b"200 OK" in until(raw, b'\\"ok\\"')
        raw.close()
    being.process.wait(PATIENCE)
    store = store_at(tmp_path)
    with store.database.read(store.find("Ada").n) as unit:
        kept = {note.text for note in notes.waiting(unit, "note")}
    store.close()
    assert kept == {f"begun {n}" for n in range(10)}


def test_open_streams_and_bridges_end_cleanly_at_sigterm(being: BeingProcess) -> None:
    headers = {"authorization": f"Bearer {being.full}"}
    bridge = being.mcp.replace("http://", "ws://").replace("/mcp/", "/bridge/")
    with (
        httpx2.Client(timeout=PATIENCE) as client,
        connect(bridge, additional_headers=headers) as device,
        client.stream("GET", being.mcp, headers={**headers, "accept": "text/event-stream"}) as got,
    ):
        assert got.status_code == 200
        being.process.send_signal(signal.SIGTERM)
        # A stream that is cut off instead of ended raises here.
        assert b"".join(got.iter_bytes()).strip(b":\n") == b""
        with pytest.raises(ConnectionClosed) as caught:
            device.recv(PATIENCE)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1012
    being.process.wait(PATIENCE)


def test_a_log_that_nobody_reads_does_not_stop_the_server(tmp_path: Path) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with (
        being_process(tmp_path, *KEYWORDS, "--rate", "0", read_log=False) as being,
        httpx2.Client(
            timeout=PATIENCE, headers={"authorization": f"Bearer {being.full}"}
        ) as client,
    ):
        # Some 200 bytes each: several times what a pipe holds.
        for _ in range(1500):
            assert client.post(being.mcp, json=message).status_code == 200


def test_every_line_of_the_log_is_json(tmp_path: Path) -> None:
    with being_process(tmp_path, *KEYWORDS, read_log=False) as being:
        lines: list[str] = []
        reading = threading.Thread(target=lambda: lines.extend(being.stderr), daemon=True)
        reading.start()
        headers = {"authorization": f"Bearer {being.full}", "x-request-id": "one"}
        httpx2.delete(being.mcp, headers=headers)
        with socket.create_connection(("127.0.0.1", urlsplit(being.url).port or 0)) as raw:
            raw.sendall(b"this is no HTTP\r\n\r\n")
            raw.recv(100)
        being.process.terminate()
        being.process.wait(PATIENCE)
        reading.join(PATIENCE)
    logged = [json.loads(line) for line in lines[lines.index(_first(lines)) :]]
    assert [line.get("request") for line in logged if "request" in line] == ["one"]
    assert being.full not in "".join(lines)


def _first(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith('{"time"'))


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(LoadError, match="cannot listen"),
    ):
        serve(store, port=taken.getsockname()[1])
    store.close()
