from __future__ import annotations

import pytest

from clawkit.errors import BeingError
from clawkit.memory import undo as history
from clawkit.memory.patrol.replacement import merge, retract
from clawkit.memory.patrol.topics import Topic, split_off
from clawkit.memory.records import Change, Entry
from clawkit.memory.store import entries, nodes
from clawkit.memory.store import ledger as stored
from clawkit.memory.store.ledger import key_of, ranges_of
from tests.memory.patrol.minds import NOW, Mind, grown


def _undo(mind: Mind, n: int, **options: bool) -> list[Change]:
    with mind.database.write(mind.being) as unit:
        return history.undo(unit, n, NOW + 100, "token-3", **options)


def _last(mind: Mind, kind: str) -> int:
    return [entry.n for entry in mind.history() if entry.kind == kind][-1]


def test_many_nodes_are_one_short_key() -> None:
    key = key_of([5, 3, 4, 9, 1, 10])
    assert key == "1,3-5,9-10"
    assert ranges_of(key) == [(1, 1), (3, 5), (9, 10)]
    assert len(key_of(range(1, 100_001))) < 20


def test_every_step_that_changed_something_is_one_entry(mind: Mind) -> None:
    mind.remember("apples", "pears")
    assert [entry.kind for entry in mind.history()] == ["remembered", "aged", "described"]
    mind.patrol()
    assert [entry.kind for entry in mind.history()][3:] == ["aged"]
    assert [entry.n for entry in mind.history()] == [1, 2, 3, 4]
    assert all(entry.token == "token-1" and entry.at == NOW for entry in mind.history())


def test_undoing_a_patrol_from_its_end_gives_back_every_byte(mind: Mind) -> None:
    grown(mind)
    before, done = mind.rows(), mind.history()[-1].n
    outcome = mind.patrol(now=NOW + 50)
    assert all(outcome.steps[name] for name in ("aged", "dying", "dead", "spared", "revived"))
    assert outcome.steps["joined"] == 1
    assert mind.rows() != before
    for n in range(mind.history()[-1].n, done, -1):
        _undo(mind, n)
    assert mind.rows() == before


def test_undoing_a_merge_gives_back_the_merged_and_ends_the_one_they_became(mind: Mind) -> None:
    one, two, three = mind.remember("red apples", "green apples", "pears")
    before = mind.rows()
    with mind.database.write(mind.being) as unit:
        new = merge(unit, [one, two], "apples of both colours", now=NOW + 5, token="t")
    _undo(mind, _last(mind, "merged"))
    after = mind.rows()
    assert after["nodes"][:3] == before["nodes"]
    assert after["clusters"] == before["clusters"]
    ended = mind.node(new.seq)
    assert (ended.ended, ended.ending) == (NOW + 100, "retracted")
    assert [node.seq for node in mind.nodes()] == [one.seq, two.seq, three.seq]


def test_an_undo_can_be_undone(mind: Mind) -> None:
    one, two = mind.remember("red apples", "green apples")
    with mind.database.write(mind.being) as unit:
        new = merge(unit, [one, two], "apples of both colours", now=NOW + 5, token="t")
    merged, entry = mind.rows(), _last(mind, "merged")
    _undo(mind, entry)
    _undo(mind, _last(mind, "undo"))
    assert mind.rows() == merged
    assert mind.node(new.seq).ended is None
    found = {one.n: one.undone_by for one in mind.history()}
    assert found[entry] is None
    _undo(mind, entry)
    assert mind.node(one.seq).ended is None


def test_undoing_what_was_remembered_forgets_it(mind: Mind) -> None:
    mind.note("apples", "pears")
    mind.patrol()
    for entry in reversed(mind.history()):
        _undo(mind, entry.n)
    assert mind.nodes() == []
    assert set(mind.clusters()) == {"Private"}  # a root stays, empty or not
    assert mind.patrol().nodes_created == 0
    assert mind.nodes() == []


def test_a_dry_run_of_an_undo_says_what_it_would_change_and_changes_nothing(mind: Mind) -> None:
    (one,) = mind.remember("apples")
    with mind.database.write(mind.being) as unit:
        retract(unit, [one], now=NOW + 5, token="t")
    before, entries_before = mind.rows(), mind.history()
    changes = _undo(mind, _last(mind, "retracted"), dry_run=True)
    ended = {"ended": NOW + 5, "ending": "retracted"}
    assert changes == [Change("nodes", "1", ended, {"ended": None, "ending": ""})]
    assert (mind.rows(), mind.history()) == (before, entries_before)


def test_an_entry_whose_memory_was_changed_since_is_refused_with_what_to_undo_first(
    mind: Mind,
) -> None:
    one, two, three = mind.remember("red apples", "green apples", "pears")
    with mind.database.write(mind.being) as unit:
        new = merge(unit, [one, two], "apples of both colours", now=NOW + 5, token="t")
        merge(unit, [new, three], "fruit", now=NOW + 6, token="t")
    first, second = [entry.n for entry in mind.history() if entry.kind == "merged"]
    before = mind.rows()
    refusal = rf"entry {first} cannot be undone: entry {second} has .*undo entry {second}"
    with pytest.raises(BeingError, match=refusal):
        _undo(mind, first)
    assert mind.rows() == before
    _undo(mind, second)
    _undo(mind, first)
    assert [node.seq for node in mind.nodes()] == [one.seq, two.seq, three.seq]


