from __future__ import annotations

import asyncio
import re

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.mcp_server import BeingServer
from clawkit.memory.memory import Memory
from clawkit.memory.records import Being, Scene
from clawkit.memory.store import nodes
from tests.memory.http.being_store import Clock
from tests.memory.tools.being_client import FULL, READER, BeingClient, scene

NOTHING = "No relevant memories found."
NOTHING_NEW = (
    "No relevant memories found that this conversation was not told already; search_memory shows "
    "them again."
)
BLOCK = re.compile(r"<memory-recall>\n(.+)\n</memory-recall>")


def fragments(text: str) -> set[str]:
    block = BLOCK.fullmatch(text)
    assert block is not None, text
    return set(block[1].split(" / "))


def set_status(store: BeingStore, being: Being, node_id: str, status: str) -> None:
    with store.database.write(being.n) as unit:
        nodes.change(unit, nodes.by_ids(unit, [node_id])[node_id].seq, {"status": status})


def reactivations(store: BeingStore, being: Being, node_id: str) -> int:
    with store.database.read(being.n) as unit:
        return nodes.by_ids(unit, [node_id])[node_id].reactivation_count


async def test_a_fragment_says_when_whose_what_and_how_it_felt(
    client: BeingClient, memory: Memory
) -> None:
    memory.remember(
        "Rika adopted a grey kitten",
        FULL,
        feeling="warm and excited",
        speaker="Piotr",
        when=["2026-10-18"],
    )
    text = await client.call("recall", user_message="How is Rika's grey kitten?")
    assert fragments(text) == {"2026-10-18, Piotr: Rika adopted a grey kitten (warm and excited)"}


async def test_who_lent_whom_is_not_the_same_either_way(
    client: BeingClient, memory: Memory
) -> None:
    for said in ("Ben lent Anna 50 euros", "Anna lent Ben 50 euros"):
        memory.remember(said, FULL, when=["2026-10-18"])
    text = await client.call("recall", user_message="Who lent 50 euros, Anna or Ben?")
    assert fragments(text) == {
        "2026-10-18: Ben lent Anna 50 euros",
        "2026-10-18: Anna lent Ben 50 euros",
    }


async def test_nothing_relevant_is_an_empty_message(client: BeingClient, memory: Memory) -> None:
    assert await client.call("recall", user_message="hello") == NOTHING
    memory.remember("Rika adopted a grey kitten", FULL)
    assert await client.call("recall", user_message="the price of copper in Chile") == NOTHING


async def test_at_most_three_memories_are_told(client: BeingClient, memory: Memory) -> None:
    for colour in ("red", "green", "blue", "white", "black"):
        memory.remember(f"Rika painted the garden fence {colour}", FULL)
    text = await client.call(
        "recall", user_message="Which colours did Rika paint the garden fence?"
    )
    assert len(fragments(text)) == 3


async def test_the_order_is_shuffled_and_the_same_for_the_same_message(
    client: BeingClient, memory: Memory
) -> None:
    for colour in ("red", "green", "blue"):
        memory.remember(f"Rika painted the garden fence {colour}", FULL)
    messages = [f"How did Rika paint the garden fence, try {n}?" for n in range(8)]
    told = [await client.call("recall", user_message=message) for message in messages]
    assert len(set(told)) > 1
    assert await client.call("recall", user_message=messages[0]) == told[0]


@pytest.mark.parametrize(("status", "times"), [("active", 1), ("dying", 1), ("dead", 2)])
async def test_what_is_told_is_reactivated(
    client: BeingClient, memory: Memory, store: BeingStore, status: str, times: int
) -> None:
    node = memory.remember("Rika adopted a grey kitten", FULL)
    set_status(store, memory.being, node.id, status)
    await client.call("recall", user_message="Rika's grey kitten")
    assert reactivations(store, memory.being, node.id) == times


async def test_reads_of_a_read_only_token_are_counted_apart(
    reader: BeingClient, memory: Memory, store: BeingStore
) -> None:
    node = memory.remember("Rika adopted a grey kitten", FULL)
    await reader.call("recall", user_message="Rika's grey kitten")
    await reader.call("recall", user_message="Rika's grey kitten")
    assert reactivations(store, memory.being, node.id) == 0
    memory.patrol(FULL)
    assert reactivations(store, memory.being, node.id) == 1


async def test_a_conversation_is_told_a_memory_once(client: BeingClient, memory: Memory) -> None:
    memory.remember("Rika adopted a grey kitten", FULL)
    ask = {"user_message": "Rika's grey kitten"}
    client.conversation = "monday"
    assert fragments(await client.call("recall", **ask))
    assert await client.call("recall", **ask) == NOTHING_NEW
    assert await client.call("recall", user_message="the price of copper in Chile") == NOTHING
    client.conversation = "tuesday"
    assert fragments(await client.call("recall", **ask))
    client.conversation = ""
    assert fragments(await client.call("recall", **ask))
    assert fragments(await client.call("recall", **ask))


async def test_what_a_read_only_caller_was_told_is_its_own_affair(
    client: BeingClient, reader: BeingClient, memory: Memory
) -> None:
    memory.remember("Rika adopted a grey kitten", FULL)
    ask = {"user_message": "Rika's grey kitten"}
    client.conversation = reader.conversation = "monday"
    assert fragments(await reader.call("recall", **ask))
    assert await reader.call("recall", **ask) == NOTHING_NEW
    assert fragments(await client.call("recall", **ask))


