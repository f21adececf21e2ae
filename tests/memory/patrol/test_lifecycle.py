"""❷, ❸ and ❺: how memories age, die and live again, by days and use."""

from __future__ import annotations

import pytest

from clawkit.memory.patrol.lifecycle import LIFE, Age, strength
from clawkit.memory.store import nodes, reads
from tests.memory.patrol.minds import DAY, NOW, Mind


def test_strength_is_importance_fading_over_half_a_year_and_longer_with_use() -> None:
    assert strength(0.5, 0) == 0.5
    assert strength(0.5, LIFE) == pytest.approx(0.5 / 2.718281828)
    assert strength(0.5, 2 * LIFE, uses=1) == strength(0.5, LIFE)
    assert strength(0.5, 4 * LIFE, uses=7) == strength(0.5, LIFE)


@pytest.mark.parametrize(
    ("importance", "uses", "last_alive"),
    [(0.5, 0, 414), (1.0, 0, 539), (0.1, 0, 124), (0.5, 1, 828), (0.5, 3, 1243), (0.05, 0, -1)],
)
def test_a_memory_is_faint_after_so_many_days(
    importance: float, uses: int, last_alive: int
) -> None:
    age = Age(NOW)
    assert last_alive < 0 or not age.is_faint(importance, NOW - last_alive * DAY, uses)
    assert age.is_faint(importance, NOW - (last_alive + 1) * DAY, uses)


def test_a_clock_that_went_back_makes_nothing_older() -> None:
    assert not Age(NOW).is_faint(0.5, NOW + 5000 * DAY, 0)


@pytest.mark.slow
def test_patrols_ten_times_a_day_let_nothing_fade_faster(mind: Mind) -> None:
    often, rarely = mind.remember("apples", "pears")
    for day in range(30):
        for hour in range(10):
            mind.patrol(now=NOW + day * DAY + hour * 3600)
    assert {node.status for node in mind.nodes()} == {"active"}
    assert mind.node(often.seq).session_count == 301
    mind.forget(rarely.seq)
    mind.patrol(now=NOW + 31 * DAY)
    assert mind.node(often.seq).status == "active"
    assert mind.node(rarely.seq).status == "dying"


def test_every_patrol_is_counted_for_active_memories(mind: Mind) -> None:
    one, _, three = mind.remember("apples", "pears", "plums")
    mind.forget(three.seq, status="dead", session_count=80)
    mind.patrol()
    assert mind.node(one.seq).session_count == 2
    assert mind.node(three.seq).session_count == 80


def test_an_active_memory_that_is_faint_is_dying(mind: Mind) -> None:
    one, two, three, four = mind.remember("apples", "pears", "plums", "figs")
    mind.forget(one.seq, 415)
    mind.forget(two.seq, 414)
    mind.forget(three.seq, 5000, pinned=1)
    mind.forget(four.seq, 415, reactivation_count=1)
    outcome = mind.patrol()
    assert [node.status for node in mind.nodes()] == ["dying", "active", "active", "active"]
    assert (outcome.steps["dying"], outcome.steps["dead"]) == (1, 0)


def test_what_nobody_asks_for_within_a_week_of_dying_is_dead_and_still_known(mind: Mind) -> None:
    (one,) = mind.remember("apples")
    mind.forget(one.seq, 415)
    for hours in (0, 1, 24, 6 * 24):
        mind.patrol(now=NOW + hours * 3600)
        assert mind.node(one.seq).status == "dying"
    outcome = mind.patrol(now=NOW + 7 * DAY)
    assert outcome.steps["dead"] == 1
    node = mind.node(one.seq)
    assert (node.status, node.ended) == ("dead", None)
    assert mind.patrol(now=NOW + 8 * DAY).steps["revived"] == 0


def test_what_was_forgotten_long_ago_is_dying_before_it_is_dead(mind: Mind) -> None:
    (one,) = mind.remember("apples")
    mind.forget(one.seq, 5000)
    mind.patrol()
    assert mind.node(one.seq).status == "dying"
    mind.patrol()
    assert mind.node(one.seq).status == "dead"


def test_what_is_asked_for_while_dying_goes_back_to_the_living(mind: Mind) -> None:
    one, two = mind.remember("apples", "pears")
    mind.forget(one.seq, status="dying")
    mind.forget(two.seq, status="dying", pinned=1)
    with mind.database.write(mind.being) as unit:
        nodes.touch(unit, {one.seq: 1}, NOW)
    outcome = mind.patrol()
    assert outcome.steps["spared"] == 2
    assert {node.status for node in mind.nodes()} == {"active"}


