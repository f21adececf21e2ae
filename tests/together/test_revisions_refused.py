"""Conversations that cannot go on: what the server says then is valid in its revision too."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from clawkit import Session
from clawkit.tools.loader import load_server
from tests.processes import PATIENCE, serving, stdio_server
from tests.together.doors import DOORS, EVERYTHING, HTTP, IN_PROCESS, SESSIONS, STDIO
from tests.together.raw_client import INFO, META
from tests.validation import LEGACY, MODERN, REVISIONS, Message, check_message

pytestmark = pytest.mark.parametrize("door", DOORS)
DAMAGED = ["{", "[]", '"hello"', '{"jsonrpc": "2.0"}', '{"jsonrpc": "1.0", "method": "ping"}']


def meta(version: str = MODERN, **more: Any) -> dict[str, Any]:
    return {f"{META}protocolVersion": version, f"{META}clientCapabilities": {}, **more}


async def exchange(door: str, address: str | None, line: str, **headers: str) -> Message:
    """The reply to one line, as the first and last thing that is said."""
    (reply,) = await exchange_all(door, address, [line], **headers)
    return reply


async def exchange_all(
    door: str, address: str | None, lines: list[str], **headers: str
) -> list[Message]:
    """The replies to lines that each stand alone; those over HTTP have a `status`."""
    if door == IN_PROCESS:
        server, session = load_server(str(EVERYTHING)), Session()
        found = [await server.handle_line(line.encode(), session) for line in lines]
        return [json.loads(reply or b"null") for reply in found]
    if door == STDIO:
        with stdio_server(*serving(EVERYTHING)) as process:
            process.write("".join(f"{line}\n" for line in lines).encode())
            return [process.receive() for _ in lines]
    assert address is not None
    usual = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(timeout=PATIENCE, verify=False) as client:
        posts = [client.post(address, content=li, headers={**usual, **headers}) for li in lines]
        return [{**(r := await post).json(), "status": r.status_code} for post in posts]


def checked(version: str, door: str, reply: Message, method: str = "unknown") -> dict[str, Any]:
    """The error in a reply, after a look at the reply and at its HTTP status."""
    status = reply.pop("status", 400)
    assert (status == 400) or door not in (HTTP, SESSIONS)
    check_message(version, "server", reply, method)
    return reply["error"]


async def test_damaged_messages_are_answered_with_a_null_id(door: str, address: str | None) -> None:
    replies = await exchange_all(door, address, DAMAGED)
    for line, reply in zip(DAMAGED, replies, strict=True):
        assert reply["id"] is None
        for version in REVISIONS:
            error = checked(version, door, dict(reply))
            assert error["code"] == (-32700 if line == "{" else -32600)


async def test_an_unknown_revision_of_the_handshake_gets_the_newest(
    door: str, address: str | None
) -> None:
    params = {"protocolVersion": "2030-01-01", "capabilities": {}, "clientInfo": INFO}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    reply = await exchange(door, address, json.dumps(message))
    assert reply.pop("status", 200) == 200
    check_message(LEGACY[-1], "server", reply, "initialize")
    assert reply["result"]["protocolVersion"] == LEGACY[-1]


async def test_an_unknown_modern_revision_is_told_which_are_known(
    door: str, address: str | None
) -> None:
    headers = {"mcp-protocol-version": "2030-01-01", "mcp-method": "tools/list"}
    params = {"_meta": meta("2030-01-01")}
    message = {"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": params}
    reply = await exchange(door, address, json.dumps(message), **headers)
    error = checked(MODERN, door, reply)
    assert error["code"] == -32022
    assert MODERN in error["data"]["supported"]
    assert error["data"]["requested"] == "2030-01-01"


async def test_a_modern_request_without_capabilities_is_refused(
    door: str, address: str | None
) -> None:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/list"}
    params = {"_meta": {f"{META}protocolVersion": MODERN}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
    reply = await exchange(door, address, json.dumps(message), **headers)
    error = checked(MODERN, door, reply)
    assert error["code"] == -32602
    assert f"{META}clientCapabilities" in error["message"]


async def test_headers_must_agree_with_the_body_where_there_are_headers(
    door: str, address: str | None
) -> None:
    right = {
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": "weather",
        "mcp-param-region": "=?base64?w5hzdGxhbmRldA==?=",
    }
    params = {"name": "weather", "arguments": {"region": "Østlandet"}, "_meta": meta()}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    line = json.dumps(message)
    reply = await exchange(door, address, line, **right)
    assert reply["result"]["content"][0]["text"] == "Østlandet: fair; trace none"
    if door not in (HTTP, SESSIONS):
        return
    for name, value in [
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-method", "tools/list"),
        ("mcp-name", "greet"),
        ("mcp-param-region", "south"),
        ("mcp-param-region", "=?base64?***?="),
    ]:
        reply = await exchange(door, address, line, **{**right, name: value})
        error = checked(MODERN, door, reply)
        assert error["code"] == -32020
