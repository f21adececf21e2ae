"""Memory servers as they are really run, and a client that asks them over one connection."""

from __future__ import annotations

import hashlib
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.contenders import ROOT
from benchmarks.measure import Child, ChildFailed, Command, running
from benchmarks.messages import WrongReply

PEER = "mcp-memory-service"
PEER_PYTHON = ROOT / "build" / "memory-peer" / "bin" / "python"
PEER_FOLDERS = ROOT / "build" / "memory-peer-filled"
PEER_SCRIPT = ROOT / "benchmarks" / "peers" / "memory_service.py"
CLAW = ROOT / ".venv" / "bin" / "claw"

_PATIENCE = 120.0
_IDLE = 2.0
"""Seconds after which a new connection is made: servers close one that nobody uses."""

_PROTOCOL = "2025-06-18"
_HERE = "127.0.0.1"


class Client:
    """MCP over Streamable HTTP on one kept connection; every answer is checked."""

    def __init__(self, port: int, path: str = "/mcp", token: str = "") -> None:
        self._connection = http.client.HTTPConnection(_HERE, port, timeout=_PATIENCE)
        self._path = path
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _PROTOCOL,
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._number = 0
        self._used = time.monotonic()

    def call(self, tool: str, **arguments: Any) -> str:
        """The text that a tool answers with."""
        self._number += 1
        if time.monotonic() - self._used > _IDLE:
            self._connection.close()
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        self._connection.request("POST", self._path, json.dumps(message), self._headers)
        response = self._connection.getresponse()
        body = response.read()
        self._used = time.monotonic()
        return text_of(response.status, body)

    def timed(self, tool: str, **arguments: Any) -> tuple[float, str]:
        """The seconds until the whole answer is there, and the answer."""
        start = time.perf_counter()
        text = self.call(tool, **arguments)
        return time.perf_counter() - start, text

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def text_of(status: int, body: bytes) -> str:
    """The text in a tool's result, sent as JSON or as the one event of a stream."""
    data = next((line[5:] for line in body.splitlines() if line.startswith(b"data:")), body)
    try:
        result = json.loads(data)["result"]
        wrong = status != 200 or result.get("isError", False)
        text = "".join(part["text"] for part in result["content"])
    except (ValueError, KeyError, TypeError):
        wrong, text = True, ""
    if wrong:
        raise WrongReply(f"status {status}: {body[:500].decode(errors='replace')}")
    return text


@dataclass(frozen=True)
class Served:
    """A server that answers."""

    child: Child
    port: int

    def client(self, being: str = "", token: str = "") -> Client:
        """A connection to it; ours wants to know the Being."""
        return Client(self.port, f"/mcp/{being}" if being else "/mcp", token)


@contextmanager
def our_server(address: str, *options: str) -> Iterator[Served]:
    """`claw being serve` on a store, with the default embedder and without a limit of calls."""
    port = free_port()
    arguments = ("--store", address, "--port", str(port), "--rate", "0", "--quiet", *options)
    command = Command((str(CLAW), "being", "serve", *arguments), ROOT)
    with running(command) as child:
        _wait(child, port, "/healthz")
        yield Served(child, port)


@contextmanager
def peer_server(texts: list[str]) -> Iterator[Served]:
    """The peer's own server, which has stored these memories in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(peer_filled(texts), folder, dirs_exist_ok=True)
        port = free_port()
        command = Command((str(PEER_PYTHON), str(PEER_SCRIPT), "serve", str(port)), Path(folder))
        with running(command) as child:
            _wait(child, port, "/health")
            yield Served(child, port)


def peer_filled(texts: list[str]) -> Path:
    """The folder of a peer that has stored these memories; it takes minutes, so it is kept."""
    name = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
    kept = PEER_FOLDERS / f"{len(texts)}-{name}"
    if not kept.exists():
        PEER_FOLDERS.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(dir=PEER_FOLDERS))
        try:
            _fill_peer(begun, texts)
            begun.rename(kept)
        finally:
            shutil.rmtree(begun, ignore_errors=True)
    return kept


def _fill_peer(folder: Path, texts: list[str]) -> None:
    """Store memories with the peer's own batch operation."""
    filled = subprocess.run(
        (str(PEER_PYTHON), str(PEER_SCRIPT), "fill"),
        cwd=folder,
        input=json.dumps(texts).encode(),
        capture_output=True,
        check=False,
    )
    taken = filled.stdout.split()[-1:] or [b"0"]
    if filled.returncode or taken != [b"%d" % len(texts)]:
        raise ChildFailed(
            f"it took {taken[0].decode()} of {len(texts)} memories",
            filled.stderr[-1500:].decode(errors="replace"),
        )


def free_port() -> int:
    """A port that nobody listens on now."""
    with closing(socket.socket()) as probe:
        probe.bind((_HERE, 0))
        return probe.getsockname()[1]


def _wait(child: Child, port: int, path: str) -> None:
    """Until the server says that it is well."""
    deadline = time.perf_counter() + _PATIENCE
    while time.perf_counter() < deadline:
        with closing(http.client.HTTPConnection(_HERE, port, timeout=5)) as probe:
            try:
                probe.request("GET", path)
                if probe.getresponse().status == 200:
                    return
            except OSError:
                time.sleep(0.1)
    child.end()
    raise ChildFailed("it did not start to serve", "")