@pytest.mark.parametrize(("asked_for", "lives"), [(2, True), (0, False)])
def test_the_dead_revive_when_they_are_asked_for(mind: Mind, asked_for: int, lives: bool) -> None:
    (one,) = mind.remember("apples")
    mind.forget(one.seq, status="dead", session_count=70)
    if asked_for:
        with mind.database.write(mind.being) as unit:
            nodes.touch(unit, {one.seq: asked_for}, NOW)
    outcome = mind.patrol()
    assert outcome.steps["revived"] == int(lives)
    node = mind.node(one.seq)
    assert node.status == ("active" if lives else "dead")
    assert (node.session_count, node.reactivation_count) == (0 if lives else 70, asked_for)


def test_a_revived_memory_fades_again_and_does_not_come_back_for_ever(mind: Mind) -> None:
    (one,) = mind.remember("apples")
    mind.forget(one.seq, status="dead")
    with mind.database.write(mind.being) as unit:
        nodes.touch(unit, {one.seq: 1}, NOW)
    states: list[str] = []
    for day in (0, 400, 828, 830, 840, 5000):
        mind.patrol(now=NOW + day * DAY)
        states.append(mind.node(one.seq).status)
    assert states == ["active", "active", "active", "dying", "dead", "dead"]


def test_an_unimportant_memory_is_not_revived(mind: Mind) -> None:
    (one,) = mind.remember("apples")
    mind.forget(one.seq, status="dead", importance=0.05, reactivation_count=50)
    mind.patrol()
    assert mind.node(one.seq).status == "dead"


def test_what_patrols_had_counted_to_death_lives_again(mind: Mind) -> None:
    """Stores of before have memories of last week that a hundred patrols let die."""
    (one,) = mind.remember("apples")
    mind.change(one.seq, status="dead", session_count=100)
    assert mind.patrol(now=NOW + 7 * DAY).steps["revived"] == 1
    assert mind.node(one.seq).status == "active"


def test_what_read_only_readers_read_counts_once_a_node(mind: Mind) -> None:
    one, two, three = mind.remember("apples", "pears", "plums")
    mind.change(one.seq, session_count=40)
    mind.forget(two.seq, status="dead", session_count=70)
    with mind.database.write(mind.being) as unit:
        reads.queue(unit, "reader-1", {one.seq: 500, two.seq: 3}, NOW + 5)
        reads.queue(unit, "reader-2", {one.seq: 500}, NOW + 9)
    assert mind.node(one.seq).reactivation_count == 0
    outcome = mind.patrol(now=NOW + 10)
    assert outcome.steps["read"] == 2
    read = mind.node(one.seq)
    assert (read.reactivation_count, read.session_count, read.last_activated) == (1, 1, NOW + 9)
    assert mind.node(two.seq).status == "active"
    assert mind.node(three.seq).reactivation_count == 0
    assert mind.patrol(now=NOW + 11).steps["read"] == 0


def test_above_the_cap_the_weakest_die_now_and_the_others_next_time(mind: Mind) -> None:
    made = mind.remember(*(f"fruit number {n}" for n in range(30)))
    for at, node in enumerate(made[:21]):
        mind.forget(node.seq, 900 - at, status="dying")
    mind.forget(made[25].seq)
    outcome = mind.patrol()
    assert (outcome.status, outcome.stopped) == ("ok", "")
    assert (outcome.steps["dead"], outcome.steps["left"], outcome.steps["dying"]) == (20, 1, 1)
    assert mind.node(made[0].seq).status == "dead"
    assert mind.node(made[20].seq).status == "dying"
    outcome = mind.patrol()
    assert (outcome.steps["dead"], "left" in outcome.steps) == (2, False)


def test_a_cap_blocks_neither_revival_nor_any_other_step(mind: Mind) -> None:
    made = mind.remember(*(f"fruit number {n}" for n in range(6)))
    for node in made[:3]:
        mind.forget(node.seq, status="dying")
    mind.change(made[3].seq, status="dead")
    mind.topic("Small", "Private", [made[4].seq])
    outcome = mind.patrol(cap=0)
    assert (outcome.steps["dead"], outcome.steps["left"]) == (0, 3)
    assert (outcome.steps["revived"], outcome.steps["joined"]) == (1, 1)
    assert "described" in outcome.steps


def test_the_cap_is_a_tenth_of_a_large_memory(mind: Mind) -> None:
    made = mind.remember(*(f"fruit number {n}" for n in range(330)))
    for node in made[:30]:
        mind.forget(node.seq, status="dying")
    assert mind.patrol().steps["dead"] == 30
    for node in made[30:60]:
        mind.forget(node.seq, status="dying")
    outcome = mind.patrol()
    assert (outcome.steps["dead"], outcome.steps["left"]) == (27, 3)
