"""Notes, entries, messages, clusters, the ledger, touches and marks."""

from __future__ import annotations

import numpy as np
import pytest

from clawkit.memory import people
from clawkit.memory.records import Change, Cluster, Entry, HistoryMessage, MemorySource, Note, Scene
from clawkit.memory.store import clusters, entries, ledger, messages, notes, reads
from clawkit.store.database import Database
from tests.memory.store.records import NOW, being, vectors


def test_notes_wait_until_they_are_taken_or_removed(database: Database) -> None:
    ada = being(database)
    scene = Note("n1", NOW + 1, Scene("swam", ("Ada",)), source=MemorySource("Ada", "t", "c"))
    memo = Note("n2", NOW, text="buy milk")
    third = Note("n3", NOW, Scene("slept"))
    with database.write(ada.n) as unit:
        notes.add(unit, [scene, memo, third])
        notes.add(unit, [])
    with database.write(ada.n) as unit:
        assert notes.waiting(unit, "scene") == [third, scene]
        assert notes.waiting(unit, "scene", 1) == [third]
        assert notes.waiting(unit, "note") == [memo]
        assert notes.by_ids(unit, ["n2", "none"]) == [memo]
        assert notes.count(unit, "scene") == 2
        notes.take(unit, [("n1", 7), ("n3", 0)])
        assert notes.count(unit, "scene") == 0
        assert notes.nodes_of(unit, ["n1", "n2", "n3"]) == {"n1": 7}
        notes.remove(unit, ["n1", "n2"])
        assert notes.waiting(unit, "note") == []
        assert notes.nodes_of(unit, ["n1"]) == {"n1": 7}


def test_notes_of_one_moment_stay_in_their_order(database: Database) -> None:
    given = [Note(f"{99 - at}", NOW, Scene(f"scene {at}")) for at in range(50)]
    with database.write(being(database).n) as unit:
        notes.add(unit, given)
        assert [note.id for note in notes.waiting(unit, "scene")] == [note.id for note in given]


def test_entries_are_found_by_target_and_key(database: Database) -> None:
    ada = being(database)
    tea = Entry("e1", "preference", "drink", "tea", NOW, {"since": [1, None, "x"]})
    milk = Entry("e2", "preference", "drink", "milk", NOW + 1)
    rule = Entry("e3", "rule", "e1", "be kind", NOW + 2)
    with database.write(ada.n) as unit:
        for entry in (milk, tea, rule):
            entries.add(unit, entry, "t1")
        assert entries.found(unit, "preference") == [tea, milk]
        assert entries.found(unit, "preference", limit=1) == [milk]
        assert entries.found(unit, "preference", "drink") == [tea, milk]
        assert entries.found(unit, "preference", "e1") == [tea]
        assert entries.found(unit, "diary") == []
        assert entries.since(unit, "preference", NOW + 1) == [milk]
        later = Entry("e2", "preference", "food", "cheese", NOW + 9, {"a": 1})
        entries.replace(unit, later, "t2")
        entries.remove(unit, "e1")
        assert entries.found(unit, "preference") == [later]


def test_messages_are_kept_once_and_found(database: Database) -> None:
    ada = being(database)
    said = [
        HistoryMessage("m1", NOW, "user", "Where is the Boat?", "c1"),
        HistoryMessage("m2", NOW + 1, "assistant", "In the harbour: 100%_sure!", "c1"),
        HistoryMessage("m3", NOW + 2, "user", "Übermorgen boating", "c2"),
    ]
    with database.write(ada.n) as unit:
        messages.add(unit, said[:2], "t")
        assert messages.search(unit) == said[1::-1]
        messages.add(unit, said, "t")
        assert messages.search(unit) == said[::-1]
        assert messages.search(unit, "BOAT") == [said[2], said[0]]
        assert messages.search(unit, "0%_S") == [said[1]]
        assert messages.search(unit, "0__s") == []
        assert messages.search(unit, "übermorgen") == [said[2]]
        assert messages.search(unit, since=NOW + 1) == [said[2], said[1]]
        assert messages.search(unit, until=NOW + 1) == [said[0]]
        assert messages.search(unit, conversation="c1", limit=1) == [said[1]]