def test_the_first_memory_can_be_undone_when_others_have_come(mind: Mind) -> None:
    mind.remember("apples")
    mind.remember("pears")
    _undo(mind, 1)
    assert [node.scene.action for node in mind.nodes()] == ["pears"]


def test_what_is_undone_already_or_never_was_is_refused(mind: Mind) -> None:
    mind.remember("apples")
    _undo(mind, 2)
    with pytest.raises(BeingError, match="entry 2 is undone already, by entry 4"):
        _undo(mind, 2)
    with pytest.raises(BeingError, match="no entry 99"):
        _undo(mind, 99)


def test_counters_that_reading_moved_since_stay_where_they_are(mind: Mind) -> None:
    (one,) = mind.remember("apples")
    mind.change(one.seq, status="dead", session_count=70, reactivation_count=2)
    mind.patrol()
    with mind.database.write(mind.being) as unit:
        nodes.touch(unit, {one.seq: 1}, NOW + 9)
    _undo(mind, _last(mind, "revived"))
    node = mind.node(one.seq)
    assert (node.status, node.session_count, node.reactivation_count) == ("dead", 70, 3)


def test_edits_of_structured_memory_are_undone_too(mind: Mind) -> None:
    entry = Entry("e1", "preferences", "tea", "likes green tea", NOW)
    with mind.database.write(mind.being) as unit:
        entries.add(unit, entry, "t")
        made = stored.row(unit, "entries", "e1")
        first = stored.add(unit, NOW, "edited", "", "t", [Change("entries", "e1", None, made)])
        entries.remove(unit, "e1")
        second = stored.add(unit, NOW, "edited", "", "t", [Change("entries", "e1", made, None)])
    _undo(mind, second)
    with mind.database.read(mind.being) as unit:
        assert entries.found(unit, "preferences") == [entry]
    _undo(mind, first)
    with mind.database.read(mind.being) as unit:
        assert entries.found(unit, "preferences") == []


def test_the_history_is_shown_newest_first(mind: Mind) -> None:
    mind.remember("apples")
    with mind.database.read(mind.being) as unit:
        assert [entry.n for entry in stored.latest(unit, 2)] == [3, 2]
        assert [entry.n for entry in stored.latest(unit, 2, before=2)] == [1]


def test_an_undo_that_is_back_in_force_has_undone_its_entry_again(mind: Mind) -> None:
    (one,) = mind.remember("apples")
    with mind.database.write(mind.being) as unit:
        retract(unit, [one], now=NOW + 5, token="t")
    entry = _last(mind, "retracted")
    for n in (entry, entry + 1, entry + 2):
        _undo(mind, n)
    assert mind.node(one.seq).ended is None
    found = {one.n: one.undone_by for one in mind.history()}
    assert [found[entry + at] for at in range(4)] == [entry + 1, None, entry + 3, None]
    with pytest.raises(BeingError, match="undone already"):
        _undo(mind, entry)


def test_a_memory_does_not_come_back_to_a_cluster_that_is_gone(mind: Mind) -> None:
    found = mind.remember(*(f"apples of tree {n}" for n in range(6)))
    with mind.database.write(mind.being) as unit:
        trees = Topic("Trees", [node.seq for node in found[:5]])
        split_off(unit, [trees], "words", NOW, "t")
        new = merge(unit, found[:2], "apples of two trees", now=NOW, token="t")
        retract(unit, [new], now=NOW, token="t")
    _undo(mind, _last(mind, "split"))
    with pytest.raises(BeingError, match=r"entry \d+ has changed a topic since"):
        _undo(mind, _last(mind, "retracted"))
    _undo(mind, _last(mind, "undo"))
    _undo(mind, _last(mind, "retracted"))
    assert mind.node(new.seq).ended is None


def test_no_memory_ends_before_it_began_when_the_clock_goes_back(mind: Mind) -> None:
    (one,) = mind.remember("apples", now=NOW)
    with mind.database.write(mind.being) as unit:
        for n in (3, 2, 1):
            history.undo(unit, n, NOW - 86_400, "t")
    assert mind.node(one.seq).ended == one.created


@pytest.mark.parametrize(
    "change",
    [
        Change("tokens", "1", None, {"scope": "full"}),
        Change("nodes", "1", {"seq": 1}, {"1 = 1 OR being": 2}),
        Change("nodes", "1 OR 1", {"pinned": 0}, {"pinned": 1}),
        Change("clusters", "1", {"name": ["a"]}, {"name": "b"}),
    ],
)
def test_what_no_entry_of_ours_would_say_is_not_undone(mind: Mind, change: Change) -> None:
    with mind.database.write(mind.being) as unit:
        n = stored.add(unit, NOW, "forged", "", "t", [change])
    with pytest.raises(BeingError, match="does not know"):
        _undo(mind, n)
