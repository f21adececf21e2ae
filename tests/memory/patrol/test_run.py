"""The whole round: dry runs, many notes, patrols beside one another."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.records import Scene
from clawkit.memory.store import beings, messages, notes
from tests.memory.patrol.minds import NOW, Mind, open_mind


def test_without_a_model_only_what_needs_one_is_skipped(mind: Mind) -> None:
    outcome = mind.patrol(ConversationMessage("user", "I love fjords."))
    assert (outcome.status, outcome.stopped) == ("ok", "")
    assert (outcome.scenes_created, outcome.nodes_created) == (1, 1)
    skipped = {name for name, said in outcome.steps.items() if said == "skipped: no model"}
    assert skipped == {"superseded", "merged", "diary"}
    assert outcome.steps["heard"] == "by rules"


def test_digests_are_made_without_a_model(mind: Mind) -> None:
    mind.remember(
        Scene("went fishing", ("Ben",), importance=0.4),
        Scene("got married", ("Ben", "Eva"), importance=0.9),
        Scene("ate soup", importance=0.1),
        Scene("saw a film", importance=0.2),
    )
    digest = mind.clusters()["Private"].digest
    assert digest == "Ben, Eva: got married; went fishing; saw a film"
    mind.remember(Scene("broke a leg", ("Ben",), importance=1.0))
    assert mind.clusters()["Private"].digest.startswith("Ben, Eva: broke a leg; got married")


def test_a_dry_run_says_what_would_happen_and_leaves_nothing_behind(mind: Mind) -> None:
    made = mind.remember("apples", "pears", "plums")
    mind.forget(made[0].seq)
    mind.note("cherries")
    before, history = mind.rows(), mind.history()
    would = mind.patrol(ConversationMessage("user", "I love fjords."), dry_run=True)
    assert (mind.rows(), mind.history()) == (before, history)
    with mind.database.read(mind.being) as unit:
        assert messages.search(unit) == []
    did = mind.patrol(ConversationMessage("user", "I love fjords."))
    assert would == did
    assert (did.nodes_created, did.steps["dying"]) == (2, 1)


def test_a_thousand_notes_become_a_thousand_nodes_in_their_order(mind: Mind) -> None:
    mind.note(*(f"boat number {n} was painted by {n % 7}" for n in range(1000)))
    outcome = mind.patrol()
    assert outcome.nodes_created == 1000
    found = mind.nodes()
    assert [node.seq for node in found] == list(range(1, 1001))
    assert [node.scene.action.split()[2] for node in found] == [str(n) for n in range(1000)]
    (remembered, *_) = mind.history()
    assert [change.key for change in remembered.changes if change.table == "nodes"] == ["1-1000"]


def test_patrols_in_many_threads_make_no_note_two_nodes(mind: Mind) -> None:
    mind.note(*(f"boat number {n} was painted" for n in range(60)))
    said = [ConversationMessage("user", f"I own {n} boats.") for n in range(20)]
    start = threading.Barrier(4)

    def run(_: int) -> tuple[int, int]:
        start.wait()
        outcome = mind.patrol(*said)
        return outcome.scenes_created, outcome.nodes_created

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(run, range(4)))
    assert sum(scenes for scenes, _ in outcomes) == 20
    assert sum(made for _, made in outcomes) == 80
    actions = Counter(node.scene.action for node in mind.nodes())
    assert len(actions) == 80
    assert set(actions.values()) == {1}
    with mind.database.read(mind.being) as unit:
        assert notes.count(unit, "scene") == 0


def test_patrols_of_two_stores_on_one_file_make_no_note_two_nodes(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path / 'beings.db'}"
    minds = [open_mind(address), open_mind(address)]
    minds[0].note(*(f"boat number {n} was painted" for n in range(40)))
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda mind: mind.patrol(), minds))
    assert sum(outcome.nodes_created for outcome in outcomes) == 40
    assert len(minds[1].nodes()) == 40
    for mind in minds:
        mind.database.close()


def test_a_patrol_of_one_being_leaves_another_as_it_is(tmp_path: Path) -> None:
    one = open_mind(f"sqlite:{tmp_path / 'beings.db'}")
    with one.database.registry(write=True) as connection:
        other = Mind(one.database, beings.create(connection, "other", "Other", NOW).n)
    other.remember("apples")
    before = other.rows()
    one.remember("apples", "pears")
    one.patrol(now=NOW + 5)
    assert other.rows() == before
    one.database.close()


@pytest.mark.parametrize("step", [-10_000.0, 0.0, 10_000.0])
def test_whatever_the_clock_does_ages_and_order_stay_sane(mind: Mind, step: float) -> None:
    now = NOW
    for n in range(5):
        mind.note(f"boat number {n} was painted", at=now)
        mind.patrol(now=now)
        now += step
    found = mind.nodes()
    assert [node.seq for node in found] == [1, 2, 3, 4, 5]
    assert [node.session_count for node in found] == [5, 4, 3, 2, 1]
    assert [node.scene.action.split()[2] for node in found] == list("01234")
    assert [entry.n for entry in mind.history()] == list(range(1, len(mind.history()) + 1))
