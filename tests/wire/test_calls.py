"""Limits that hold whatever callers do, and calls of which nothing is heard once they are over."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from clawkit import Context, Limits, SdkMcpServerImpl, Session

Message = dict[str, Any]


def call(id: int, name: str, arguments: Message | None = None) -> Message:
    params = {"name": name, "arguments": arguments or {}}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def cancel(id: int) -> Message:
    method = "notifications/cancelled"
    return {"jsonrpc": "2.0", "method": method, "params": {"requestId": id}}


async def test_a_sync_tool_that_timed_out_keeps_its_turn_until_its_thread_ends() -> None:
    server = SdkMcpServerImpl("s", "1")
    inside, most = 0, 0
    lock = threading.Lock()

    @server.tool(concurrency=1, timeout=0.05)
    def alone() -> str:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.2)
        with lock:
            inside -= 1
        return "out"

    session = Session()
    replies = await asyncio.gather(
        *(server.handle_jsonrpc(call(id, "alone"), session) for id in range(3))
    )
    assert all(reply and reply["result"]["isError"] for reply in replies)
    assert most == 1


async def test_a_cancelled_call_waits_no_longer() -> None:
    server = SdkMcpServerImpl("s", "1", limits=Limits(concurrency=1, waiting=2))
    free = asyncio.Event()

    @server.tool
    async def hold() -> str:
        await free.wait()
        return "held"

    session = Session()
    first = asyncio.ensure_future(server.handle_jsonrpc(call(0, "hold"), session))
    for id in range(1, 10, 2):
        waiting = [
            asyncio.ensure_future(server.handle_jsonrpc(call(id + n, "hold"), session))
            for n in (0, 1)
        ]
        await asyncio.sleep(0.01)
        for n in (0, 1):
            await server.handle_jsonrpc(cancel(id + n), session)
        for reply in await asyncio.gather(*waiting):
            assert reply is not None
            assert reply["error"]["message"] == "Request cancelled"
    free.set()
    held = await first
    assert held is not None
    assert held["result"]["content"][0]["text"] == "held"


async def test_a_tool_that_answers_although_it_was_cancelled_is_not_heard() -> None:
    server = SdkMcpServerImpl("s", "1")

    @server.tool
    async def stubborn(context: Context) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            context.progress(1)
        return "anyway"

    said: list[Message] = []
    session = Session(said.append)
    message = call(1, "stubborn")
    message["params"]["_meta"] = {"progressToken": 1}
    running = asyncio.ensure_future(server.handle(message, session, session.send))
    await asyncio.sleep(0.01)
    await server.handle_jsonrpc(cancel(1), session)
    assert await running is None
    assert said == []


async def test_what_was_offered_once_stays_a_list_that_can_be_asked_for() -> None:
    server = SdkMcpServerImpl("s", "1")
    server.resource("a://b")(lambda: "x")
    said: list[Message] = []
    session = Session(said.append)
    opening: Message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
    await server.handle_jsonrpc(opening, session)
    server.remove_resource("a://b")
    server.prompt(test_what_was_offered_once_stays_a_list_that_can_be_asked_for)
    assert [message["method"] for message in said] == ["notifications/resources/list_changed"]
    listing: Message = {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}
    reply = await server.handle_jsonrpc(listing, session)
    assert reply is not None
    assert reply["result"] == {"resources": []}
