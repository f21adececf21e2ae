from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from clawkit.errors import ToolExecutionError
from clawkit.memory.being_store import BeingStore
from clawkit.memory.mcp_server import BeingServer, CallQueue
from clawkit.memory.memory import Memory
from clawkit.memory.patrol.run import PatrolOutcome
from clawkit.memory.records import Being
from clawkit.wire.calls import Limits
from tests.memory.tools.being_client import BeingClient


async def test_one_being_cannot_take_all_threads(
    store: BeingStore, being: Being, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = BeingServer(store, limits=Limits(threads=20))
    over, whole = threading.Event(), Memory.search

    def search(memory: Memory, query: str, *rest: object, **more: object) -> object:
        if query == "slow":
            over.wait()
        return whole(memory, query, *rest, **more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Memory, "search", search)
    greedy, other = [BeingClient(server, being) for _ in range(50)], store.create("Ben")
    calls = [asyncio.ensure_future(one.call("search_memory", query="slow")) for one in greedy]
    await asyncio.sleep(0)
    try:
        assert "found: 0" in await BeingClient(server, other).call("search_memory", query="quick")
    finally:
        over.set()
    assert len(await asyncio.gather(*calls)) == 50


async def test_patrols_that_wait_for_a_model_keep_no_question_waiting(
    store: BeingStore, being: Being, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = BeingServer(store, limits=Limits(threads=2))
    over, whole = threading.Event(), Memory.patrol

    def patrol(memory: Memory, *given: Any, **more: Any) -> PatrolOutcome:
        over.wait()
        return whole(memory, *given, **more)

    monkeypatch.setattr(Memory, "patrol", patrol)
    beings = [being, *(store.create(f"being {n}") for n in range(5))]
    clients = [BeingClient(server, one) for one in beings for _ in range(20)]
    calls = [asyncio.ensure_future(one.json("trigger_patrol", messages=[])) for one in clients]
    await asyncio.sleep(0)
    try:
        assert "found: 0" in await BeingClient(server, being).call("search_memory", query="quick")
    finally:
        over.set()
    assert len(await asyncio.gather(*calls)) == len(clients)


async def test_turns_are_given_in_order_and_given_back() -> None:
    turns, came = CallQueue(at_once=1), list[int]()

    async def work(number: int) -> None:
        await turns.enter(1)
        came.append(number)
        await asyncio.sleep(0)
        turns.leave(1)

    await asyncio.gather(*(work(number) for number in range(5)))
    assert came == [0, 1, 2, 3, 4]
    await asyncio.gather(*(work(number) for number in range(2)))


async def test_who_leaves_while_waiting_takes_no_turn() -> None:
    turns = CallQueue(at_once=1)
    await turns.enter(1)
    waiting = [asyncio.ensure_future(turns.enter(1)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    turns.leave(1)
    waiting[1].cancel()  # it has its turn by now, and never learns of it
    await asyncio.sleep(0)
    await waiting[2]


async def test_too_many_are_refused() -> None:
    turns = CallQueue(at_once=1, waiting=1)
    await turns.enter(1)
    waiting = asyncio.ensure_future(turns.enter(1))
    await asyncio.sleep(0)
    with pytest.raises(ToolExecutionError, match="try again later"):
        await turns.enter(1)
    await turns.enter(2)
    turns.leave(1)
    await waiting


async def test_a_fault_is_in_the_log_and_not_in_the_answer(
    store: BeingStore,
    being: Being,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("/srv/secret/place")

    monkeypatch.setattr(Memory, "search", broken)
    told = await BeingClient(BeingServer(store), being).error("search_memory", query="x")
    assert told == "search_memory failed here; whoever runs this server finds why in its log"
    assert "search_memory failed" in caplog.text