async def test_explain_shows_the_signals(client: BeingClient, memory: Memory) -> None:
    memory.remember("Rika adopted a grey kitten", FULL)
    text = await client.call("recall", user_message="Rika's grey kitten", explain=True)
    assert "keyword search, 1 told, 0 beside" in text
    assert "score" in text
    assert "words" in text


async def test_three_are_told_and_what_comes_next_stands_beside_them_the_newest_first(
    client: BeingClient, store: BeingStore, being: Being, memory: Memory
) -> None:
    said = [f"Rika fed the grey kitten {food}" for food in ("tuna", "milk", "rice", "ham", "egg")]
    ids = [memory.remember(one, FULL, when=[f"2026-10-1{at}"]).id for at, one in enumerate(said)]
    text = await client.call("recall", user_message="What did Rika feed the grey kitten?")
    told = fragments(text)
    assert len(told) == 3
    days = [[part.split(":")[0] for part in one.split(" · ")] for one in told]
    assert sorted(day for one in days for day in one) == [f"2026-10-1{at}" for at in range(5)]
    assert all(one == sorted(one, reverse=True) for one in days)
    assert [reactivations(store, being, one) for one in ids] == [1] * 5


async def test_as_of_answers_what_was_known_then(
    client: BeingClient, memory: Memory, clock: Clock
) -> None:
    old = memory.remember("Rika lives in Kyoto near the river", FULL, when=["2026-01-01"])
    clock.now += 86_400
    memory.supersede(old.id, Scene("Rika lives in Osaka near the river"), FULL)
    ask = {"user_message": "Where does Rika live, near the river?"}
    assert fragments(await client.call("recall", **ask)) == {"Rika lives in Osaka near the river"}
    then = await client.call("recall", **ask, as_of="2027-01-15T08:30:00Z")
    assert fragments(then) == {"2026-01-01 until 2027-01-16: Rika lives in Kyoto near the river"}
    assert await client.call("recall", **ask, as_of="2020-01-01") == NOTHING
    assert "as_of" in await client.error("recall", **ask, as_of="yesterday")


async def test_a_retracted_memory_is_not_told(client: BeingClient, memory: Memory) -> None:
    node = memory.remember("Rika adopted a grey kitten", FULL)
    memory.retract([node.id], FULL, "it was a joke")
    assert await client.call("recall", user_message="Rika's grey kitten") == NOTHING


async def test_a_scene_is_told_before_any_patrol(client: BeingClient) -> None:
    await client.call("update_notes", scenes=[scene("Rika adopted a grey kitten")])
    client.conversation = "monday"
    text = await client.call("recall", user_message="What about Rika's grey kitten?")
    assert {one.split(": ")[1] for one in fragments(text)} == {"Rika adopted a grey kitten"}
    text = await client.call("recall", user_message="What about Rika's grey kitten?")
    assert text == NOTHING_NEW


async def test_a_full_memory_does_not_hide_what_is_new(client: BeingClient, memory: Memory) -> None:
    for n in range(40):
        memory.remember(f"Rika took photograph {n} of the grey kitten", FULL)
    await client.call("update_notes", scenes=[scene("Rika gave the grey kitten away")])
    ask = "Did Rika give the grey kitten away?"
    told = fragments(await client.call("recall", user_message=ask))
    assert any("Rika gave the grey kitten away" in one for one in told)
    found = await client.call("search_memory", query=ask)
    assert found.count("(id:") == 10
    assert "Rika gave the grey kitten away" in found


async def test_a_message_in_japanese_finds_memories(client: BeingClient, memory: Memory) -> None:
    memory.remember("里香は灰色の子猫を引き取った", FULL, feeling="うれしい")
    text = await client.call("recall", user_message="里香の子猫は元気ですか")
    assert "里香は灰色の子猫を引き取った (うれしい)" in text


async def test_another_being_is_told_nothing_of_it(
    store: BeingStore, memory: Memory, client: BeingClient
) -> None:
    memory.remember("Rika adopted a grey kitten", FULL)
    stranger = BeingClient(client.server, store.create("Stranger"))
    assert await stranger.call("recall", user_message="Rika's grey kitten") == NOTHING
    assert "found: 0" in await stranger.call("search_memory", query="Rika's grey kitten")


async def test_two_recalls_at_once_tell_one_conversation_once(
    client: BeingClient, memory: Memory
) -> None:
    memory.remember("Rika adopted a grey kitten", FULL)
    sessions = [
        BeingClient(client.server, memory.being, READER if n % 2 else FULL, conversation="monday")
        for n in range(8)
    ]
    told = await asyncio.gather(
        *(one.call("recall", user_message="Rika's grey kitten") for one in sessions)
    )
    assert sum(text not in (NOTHING, NOTHING_NEW) for text in told) == 2


async def test_recall_searches_by_meaning_with_the_embedder(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    from clawkit.store import open_store

    store = BeingStore(open_store(f"sqlite:{tmp_path_factory.mktemp('real') / 'b.db'}"))
    memory = store.open(store.create("Hana"))
    memory.remember("Rika adopted a grey kitten from the animal shelter", FULL)
    memory.remember("The quarterly budget was approved by the board", FULL)
    client = BeingClient(BeingServer(store), memory.being)
    found = await client.call("search_memory", query="Does she have a cat as a pet?", limit=1)
    assert "hybrid search" in found
    assert "kitten" in found
    store.close()
