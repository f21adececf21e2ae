"""❷, ❸ and ❺: how memories age, die and live again, by the numbers."""

from __future__ import annotations

import pytest

from clawkit.memory.patrol.strength import is_faint, strength
from clawkit.memory.store import nodes, touches
from tests.memory.patrol.minds import NOW, Mind


def test_strength_is_importance_fading_over_thirty_patrols() -> None:
    assert strength(0.5, 0) == 0.5
    assert strength(0.5, 30) == pytest.approx(0.5 / 2.718281828)
    assert strength(0.5, 30, 10) == strength(0.5, 20)
    assert strength(0.5, 3, 10) == 0.5


@pytest.mark.parametrize(
    ("importance", "last_alive"), [(0.5, 69), (1.0, 89), (0.3, 53), (0.1, 20), (0.05, -1)]
)
def test_a_memory_is_faint_at_a_strength_of_005(importance: float, last_alive: int) -> None:
    assert last_alive < 0 or not is_faint(importance, last_alive)
    assert is_faint(importance, last_alive + 1)


def test_every_patrol_makes_active_memories_one_patrol_older(mind: Mind) -> None:
    one, two, three = mind.remember("apples", "pears", "plums")
    mind.change(two.seq, status="dying", session_count=5)
    mind.change(three.seq, status="dead", session_count=80)
    mind.patrol()
    assert mind.node(one.seq).session_count == 2
    assert mind.node(three.seq).session_count == 80


def test_an_active_memory_that_is_faint_is_dying(mind: Mind) -> None:
    one, two, three = mind.remember("apples", "pears", "plums")
    mind.change(one.seq, session_count=69)
    mind.change(two.seq, session_count=68)
    mind.change(three.seq, session_count=500, pinned=1)
    outcome = mind.patrol()
    assert [node.status for node in mind.nodes()] == ["dying", "active", "active"]
    assert (outcome.steps["dying"], outcome.steps["dead"]) == (1, 0)


def test_what_is_still_dying_at_the_next_patrol_is_dead_and_still_known(mind: Mind) -> None:
    (one,) = mind.remember("apples")
    mind.change(one.seq, session_count=69)
    mind.patrol()
    assert mind.node(one.seq).status == "dying"
    outcome = mind.patrol()
    assert outcome.steps["dead"] == 1
    node = mind.node(one.seq)
    assert (node.status, node.ended) == ("dead", None)
    assert mind.patrol().steps["revived"] == 0


def test_what_is_asked_for_while_dying_goes_back_to_the_living(mind: Mind) -> None:
    one, two = mind.remember("apples", "pears")
    mind.change(one.seq, status="dying", session_count=70)
    mind.change(two.seq, status="dying", session_count=70, pinned=1)
    with mind.database.write(mind.being) as unit:
        nodes.touch(unit, {one.seq: 1}, NOW)
    outcome = mind.patrol()
    assert outcome.steps["spared"] == 2
    assert {node.status for node in mind.nodes()} == {"active"}


@pytest.mark.parametrize(
    ("sessions", "asked_for", "lives"),
    [(70, 2, True), (70, 1, True), (72, 2, False), (70, 0, False)],
)
def test_the_dead_revive_when_asked_for_often_enough(
    mind: Mind, sessions: int, asked_for: int, lives: bool
) -> None:
    (one,) = mind.remember("apples")
    values = {"session_count": sessions, "reactivation_count": asked_for}
    mind.change(one.seq, status="dead", **values)
    outcome = mind.patrol()
    assert outcome.steps["revived"] == int(lives)
    node = mind.node(one.seq)
    assert node.status == ("active" if lives else "dead")
    if lives:
        assert (node.session_count, node.reactivation_count) == (sessions - asked_for, 0)


def test_a_revived_memory_lives_as_long_as_it_was_asked_for_and_not_for_ever(mind: Mind) -> None:
    (one,) = mind.remember("apples")
    mind.change(one.seq, status="dead", session_count=72, reactivation_count=5)
    states: list[str] = []
    for _ in range(8):
        mind.patrol()
        states.append(mind.node(one.seq).status)
    assert states == ["active", "active", "active", "dying", "dead", "dead", "dead", "dead"]


def test_an_unimportant_memory_is_not_revived(mind: Mind) -> None:
    (one,) = mind.remember("apples")
    mind.change(one.seq, status="dead", importance=0.05, reactivation_count=50)
    mind.patrol()
    assert mind.node(one.seq).status == "dead"


def test_what_read_only_readers_read_counts_once_a_node(mind: Mind) -> None:
    one, two, three = mind.remember("apples", "pears", "plums")
    mind.change(one.seq, session_count=40)
    mind.change(two.seq, status="dead", session_count=70)
    with mind.database.write(mind.being) as unit:
        touches.queue(unit, "reader-1", {one.seq: 500, two.seq: 3}, NOW + 5)
        touches.queue(unit, "reader-2", {one.seq: 500}, NOW + 9)
    assert mind.node(one.seq).reactivation_count == 0
    outcome = mind.patrol(now=NOW + 10)
    assert outcome.steps["read"] == 2
    read = mind.node(one.seq)
    assert (read.reactivation_count, read.session_count, read.last_activated) == (1, 1, NOW + 9)
    assert mind.node(two.seq).status == "active"
    assert mind.node(three.seq).reactivation_count == 0
    assert mind.patrol(now=NOW + 11).steps["read"] == 0


def test_a_patrol_that_would_kill_more_than_the_cap_stops_before(mind: Mind) -> None:
    made = mind.remember(*(f"fruit number {n}" for n in range(30)))
    for node in made[:21]:
        mind.change(node.seq, status="dying", session_count=100)
    mind.change(made[25].seq, session_count=100)
    before = [node.status for node in mind.nodes()]
    outcome = mind.patrol()
    assert outcome.status == "stopped"
    assert "21 memories would die, and one patrol may take 20" in outcome.stopped
    assert [node.status for node in mind.nodes()] == before
    assert "joined" not in outcome.steps
    outcome = mind.patrol(cap=21)
    assert (outcome.status, outcome.steps["dead"], outcome.steps["dying"]) == ("ok", 21, 1)


def test_the_cap_is_a_tenth_of_a_large_memory(mind: Mind) -> None:
    made = mind.remember(*(f"fruit number {n}" for n in range(330)))
    for node in made[:30]:
        mind.change(node.seq, status="dying", session_count=100)
    assert mind.patrol().steps["dead"] == 30
    for node in made[30:60]:
        mind.change(node.seq, status="dying", session_count=100)
    outcome = mind.patrol()
    assert "30 memories would die, and one patrol may take 27" in outcome.stopped
