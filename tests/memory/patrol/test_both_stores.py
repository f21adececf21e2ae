"""One whole life of a memory on SQLite and on PostgreSQL: the same steps, the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from clawkit.memory import undo as history
from clawkit.memory.patrol.replacement import merge, retract, supersede
from clawkit.memory.patrol.run import RUNNING
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.patrol.vectors import Embed, catch_up
from clawkit.memory.records import Scene
from clawkit.memory.store import reads
from tests.memory.patrol.minds import NOW, Mind, WordEmbedder, grown, open_mind


@pytest.fixture
def either(address: str) -> Iterator[Mind]:
    mind = open_mind(address)
    yield mind
    mind.database.close()


def test_a_patrol_does_the_same_on_both_and_can_be_undone(either: Mind) -> None:
    grown(either)
    before, done = either.rows(), either.history()[-1].n
    dry = either.patrol(now=NOW + 50, dry_run=True)
    assert either.rows() == before
    outcome = either.patrol(now=NOW + 50)
    expected = {"aged": 34, "dying": 8, "dead": 4, "spared": 1, "revived": 1, "joined": 1}
    assert {name: outcome.steps[name] for name in expected} == expected
    assert dry.steps == outcome.steps
    for n in range(either.history()[-1].n, done, -1):
        with either.database.write(either.being) as unit:
            history.undo(unit, n, NOW + 100, "t")
    assert either.rows() == before


def test_memories_are_merged_replaced_and_taken_back_on_both(either: Mind) -> None:
    one, two, three, four = either.remember("red apples", "green apples", "pears", "plums")
    assert either.embedder
    with either.database.write(either.being) as unit:
        merged = merge(
            unit,
            [one, two],
            "apples",
            now=NOW,
            token="t",
            embed=Embed("words", either.embedder.embed),
        )
        newer = supersede(unit, three, Scene("ripe pears"), now=NOW, token="t")
        retract(unit, [four], now=NOW, token="t")
    assert [node.seq for node in either.nodes()] == [merged.seq, newer.seq]
    for entry in reversed(either.history()[-3:]):
        with either.database.write(either.being) as unit:
            history.undo(unit, entry.n, NOW + 1, "t")
    assert [node.seq for node in either.nodes()] == [one.seq, two.seq, three.seq, four.seq]


def test_reads_count_and_vectors_are_made_up_for_on_both(either: Mind) -> None:
    (one, *_) = either.remember("red apples", "green apples", embedder=None)
    with either.database.write(either.being) as unit:
        reads.queue(unit, "reader", {one.seq: 7}, NOW + 5)
    assert either.patrol(now=NOW + 9).steps["read"] == 1
    assert either.node(one.seq).reactivation_count == 1
    assert catch_up(either.database, either.being, WordEmbedder("other", 64)) == 2
    with either.database.read(either.being) as unit:
        assert unit.vectors.counts() == {"other": 2}


def test_hostile_text_is_remembered_on_both(either: Mind) -> None:
    hostile = "I love \x00 it'; DROP TABLE nodes; -- %s $being $1 {?} \ud800 much"
    outcome = either.patrol(ConversationMessage("user", hostile), conversation="c\x00\udfff")
    assert outcome.nodes_created == 1


def test_two_patrols_at_once_make_no_note_two_nodes_on_both(either: Mind, address: str) -> None:
    other = open_mind(address)
    either.note(*(f"boat number {n} was painted" for n in range(40)))
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda mind: mind.patrol(), (either, other)))
    assert sum(outcome.nodes_created for outcome in outcomes) == 40
    assert len(either.nodes()) == 40
    other.database.close()


def test_two_patrols_at_once_age_memories_once_on_both(either: Mind, address: str) -> None:
    (one, *_) = either.remember("red apples", "green pears", "blue plums")
    before = either.node(one.seq).session_count
    either.note("a boat was painted")
    other = open_mind(address)
    with either.database.patrolling(either.being) as alone:
        assert alone
        outcome = other.patrol(now=NOW + 1)
    assert (outcome.status, outcome.stopped, outcome.nodes_created) == ("stopped", RUNNING, 1)
    assert either.node(one.seq).session_count == before
    assert other.patrol(now=NOW + 2).status == "ok"
    assert either.node(one.seq).session_count == before + 1
    other.database.close()


def test_a_patrol_of_one_being_leaves_others_alone_on_both(either: Mind) -> None:
    with (
        either.database.patrolling(either.being) as mine,
        either.database.patrolling(either.being + 1) as theirs,
        either.database.patrolling(either.being) as again,
    ):
        assert (mine, theirs, again) == (True, True, False)
    with either.database.patrolling(either.being) as later:
        assert later
