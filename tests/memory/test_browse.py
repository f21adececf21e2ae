"""The map of memories, their days, and what was so before."""

from __future__ import annotations

import numpy as np
import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.browse import (
    EDGE,
    MemoryMap,
    ended_facts,
    memory_map,
    stamp_of_memories,
    story,
    timeline,
)
from clawkit.memory.memory import Memory
from clawkit.memory.statistics import node_called
from clawkit.memory.store import clusters, nodes
from clawkit.memory.tokens import Caller, issue, revoke
from clawkit.store.database import Database
from tests.memory.http.being_store import Clock


@pytest.fixture
def store(database: Database, clock: Clock) -> BeingStore:
    """The Beings of either kind of store, at a time that tests set."""
    return BeingStore(database, "none", clock=clock)


_MODEL = "test"
_DIMENSIONS = 16


def _drawn(memory: Memory, store: BeingStore, most: int = 1000) -> MemoryMap:
    with store.database.read(memory.being.n) as unit:
        return memory_map(unit, most)


def _give_vectors(memory: Memory, store: BeingStore, groups: list[int]) -> None:
    """Each memory a vector near the middle of its group."""
    numbers = np.random.default_rng(7)
    middles = numbers.normal(size=(max(groups) + 1, _DIMENSIONS))
    vectors = middles[groups] + numbers.normal(scale=0.2, size=(len(groups), _DIMENSIONS))
    with store.database.write(memory.being.n) as unit:
        unit.vectors.put(_MODEL, range(1, len(groups) + 1), vectors.astype(np.float32))


def _told(store: BeingStore, *texts: str) -> Memory:
    memory = store.open(store.default())
    for text in texts:
        memory.remember(text, Caller())
    return memory


def test_what_means_the_same_is_near_on_the_map(store: BeingStore) -> None:
    groups = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    memory = _told(store, *(f"fact {number}" for number in range(9)))
    _give_vectors(memory, store, groups)
    found = _drawn(memory, store)
    places = np.array([found.x, found.y]).T
    assert places.min() >= 0
    assert places.max() <= EDGE
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    same = np.equal.outer(groups, groups)
    assert apart[same].max() < apart[~same].min()


def test_the_same_memories_give_the_same_map(store: BeingStore) -> None:
    memory = _told(store, *(f"fact {number}" for number in range(40)))
    _give_vectors(memory, store, [number % 4 for number in range(40)])
    assert _drawn(memory, store) == _drawn(memory, store)


def test_a_map_without_any_vector_still_has_every_memory_at_a_place_of_its_own(
    store: BeingStore,
) -> None:
    memory = _told(store, *(f"fact {number}" for number in range(30)))
    found = _drawn(memory, store)
    assert found.total == len(found.ids) == 30
    assert len(set(zip(found.x, found.y, strict=True))) == 30


def test_a_map_of_nothing_is_empty(store: BeingStore) -> None:
    found = _drawn(_told(store), store)
    assert (found.total, found.ids) == (0, [])


def test_a_map_has_the_newest_and_says_how_many_there_are(store: BeingStore) -> None:
    memory = _told(store, *(f"fact {number}" for number in range(12)))
    found = _drawn(memory, store, 5)
    assert found.total == 12
    with store.database.read(memory.being.n) as unit:
        assert [node_called(unit, i).scene.action for i in found.ids][-1] == "fact 11"
        assert len(found.ids) == 5


def test_topics_on_the_map_know_how_many_of_their_memories_are_shown(store: BeingStore) -> None:
    memory = _told(store, "one", "two", "three")
    found = _drawn(memory, store)
    with store.database.read(memory.being.n) as unit:
        assert [topic.name for topic in found.topics] == [one.name for one in clusters.every(unit)]
    assert sum(topic.memories for topic in found.topics) == 3


def test_the_timeline_is_by_the_day_that_a_scene_names(store: BeingStore) -> None:
    memory = store.open(store.default())
    memory.remember("moved to Bern", Caller(), when=["2026-03-01"])
    memory.remember("met Ada", Caller(), when=["2026-11-03"])
    memory.remember("born", Caller(), when=["1990-05-05"])
    with store.database.read(memory.being.n) as unit:
        found = timeline(unit)
        march = timeline(unit, until="2026-03")
    assert [(day, node.scene.action) for day, node in found.scenes] == [
        ("2026-11-03", "met Ada"),
        ("2026-03-01", "moved to Bern"),
        ("1990-05-05", "born"),
    ]
    assert found.months == {"2026-11": 1, "2026-03": 1, "1990-05": 1}
    assert [node.scene.action for _, node in march.scenes] == ["moved to Bern", "born"]


