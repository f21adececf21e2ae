"""The victim believes anything and writes down everything."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.guard.selftest import victim
from tests.processes import PATIENCE, StdioServer, stdio_server


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def server(journal: Path) -> Iterator[StdioServer]:
    assert victim.__file__
    with stdio_server(sys.executable, "-I", "-S", victim.__file__, str(journal)) as started:
        yield started


def call(server: StdioServer, tool: str, **arguments: object) -> str:
    reply = server.call("tools/call", {"name": tool, "arguments": arguments})
    return reply["result"]["content"][0]["text"]


def act(server: StdioServer, do: str, data: bytes = b"", **more: object) -> str:
    return call(server, "act", do=do, data=base64.b64encode(data).decode(), **more)


BELIEVED = {
    "batch": b'[{"id": 1, "method": "ping"}]',
    "no version": b'{"id": 1, "method": "ping"}',
    "byte order mark": b'\xef\xbb\xbf{"id": 1, "method": "ping"}',
    "duplicate keys": b'{"id": 7, "id": 1, "method": "x", "method": "ping"}',
    "another case": b'{"id": 1, "Method": "ping"}',
    "nan": b'{"id": 1, "method": "ping", "params": {"a": NaN}}',
    "invalid utf-8": b'{"id": 1, "method": "ping", "params": {"a": "\xff"}}',
    "second on a line": b'{"method": "x"} {"id": 1, "method": "ping"}',
    "after a carriage return": b'{"method": "x"}\r{"id": 1, "method": "ping"}',
}


@pytest.mark.parametrize("line", BELIEVED.values(), ids=BELIEVED.keys())
def test_it_answers_what_no_server_should(server: StdioServer, journal: Path, line: bytes) -> None:
    server.write(line + b"\n")
    assert server.receive()["id"] == 1
    assert journal.read_bytes() == line.replace(b"\r", b"\n") + b"\n"


@pytest.mark.parametrize("spelling", ["{}", "file://{}", "%2F{}", "\\{}"])
def test_it_reads_any_file_however_it_is_written(
    server: StdioServer, tmp_path: Path, spelling: str
) -> None:
    (tmp_path / "file.txt").write_text("what is inside")
    (tmp_path / "link").symlink_to("file.txt")
    assert call(server, "read_file", any=[spelling.format(tmp_path / "link")]) == "what is inside"


def test_it_writes_what_it_is_told_with_the_id_of_the_call(server: StdioServer) -> None:
    act(server, "write", b'{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"text":"x"}]}}')
    assert server.receive()["result"]["content"][0]["text"] == "written"


def test_it_lists_what_it_is_told_until_it_is_told_otherwise(server: StdioServer) -> None:
    before = server.call("tools/list")["result"]["tools"]
    act(server, "set", json.dumps({"tools": []}).encode(), method="tools/list")
    assert server.call("tools/list")["result"]["tools"] == []
    act(server, "set", method="tools/list")
    assert server.call("tools/list")["result"]["tools"] == before


def test_it_answers_held_calls_when_they_are_released(server: StdioServer) -> None:
    held = {"name": "act", "arguments": {"do": "hold"}}
    server.send({"jsonrpc": "2.0", "id": 41, "method": "tools/call", "params": held})
    server.send(
        {
            "jsonrpc": "2.0",
            "id": 42,
            "method": "tools/call",
            "params": {"name": "act", "arguments": {"do": "release"}},
        }
    )
    assert [server.receive()["id"], server.receive()["id"]] == [41, 42]


def test_it_ends_with_the_status_it_is_told(server: StdioServer) -> None:
    end = {"name": "act", "arguments": {"do": "exit", "status": 7}}
    server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": end})
    assert server.process.wait(PATIENCE) == 7


def test_of_a_long_line_it_keeps_both_ends(server: StdioServer, journal: Path) -> None:
    server.write(b"begin" + b"x" * 1_000_000 + b"end\n")
    server.call("ping")
    kept = journal.read_bytes().split(b"\n")[0]
    assert len(kept) < 200_000
    assert kept.startswith(b"begin")
    assert kept.endswith(b"end")


def test_it_speaks_both_eras(server: StdioServer) -> None:
    legacy = server.call("initialize", {"protocolVersion": "2025-06-18"})["result"]
    assert legacy["protocolVersion"] == "2025-06-18"
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    modern = server.call("server/discover", {"_meta": meta})["result"]
    assert modern["resultType"] == "complete"
