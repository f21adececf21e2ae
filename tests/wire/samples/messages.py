"""The messages that these tests send, in both eras, and the HTTP headers that go with them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.processes import PATIENCE, StdioServer

Message = dict[str, Any]

SAMPLES = Path(__file__).parent
MODERN = "2026-07-28"
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_NAMED_BY = {"tools/call": "name", "tasks/get": "taskId", "tasks/cancel": "taskId"}


def request(id: Any, method: Any, params: Any = None) -> Message:
    message: Message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: Any = None) -> Message:
    message: Message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def call(id: Any, tool: str, _meta: Any = None, **arguments: Any) -> Message:
    params: Message = {"name": tool, "arguments": arguments}
    return request(id, "tools/call", {**params, "_meta": _meta} if _meta else params)


def cancel(id: Any) -> Message:
    return notification("notifications/cancelled", {"requestId": id})


def modern(message: Message, capabilities: Message | None = None) -> Message:
    """The same request, as the era of 2026 sends it."""
    params: Message = message.get("params") or {}
    meta = {
        VERSION_KEY: MODERN,
        CAPABILITIES_KEY: capabilities or {},
        **params.get("_meta", {}),
    }
    return {**message, "params": {**params, "_meta": meta}}


def headers(message: Message, **more: str) -> dict[str, str]:
    """What a client of the era of 2026 says in headers about a message."""
    found = {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
    field = _NAMED_BY.get(message["method"])
    if field is not None:
        found["Mcp-Name"] = message["params"][field]
    return {**found, **{name.replace("_", "-"): value for name, value in more.items()}}


OPENING = request(
    0,
    "initialize",
    {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test"}},
)


def line(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


def in_text(data: bytes) -> bytes:
    """A call whose text is made of these raw bytes."""
    return line(call(1, "echo", text="?")).strip().replace(b"?", data)


PING = line(request(1, "ping")).strip()
GARBAGE = {
    "words": b"hello",
    "half an object": b"{",
    "the framing of another protocol": b"Content-Length: 20",
    "NUL": b"\x00",
    "no text at all": b"\xff\xfe\xfd",
    "UTF-16": PING.decode().encode("utf-16"),
    "NaN": b"NaN",
    "a number out of range": PING.replace(b"1", b"1e999"),
    "an answer with half a character": b'{"jsonrpc":"2.0","id":1,"result":{"x":"\\ud800"}}',
    "half a character as an id": b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
}
"""What is no JSON and has no id that could be read."""
DAMAGED = {
    "a cut message": PING[:-1],
    "one brace too many": PING + b"}",
    "two messages on one line": PING + PING,
    "invalid UTF-8": in_text(b"\xff"),
    "a surrogate in UTF-8": in_text(b"\xed\xa0\x80"),
    "a lone surrogate": in_text(b"\\ud800"),
    "a lone surrogate before the id": b'{"method":"x","params":{"x":"\\ud83d"},"id":1}',
    "surrogates in the wrong order": in_text(b"\\udc00\\ud800"),
    "NUL in a string": in_text(b"\x00"),
    "NUL after a message": PING + b"\x00",
    "nested too deep after the id": PING[:-1] + b',"params":' + b"[" * 100_000,
}
"""What is no JSON, and yet the request 1."""
MARK = b"\xef\xbb\xbf"


def text(reply: Message) -> str:
    """The text of a tool's answer."""
    return reply["result"]["content"][0]["text"]


def history(server: StdioServer) -> list[str]:
    """What the tools of a served file have noted so far."""
    return json.loads(text(server.ask(call("history", "history"))))


def until(happened: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait for something that is sure to happen."""
    deadline = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
