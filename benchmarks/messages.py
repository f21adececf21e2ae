"""The JSON-RPC messages the benchmarks send, in both eras, and the check of what comes back."""

import json
from typing import Any, Literal

Era = Literal["legacy", "modern"]
ERAS: tuple[Era, ...] = ("legacy", "modern")

LEGACY_VERSION = "2025-11-25"
MODERN_VERSION = "2026-07-28"
CLIENT = {"name": "bench", "version": "1.0.0"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}


class WrongReply(Exception):
    """A server answered, but not what was asked; a figure measured on it would mean nothing."""


def encode(message: dict[str, Any]) -> bytes:
    """One message as one line."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def request(era: Era, request_id: int, method: str, params: dict[str, Any]) -> bytes:
    """One request line; a modern one carries its envelope."""
    if era == "modern":
        params = {**params, "_meta": ENVELOPE}
    return encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def opening(era: Era) -> bytes:
    """The first request of a client: the handshake, or the modern probe."""
    if era == "modern":
        return request(era, 0, "server/discover", {})
    params = {"protocolVersion": LEGACY_VERSION, "capabilities": {}, "clientInfo": CLIENT}
    return request(era, 0, "initialize", params)


def ready(era: Era) -> bytes:
    """What a client sends after the first reply: nothing, in the modern era."""
    if era == "modern":
        return b""
    return encode({"jsonrpc": "2.0", "method": "notifications/initialized"})


def call(era: Era, request_id: int, tool: str, **arguments: Any) -> bytes:
    """One `tools/call` line."""
    return request(era, request_id, "tools/call", {"name": tool, "arguments": arguments})


def check_opening(line: bytes) -> None:
    """Refuse a first reply that is not a result."""
    if "result" not in json.loads(line):
        raise WrongReply(f"the opening was answered with {line[:300]!r}")


def check_reply(line: bytes, text: str) -> int:
    """Return the id of a reply whose first block is `text`; refuse any other reply."""
    message = json.loads(line)
    result = message.get("result", {})
    content = result.get("content") or [{}]
    if content[0].get("text") != text or result.get("isError"):
        raise WrongReply(f"expected the text {text[:100]!r}…, got {line[:300]!r}")
    return message["id"]


def check_replies(output: bytes, expected_ids: range, text: str) -> None:
    """Refuse anything but exactly one right reply to each request, in any order."""
    ids = sorted(check_reply(line, text) for line in output.splitlines())
    if ids != list(expected_ids):
        raise WrongReply(f"{len(set(ids))} of {len(expected_ids)} requests were answered")