def test_clusters_keep_their_middles_by_model(database: Database) -> None:
    ada = being(database)
    middle = vectors(1, 1)[0]
    with database.write(ada.n) as unit:
        assert clusters.next_number(unit) == 1
        root, topic = Cluster(1, "r", "Business"), Cluster(2, "t", "Boats", 1, "about boats")
        clusters.add(unit, root)
        clusters.add(unit, topic)
        assert clusters.every(unit) == [root, topic]
        assert clusters.by_id(unit, "t") == topic
        clusters.set_centroid(unit, 2, "m", middle)
        assert list(clusters.centroids(unit, "m")) == [2]
        assert np.array_equal(clusters.centroids(unit, "m")[2], middle)
        assert clusters.centroids(unit, "other") == {}
        clusters.set_centroid(unit, 2, "m", None)
        assert clusters.centroids(unit, "m") == {}
        clusters.describe(unit, 2, "Ships", "about ships")
        assert clusters.by_id(unit, "t") == Cluster(2, "t", "Ships", 1, "about ships")
        clusters.set_gone(unit, 2, NOW)
        assert clusters.every(unit) == [root]
        assert clusters.by_id(unit, "t") is None
        assert clusters.next_number(unit) == 3
        clusters.set_gone(unit, 2, None)
        assert len(clusters.every(unit)) == 2


def test_the_ledger_counts_and_remembers_what_was_undone(database: Database) -> None:
    ada = being(database)
    change = Change("nodes", "7", {"status": "active"}, {"status": "dead", "words": "ä \0"})
    with database.write(ada.n) as unit:
        assert ledger.add(unit, NOW, "death", "faded", "t", [change]) == 1
        assert ledger.add(unit, NOW + 1, "undo", "", "t", []) == 2
        unit.run("UPDATE ledger SET undone_by = 2 WHERE being = $being AND n = 1")
        first = ledger.get(unit, 1)
        assert first is not None
        assert (first.undone_by, first.changes[0].before) == (2, {"status": "active"})
        assert first.changes[0].after == {"status": "dead", "words": "ä \ufffd"}
        assert [entry.n for entry in ledger.latest(unit)] == [2, 1]
        assert [entry.n for entry in ledger.latest(unit, before=2)] == [1]
        assert ledger.get(unit, 9) is None


def test_touches_add_up_until_they_are_taken(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        reads.queue(unit, "t1", {1: 2, 2: 1}, NOW)
        reads.queue(unit, "t2", {1: 1}, NOW + 5)
        reads.queue(unit, "t1", {2: 1}, NOW + 1)
        assert reads.take(unit) == {1: NOW + 5, 2: NOW + 1}
        assert reads.take(unit) == {}


@pytest.mark.parametrize("conversation", ["c1", "c" * 5000, "\0", "会話" * 3000])
def test_a_conversation_remembers_what_it_was_told(database: Database, conversation: str) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        reads.tell(unit, conversation, [3, 1, 3], NOW)
        reads.tell(unit, conversation, [1, 4], NOW + 9)
        assert reads.told(unit, conversation) == {1, 3, 4}
        assert reads.told(unit, f"{conversation}2") == frozenset()
        reads.forget_told(unit, NOW + 5)
        assert reads.told(unit, conversation) == {4}


def test_marks_and_names(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        assert unit.mark("patrol") is None
        unit.set_mark("patrol", "1")
        unit.set_mark("patrol", "2")
        assert unit.mark("patrol") == "2"
        people.meet(unit, ["Ada", ""])
        people.meet(unit, ["Bob", "Ada"])
        assert people.known(unit).names == {"Ada", "Bob"}
