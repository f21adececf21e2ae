from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.records import Scene
from clawkit.memory.store import jobs, nodes
from clawkit.store import open_store
from tests.memory.http.being_store import Clock
from tests.memory.tools.being_client import FULL, BeingClient, scene


def lines(text: str) -> list[str]:
    return text.splitlines()[1:]


async def test_results_are_scene_lines_under_a_header_that_names_the_search(
    client: BeingClient, memory: Memory
) -> None:
    node = memory.remember(
        "Rika adopted a grey kitten", FULL, when=["2026-05-01"], setting="home", feeling="warm"
    )
    assert (await client.call("search_memory", query="kitten")).splitlines() == [
        "Memories found: 1 (keyword search)",
        f"- 2026-05-01 — home — Rika adopted a grey kitten — (warm) (id: {node.id})",
    ]
    assert await client.call("search_memory", query="submarine") == (
        "Memories found: 0 (keyword search)"
    )


async def test_the_limit_is_10_by_default_and_30_at_most(
    client: BeingClient, memory: Memory
) -> None:
    for n in range(35):
        memory.remember(f"Rika read chapter {n} of the atlas", FULL)
    assert len(lines(await client.call("search_memory", query="atlas"))) == 10
    assert len(lines(await client.call("search_memory", query="atlas", limit=12))) == 12
    assert len(lines(await client.call("search_memory", query="atlas", limit=500))) == 30
    assert "limit" in await client.error("search_memory", query="atlas", limit=0)
    assert "limit" in await client.error("search_memory", query="atlas", limit="many")


async def test_mode_and_wants_every_word(client: BeingClient, memory: Memory) -> None:
    memory.remember("Rika adopted a grey kitten", FULL)
    memory.remember("Rika bought a grey coat", FULL)
    either = await client.call("search_memory", query="grey kitten")
    assert len(lines(either)) == 2
    assert await client.call("search_memory", query="grey kitten", mode="or") == either
    both = lines(await client.call("search_memory", query="grey kitten", mode="and"))
    assert len(both) == 1
    assert "kitten" in both[0]


async def test_an_empty_query_is_refused_by_name(client: BeingClient) -> None:
    assert "query" in await client.error("search_memory", query="  ")
    assert "query" in await client.error("search_memory")


async def test_explain_shows_scores_and_signals(client: BeingClient, memory: Memory) -> None:
    memory.remember("Rika adopted a grey kitten", FULL)
    text = await client.call("search_memory", query="kitten", explain=True)
    assert "score" in lines(text)[1]
    assert "words" in lines(text)[1]


async def test_as_of_finds_what_was_known_then(
    client: BeingClient, memory: Memory, clock: Clock
) -> None:
    old = memory.remember("Rika lives in Kyoto", FULL)
    clock.now += 86_400
    memory.supersede(old.id, Scene("Rika lives in Osaka"), FULL)
    now = await client.call("search_memory", query="Rika lives")
    assert "Osaka" in now
    assert "Kyoto" not in now
    then = await client.call("search_memory", query="Rika lives", as_of="2027-01-15")
    assert "Kyoto" in then
    assert "Osaka" not in then


async def test_searching_leaves_no_trace(
    client: BeingClient, memory: Memory, store: BeingStore
) -> None:
    node = memory.remember("Rika adopted a grey kitten", FULL)
    await client.call("search_memory", query="kitten")
    with store.database.read(memory.being.n) as unit:
        assert nodes.by_ids(unit, [node.id])[node.id] == node


async def test_scenes_are_found_before_and_after_the_patrol(client: BeingClient) -> None:
    await client.call("update_notes", scenes=[scene("Rika adopted a grey kitten")])
    before = lines(await client.call("search_memory", query="grey kitten"))
    await client.call("trigger_patrol", messages=[])
    assert lines(await client.call("search_memory", query="grey kitten")) == before
    assert len(before) == 1


@pytest.mark.parametrize("query", ["' OR 1=1 --", '"kitten" NEAR(', "a\0b kitten", "%_!", "🐈 * ^"])
async def test_hostile_queries_are_only_words(
    client: BeingClient, memory: Memory, query: str
) -> None:
    memory.remember("Rika adopted a grey kitten", FULL)
    text = await client.call("search_memory", query=query)
    assert ("kitten" in text) is ("kitten" in query)


def test_a_search_without_vectors_asks_for_them_once(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path / 'beings.db'}"
    plain = BeingStore(open_store(address), "none")
    being = plain.create("Hana")
    plain.open(being).remember("Rika adopted a grey kitten", FULL)
    plain.open(being).search("kitten")
    plain.close()
    store = BeingStore(open_store(address))
    memory = store.open(being)
    assert memory.search("kitten").kind == "keyword"
    assert memory.search("kitten").kind == "keyword"
    with store.database.registry() as connection:
        assert [kind for kind, _, _ in jobs.waiting(connection, being.n)] == ["embed"]
    assert store.worker.work_off() == 1
    assert memory.search("kitten").kind == "hybrid"
    with store.database.registry() as connection:
        assert jobs.waiting(connection, being.n) == []
    store.close()
