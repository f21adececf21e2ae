from __future__ import annotations

import numpy as np
import pytest

from clawkit.memory.records import MemorySource, Scene
from clawkit.memory.store import nodes
from clawkit.store.database import Database
from tests.memory.store.records import NOW, being, node, remember


def test_a_node_comes_back_as_it_was_added(database: Database) -> None:
    ada = being(database)
    scene = Scene(
        "swam", ("Ada", "Bob"), ("2026-01-02", "2026-01-03"), "lake", "joy", ("sport",), 0.7
    )
    source = MemorySource("Ada", "t1", "c1")
    one = node(
        1,
        "",
        scene=scene,
        source=source,
        cluster=3,
        status="dying",
        fresh=False,
        pinned=True,
        session_count=4,
        reactivation_count=5,
        last_activated=NOW + 0.125,
        ended=NOW + 9.5,
        ending="merged",
        successor=7,
    )
    with database.write(ada.n) as unit:
        assert nodes.reserve(unit, 1) == 1
        nodes.add(unit, [one])
    with database.read(ada.n) as unit:
        assert nodes.fetch(unit, [1, 2]) == {1: one}
        assert nodes.by_ids(unit, [one.id, "another"]) == {one.id: one}


def test_numbers_are_reserved_without_a_gap(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        assert nodes.top(unit) == 0
        assert [nodes.reserve(unit, 3), nodes.reserve(unit, 1), nodes.reserve(unit, 2)] == [1, 4, 5]
        assert nodes.top(unit) == 6


def test_more_nodes_than_one_statement_takes_are_fetched(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        made = remember(unit, [f"thing {at}" for at in range(1203)])
    with database.read(ada.n) as unit:
        assert nodes.fetch(unit, np.arange(1, 1204)) == {one.seq: one for one in made}
        assert nodes.fetch(unit, []) == {}


def test_a_page_has_what_fits(database: Database) -> None:
    ada = being(database)
    made = [
        node(1, "the red boat", cluster=1, scene=Scene("the Red boat", importance=0.2)),
        node(2, "", cluster=1, status="dead", scene=Scene("a red house", importance=0.9)),
        node(3, "", cluster=2, fresh=False, scene=Scene("a blue boat", importance=0.5)),
        node(4, "", ended=NOW, ending="retracted", scene=Scene("a red lie", importance=1.0)),
    ]
    with database.write(ada.n) as unit:
        nodes.add(unit, made)
    with database.read(ada.n) as unit:

        def seqs(**wanted: object) -> list[int]:
            return [one.seq for one in nodes.page(unit, **wanted)]  # pyright: ignore[reportArgumentType]

        assert seqs() == [2, 3, 1]
        assert seqs(ended=True) == [4, 2, 3, 1]
        assert seqs(cluster=1) == [2, 1]
        assert seqs(fresh=False) == [3]
        assert seqs(statuses=["active", "dying"]) == [3, 1]
        assert seqs(contains="RED ") == [2, 1]
        assert seqs(limit=1) == [2]
        assert seqs(order="seq", after=1) == [2, 3]
        assert nodes.counts(unit) == {(1, "active"): 1, (1, "dead"): 1, (2, "active"): 1}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ÄRGER", True),
        ("ärger", True),
        ("ΟΔΌΣ", True),
        ("привет", True),
        ("東京", True),
        ("aerger", False),
    ],
)
def test_letters_are_found_whatever_their_case(database: Database, text: str, found: bool) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        remember(unit, ["Viel Ärger, οδός, ПРИВЕТ aus 東京"])
        assert bool(nodes.page(unit, contains=text)) is found


def test_what_is_known_depends_on_the_moment(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        made = [
            node(1, "a", created=10.0),
            node(2, "b", created=20.0, ended=30.0),
            node(3, "c", created=40.0),
        ]
        nodes.add(unit, made)
        assert nodes.hidden(unit).tolist() == [2]
        for moment in (5.0, 10.0, 25.0, 30.0, 50.0):
            hidden = [
                one.seq
                for one in made
                if one.created > moment or (one.ended is not None and one.ended <= moment)
            ]
            assert sorted(nodes.hidden(unit, moment).tolist()) == hidden


def test_the_same_words_are_recognised_until_they_end(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        (made,) = remember(unit, ["Ada  SWAM in the lake"])
        again = Scene("ada swam in the LAKE", ("ADA",), ("2026-01-02",))
        assert list(nodes.same_words(unit, [again, Scene("other")]).values()) == [[made]]
        nodes.change(unit, made.seq, {"ended": NOW, "ending": "superseded"})
        assert nodes.same_words(unit, [again]) == {}


def test_only_what_may_change_is_changed(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        made = remember(unit, ["a", "b"])
        nodes.change(
            unit, 1, {"importance": 0.25, "fresh": False, "pinned": True, "status": "dead"}
        )
        with pytest.raises(AssertionError, match="scene"):
            nodes.change(unit, 1, {"scene": "{}"})
    with database.read(ada.n) as unit:
        found = nodes.fetch(unit, [1, 2])
        assert (found[1].scene.importance, found[1].fresh, found[1].pinned) == (0.25, False, True)
        assert found[1].status == "dead"
        assert found[2] == made[1]


def test_a_touch_counts_and_begins_the_sessions_anew(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        remember(unit, ["a", "b"])
        nodes.change(unit, 2, {"session_count": 9, "reactivation_count": 1})
        nodes.touch(unit, {2: 2}, NOW + 5)
        found = nodes.fetch(unit, [1, 2])
        assert (found[2].session_count, found[2].reactivation_count) == (0, 3)
        assert (found[2].last_activated, found[1].last_activated) == (NOW + 5, 0.0)


def test_the_same_words_of_other_people_say_something_else(database: Database) -> None:
    ada, bob = Scene("likes tea", ("Ada",)), Scene("likes tea", ("Bob",))
    with database.write(being(database).n) as unit:
        nodes.add(unit, [node(1, "", scene=ada), node(2, "", scene=bob)])
        found = nodes.same_words(unit, [Scene("Likes  TEA", ("ada",)), bob, Scene("likes tea")])
    assert sorted(one.seq for (one,) in found.values()) == [1, 2]
