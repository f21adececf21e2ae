from __future__ import annotations

from uuid import uuid4

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.records import Being, Node, Scene
from clawkit.memory.store import clusters, nodes
from tests.memory.tools.being_client import FULL, BeingClient, scene


def kill(store: BeingStore, being: Being, node: Node) -> None:
    with store.database.write(being.n) as unit:
        nodes.change(unit, node.seq, {"status": "dead"})


def reactivations(store: BeingStore, being: Being, node: Node) -> int:
    with store.database.read(being.n) as unit:
        return nodes.fetch(unit, [node.seq])[node.seq].reactivation_count


@pytest.fixture
def kitten(memory: Memory) -> Node:
    return memory.remember(
        "Rika adopted a grey kitten", FULL, when=["2026-05-01"], feeling="warm", importance=0.9
    )


@pytest.fixture
def cluster(store: BeingStore, memory: Memory, kitten: Node) -> str:
    with store.database.read(memory.being.n) as unit:
        return next(c.id for c in clusters.every(unit) if c.n == kitten.cluster)


def shown(text: str) -> list[str]:
    return [line for line in text.splitlines()[1:] if line.startswith("- ")]


async def test_without_arguments_the_clusters_are_listed(client: BeingClient, cluster: str) -> None:
    text = await client.call("recall_memory")
    assert text.startswith("Clusters: 1\n")
    assert cluster in text
    assert "1 active" in text
    assert "(id:" not in text


async def test_an_empty_memory_says_what_waits(client: BeingClient) -> None:
    assert await client.call("recall_memory") == "There are no clusters yet."
    await client.call("update_notes", scenes=[scene("Rika adopted a kitten")])
    assert "wait for the next patrol: 1" in await client.call("recall_memory")


async def test_a_cluster_shows_its_digest_and_five_nodes_the_weightiest_first(
    client: BeingClient, memory: Memory, cluster: str
) -> None:
    for n in range(7):
        memory.remember(f"Rika fed the kitten, meal {n}", FULL, importance=(n + 1) / 10)
    memory.patrol(FULL)
    text = await client.call("recall_memory", cluster_id=cluster)
    assert "Private (8 active" in text.splitlines()[0]
    assert "kitten" in text.splitlines()[0]
    assert len(shown(text)) == 5
    assert "adopted" in shown(text)[0]
    assert "meal 6" in shown(text)[1]
    assert len(shown(await client.call("recall_memory", cluster_id=cluster, limit=7))) == 7


async def test_query_filters_the_actions(client: BeingClient, memory: Memory, cluster: str) -> None:
    memory.remember("Rika bought 100% wool", FULL)
    text = await client.call("recall_memory", cluster_id=cluster, query="KITTEN")
    assert len(shown(text)) == 1
    assert "adopted" in text
    assert len(shown(await client.call("recall_memory", cluster_id=cluster, query="%"))) == 1
    assert "No nodes." in await client.call("recall_memory", cluster_id=cluster, query="_")
    everywhere = await client.call("recall_memory", query="wool")
    assert everywhere.startswith("Clusters: 1")
    assert "100% wool" in everywhere


async def test_no_nodes_returns_the_digest_only(client: BeingClient, cluster: str) -> None:
    text = await client.call("recall_memory", cluster_id=cluster, no_nodes=True)
    assert len(text.splitlines()) == 1


async def test_a_node_is_shown_with_its_details_and_provenance(
    client: BeingClient, kitten: Node
) -> None:
    text = await client.call("recall_memory", node_id=kitten.id)
    lines = text.splitlines()
    assert lines[0] == f"Node {kitten.id}"
    assert "action: Rika adopted a grey kitten" in lines
    assert "when: 2026-05-01" in lines
    assert "feeling: warm" in lines
    assert "importance: 0.9" in lines
    assert "status: active" in lines
    assert "through: token-full" in lines


async def test_looking_at_a_dead_node_makes_it_eligible_for_revival(
    client: BeingClient, memory: Memory, store: BeingStore, kitten: Node, cluster: str
) -> None:
    await client.call("recall_memory", node_id=kitten.id)
    assert reactivations(store, memory.being, kitten) == 0
    kill(store, memory.being, kitten)
    await client.call("recall_memory", node_id=kitten.id)
    assert reactivations(store, memory.being, kitten) == 2
    await client.call("recall_memory", cluster_id=cluster)
    assert reactivations(store, memory.being, kitten) == 4
    await client.call("recall_memory")
    assert reactivations(store, memory.being, kitten) == 4
    memory.patrol(FULL)
    assert "status: active" in await client.call("recall_memory", node_id=kitten.id)


async def test_a_read_only_look_at_a_dead_node_shows_nobody_anything(
    reader: BeingClient, memory: Memory, store: BeingStore, kitten: Node
) -> None:
    kill(store, memory.being, kitten)
    before = await reader.call("recall_memory", node_id=kitten.id)
    assert await reader.call("recall_memory", node_id=kitten.id) == before
    assert reactivations(store, memory.being, kitten) == 0


async def test_a_replaced_node_says_by_which(
    client: BeingClient, memory: Memory, kitten: Node
) -> None:
    new = memory.supersede(kitten.id, Scene("Rika adopted a black kitten"), FULL)
    text = await client.call("recall_memory", node_id=kitten.id)
    assert "replaced: superseded" in text
    assert new.id in text


async def test_a_retracted_node_is_not_read_out(
    client: BeingClient, memory: Memory, kitten: Node
) -> None:
    memory.retract([kitten.id], FULL)
    text = await client.call("recall_memory", node_id=kitten.id)
    assert "retracted" in text
    assert "kitten" not in text


@pytest.mark.parametrize("name", ["cluster_id", "node_id"])
async def test_ids_are_checked(client: BeingClient, name: str) -> None:
    assert name in await client.error("recall_memory", **{name: "1; DROP TABLE nodes"})
    missing = str(uuid4())
    assert missing in await client.error("recall_memory", **{name: missing})


async def test_a_node_of_another_being_is_not_there(
    client: BeingClient, store: BeingStore, kitten: Node, cluster: str
) -> None:
    stranger = BeingClient(client.server, store.create("Stranger"))
    assert "there is no node" in await stranger.error("recall_memory", node_id=kitten.id)
    assert "there is no cluster" in await stranger.error("recall_memory", cluster_id=cluster)