def test_pages_of_the_timeline_follow_one_another(store: BeingStore) -> None:
    memory = _told(store, *(f"fact {number}" for number in range(7)))
    with store.database.read(memory.being.n) as unit:
        pages = [timeline(unit, offset, 3) for offset in (0, 3, 6)]
    seen = [node.seq for page in pages for _, node in page.scenes]
    assert seen == [7, 6, 5, 4, 3, 2, 1]
    assert {page.total for page in pages} == {7}


def test_a_fact_that_was_replaced_says_until_when_and_what_is_so_now(
    store: BeingStore, clock: Clock
) -> None:
    memory = store.open(store.default())
    renate = memory.remember("The boss is Renate", Caller())
    clock.now += 86_400
    tom = memory.restate(renate, "The boss is Tom", Caller())
    with store.database.read(memory.being.n) as unit:
        (fact,) = ended_facts(unit)
    assert fact.was.scene.action == "The boss is Renate"
    assert fact.was.ended == clock.now
    assert (fact.how, fact.now and fact.now.id) == ("replaced", tom.id)
    assert fact.why
    assert fact.entry == memory.ledger(1)[0].n


def test_what_was_undone_is_no_ended_fact(store: BeingStore) -> None:
    memory = _told(store, "The boss is Renate")
    with store.database.read(memory.being.n) as unit:
        (old,) = nodes.page(unit)
    memory.retract([old.id], Caller(), "not true")
    with store.database.read(memory.being.n) as unit:
        (fact,) = ended_facts(unit)
    assert (fact.how, fact.why) == ("taken back", "not true")
    assert fact.entry is not None
    memory.undo(fact.entry, Caller())
    with store.database.read(memory.being.n) as unit:
        assert ended_facts(unit) == ()


def test_the_story_of_a_memory_has_all_that_was_so_before(store: BeingStore, clock: Clock) -> None:
    memory = store.open(store.default())
    node = memory.remember("The boss is Renate", Caller())
    for name in ("Tom", "Ada"):
        clock.now += 60
        node = memory.restate(node, f"The boss is {name}", Caller())
    with store.database.read(memory.being.n) as unit:
        found = story(unit, node)
        first = story(unit, found.before[-1].was)
    assert [fact.was.scene.action for fact in found.before] == [
        "The boss is Tom",
        "The boss is Renate",
    ]
    assert found.after is None
    assert first.before == ()
    assert first.after is not None
    assert first.after.now is not None
    assert first.after.now.scene.action == "The boss is Tom"


def test_who_is_not_named_any_more_does_not_belong_to_a_restated_memory(store: BeingStore) -> None:
    memory = store.open(store.default())
    old = memory.remember("The boss is Renate", Caller(), actors=["Renate", "Ada"])
    new = memory.restate(old, "The boss is Tom", Caller())
    assert new.scene.actors == ("Ada",)


def test_the_stamp_of_a_store_is_another_one_whenever_something_in_it_is(
    store: BeingStore, clock: Clock
) -> None:
    seen = [stamp_of_memories(store.database)]
    memory = store.open(store.default())
    seen.append(stamp_of_memories(store.database))
    node = memory.remember("The boss is Renate", Caller())
    seen.append(stamp_of_memories(store.database))
    memory.restate(node, "The boss is Tom", Caller())
    seen.append(stamp_of_memories(store.database))
    memory.undo(memory.ledger(1)[0].n, Caller())
    seen.append(stamp_of_memories(store.database))
    _, token = issue(store, memory.being)
    seen.append(stamp_of_memories(store.database))
    with store.database.registry(write=True) as connection:
        revoke(connection, token.id, clock.now)
    seen.append(stamp_of_memories(store.database))
    assert len(set(seen)) == len(seen)
    assert stamp_of_memories(store.database) == seen[-1]


def test_pages_of_memories_follow_one_another_and_can_be_of_one_topic(store: BeingStore) -> None:
    memory = _told(store, *(f"Fact {number} of A_B%" for number in range(7)))
    with store.database.read(memory.being.n) as unit:
        order = "created DESC, seq DESC"
        pages = [nodes.page(unit, order=order, offset=at, limit=3) for at in (0, 3, 6)]
        (topic, *_) = clusters.every(unit)
        ours = nodes.page(unit, cluster=topic.n, contains="fact 3 OF a_b%")
    assert [node.seq for page in pages for node in page] == [7, 6, 5, 4, 3, 2, 1]
    assert [node.scene.action for node in ours] == ["Fact 3 of A_B%"]
