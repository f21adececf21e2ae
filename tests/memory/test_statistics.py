"""A Being, and a whole store, at a glance; the same on both stores."""

from __future__ import annotations

import pytest

from clawkit.errors import BeingError
from clawkit.memory.being_store import BeingStore
from clawkit.memory.records import Scene
from clawkit.memory.statistics import node_called, overview, view
from clawkit.memory.tokens import Caller
from clawkit.store.database import Database

ME = Caller()


@pytest.fixture
def store(database: Database) -> BeingStore:
    return BeingStore(database, "none")


def test_a_view_has_clusters_recent_memories_and_what_waits(store: BeingStore) -> None:
    being = store.create("anna")
    memory = store.open(being)
    for text in ("Anna likes tea", "The contract meeting is in March", "Ben plays chess"):
        memory.remember(text, ME)
    memory.take_notes(ME, scenes=[Scene("saw a fox", ("Anna",), ("2026-01-02",))], notes=["milk"])
    found = view(store.database, being, recent=2)
    assert found.memories == 4
    assert {one.cluster.name: one.counts for one in found.tree} == {
        "Private": {"active": 3},
        "Business": {"active": 1},
    }
    assert [node.scene.action for node in found.recent] == [
        "saw a fox",
        "Ben plays chess",
    ]
    assert found.waiting_scenes == 1
    assert [note.text for note in found.notes] == ["milk"]
    assert found.last_patrol is None
    memory.patrol(ME)
    assert view(store.database, being).last_patrol is not None


def test_a_node_is_found_by_the_beginning_of_its_id_within_its_being_only(
    store: BeingStore,
) -> None:
    being, other = store.create("anna"), store.create("ben")
    node = store.open(being).remember("Anna likes tea", ME)
    with store.database.read(being.n) as unit:
        assert node_called(unit, node.id[:8].upper()) == node
        assert node_called(unit, node.id) == node
        for odd in ("", "abc", "____", "%%%%", "' OR 1=1"):
            with pytest.raises(BeingError, match="is no id of a memory"):
                node_called(unit, odd)
    with store.database.read(other.n) as unit, pytest.raises(BeingError, match="no memory"):
        node_called(unit, node.id)


def test_an_overview_counts_the_whole_store(store: BeingStore) -> None:
    assert overview(store.database, "assistant").own is None
    being = store.default()
    store.open(being).remember("Anna likes tea", ME)
    store.open(store.create("ben")).remember("Ben plays chess", ME)
    found = overview(store.database, "assistant")
    assert (found.beings, found.memories, found.jobs) == (2, 2, ())
    assert found.own is not None
    assert (found.own.id, found.own.memories) == (being.id, 1)
