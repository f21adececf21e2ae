from __future__ import annotations

import re
from uuid import uuid4

import numpy as np
import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.records import Node
from clawkit.memory.store import clusters, nodes
from tests.memory.tools.being_client import FULL, BeingClient

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture
def kittens(memory: Memory) -> list[Node]:
    return [
        memory.remember("Rika adopted a kitten", FULL, when=["2026-05-01"], actors=["Rika"]),
        memory.remember("Rika took a cat home", FULL, when=["2026-05-02"], feeling="warm"),
    ]


def joined(found: list[Node]) -> str:
    return ", ".join(node.id for node in found)


async def test_nodes_become_one_with_their_days_and_people(
    client: BeingClient, memory: Memory, store: BeingStore, kittens: list[Node]
) -> None:
    text = await client.call(
        "merge_nodes", node_ids=joined(kittens), summary="Rika has a kitten", feeling="tender"
    )
    match = UUID.search(text)
    assert match is not None
    with store.database.read(memory.being.n) as unit:
        new = nodes.by_ids(unit, [match[0]])[match[0]]
        old = nodes.fetch(unit, [node.seq for node in kittens])
    assert new.scene.action == "Rika has a kitten"
    assert new.scene.feeling == "tender"
    assert new.scene.when == ("2026-05-01", "2026-05-02")
    assert new.scene.actors == ("Rika",)
    assert all(node.ending == "merged" and node.successor == new.seq for node in old.values())
    found = await client.call("search_memory", query="Rika kitten cat home")
    assert found.count("(id:") == 1


async def test_a_merge_can_be_undone(
    client: BeingClient, memory: Memory, kittens: list[Node]
) -> None:
    await client.call("merge_nodes", node_ids=joined(kittens), summary="Rika has a pet")
    memory.undo(memory.ledger(1)[0].n, FULL)
    found = await client.call("search_memory", query="Rika kitten cat home pet")
    assert {node.id for node in kittens} == set(UUID.findall(found))


async def test_the_vector_of_the_cluster_is_computed_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    from clawkit.memory.mcp_server import BeingServer
    from clawkit.store import open_store

    store = BeingStore(open_store(f"sqlite:{tmp_path_factory.mktemp('real') / 'b.db'}"))
    memory = store.open(store.create("Hana"))
    kittens = [
        memory.remember(text, FULL) for text in ("Rika adopted a kitten", "Rika took a cat home")
    ]

    def middle() -> np.ndarray:
        assert store.embedder is not None
        with store.database.read(memory.being.n) as unit:
            return clusters.centroids(unit, store.embedder.name)[kittens[0].cluster]

    before = middle()
    client = BeingClient(BeingServer(store), memory.being)
    await client.call("merge_nodes", node_ids=joined(kittens), summary="The budget was approved")
    assert not np.allclose(before, middle(), atol=0.01)
    store.close()


async def test_what_cannot_be_merged_is_said(
    client: BeingClient, memory: Memory, kittens: list[Node]
) -> None:
    one = kittens[0].id
    assert "node_ids" in await client.error("merge_nodes", node_ids=one, summary="x")
    assert "node_ids" in await client.error("merge_nodes", node_ids=f"{one},{one}", summary="x")
    assert "node_ids" in await client.error("merge_nodes", node_ids=f"{one},kitten", summary="x")
    assert "summary" in await client.error("merge_nodes", node_ids=joined(kittens), summary=" ")
    unknown = str(uuid4())
    assert unknown in await client.error("merge_nodes", node_ids=f"{one},{unknown}", summary="x")
    memory.retract([one], FULL)
    assert "taken back" in await client.error("merge_nodes", node_ids=joined(kittens), summary="x")


async def test_a_node_that_is_named_twice_is_one(client: BeingClient, kittens: list[Node]) -> None:
    first, second = kittens[0].id, kittens[1].id
    ids = f"{first}, {first.upper()} ,,{second}"
    answer = await client.call("merge_nodes", node_ids=ids, summary="Rika has a kitten")
    assert answer.startswith("Merged 2 nodes")
