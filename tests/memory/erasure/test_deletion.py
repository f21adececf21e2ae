"""What is about one person is found and erased for good, wherever it stands; on both stores."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from clawkit.errors import AccessError, BeingError
from clawkit.memory import people
from clawkit.memory.being_store import BeingStore
from clawkit.memory.bundle import export, load
from clawkit.memory.erasure.deletion import erase, find
from clawkit.memory.erasure.person_search import ErasureRequest
from clawkit.memory.memory import Memory
from clawkit.memory.patrol import centroids
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.records import Scene
from clawkit.memory.store import clusters as stored_clusters
from clawkit.memory.store import ledger, nodes
from clawkit.memory.structured_memory import EntryRequest
from clawkit.memory.tokens import Caller, check, issue
from clawkit.store.database import Database
from clawkit.store.sqlite import SqliteDatabase
from tests.memory.erasure.dumps import where
from tests.memory.http.being_store import Clock

ME = Caller()
BEN = ErasureRequest("Ben Whitaker", ("Ben", "Whitaker"))
WORDS = ("whitaker", "cello", "peanut", "nausea", "lisbon")
"""Of the name, and of what is only known of Ben."""


@pytest.fixture
def store(database: Database, clock: Clock) -> BeingStore:
    return BeingStore(database, clock=clock)


@pytest.fixture
def memory(store: BeingStore) -> Memory:
    return store.open(store.create("Hana"))


def actions(memory: Memory, query: str) -> list[str]:
    return [hit.node.scene.action for hit in memory.search(query, limit=50).hits]


def fill(store: BeingStore, memory: Memory) -> None:
    """A life with Ben in every part of it."""
    being = memory.being
    ben = ["Ben Whitaker"]
    memory.remember("Ben Whitaker is allergic to peanuts", ME, actors=ben)
    cello = memory.remember("Ben plays the cello", ME)
    memory.supersede(cello.id, Scene("Ben sold his cello", (), ("2026-01-05",)), ME)
    memory.remember("Ben Whitaker lent Anna 50 euros", ME, actors=[*ben, "Anna"])
    memory.remember("Anna likes green tea", ME, actors=["Anna"])
    memory.remember("I get nausea on ships", ME, actors=["user"], speaker="Ben Whitaker")
    wrong = memory.remember("Ben moved to Lisbon", ME, actors=ben)
    memory.retract([wrong.id], ME, "Ben Whitaker said so")
    memory.take_notes(
        ME,
        scenes=[Scene("Ben bought cello strings", tuple(ben), ("2026-01-06",))],
        notes=["Ask Whitaker about Lisbon. Buy milk."],
    )
    said = [
        ConversationMessage("user", "Ben is allergic to peanuts. My rent is 850.", 1_790_000_000.0),
        ConversationMessage("user", "Ben and Anna want to come on Friday.", 1_790_000_001.0),
        ConversationMessage("user", "I hate the cello", 1_790_000_002.0, "Ben Whitaker"),
    ]
    memory.patrol(Caller(conversation="chat-with-ben"), said)
    memory.relate(ME, "Ben Whitaker", "friend", "Plays the cello", "upsert")
    memory.relate(ME, "Anna", "sister", "She knows Ben from school", "upsert")
    memory.structured(ME, EntryRequest("preferences", "update", key="tea", content="Green tea."))
    memory.structured(
        ME, EntryRequest("knowledge", "append", key="x", content="Ben has a cello. Tea is hot.")
    )
    memory.structured(
        ME, EntryRequest("knowledge", "update", key="x", content="Ben has no cello. Tea is hot.")
    )
    memory.structured(
        ME, EntryRequest("diary", "append", content="Ben Whitaker and Anna were here.")
    )
    memory.structured(
        ME, EntryRequest("party_message", "append", content="peanuts?", to="Ben Whitaker")
    )
    memory.structured(
        ME, EntryRequest("souls", "append", content="You help Ben Whitaker and all others.")
    )
    issue(store, being, label="Ben Whitaker's laptop", person="Ben Whitaker")
    with store.database.write(being.n) as unit:
        root = centroids.root(unit, "Private")
        topic, change = centroids.add(unit, "Tea, Ben, cello", root, "Ben: plays the cello")
        ledger.add(unit, store.clock(), "split", "a topic of Ben Whitaker's", "local", [change])
        unit.run("UPDATE nodes SET cluster = ? WHERE being = $being AND seq = 1", topic.n)
    memory.recall("Is Ben Whitaker allergic to peanuts?", Caller(conversation="about-ben"))
    memory.recall("Is Ben allergic?", Caller("reader", "read-only", "ben-again"))


def test_after_it_no_table_has_the_name_or_the_text(store: BeingStore, memory: Memory) -> None:
    fill(store, memory)
    assert {row.partition(":")[0] for row in where(store.database, *WORDS)} >= {
        *("nodes", "postings", "clusters", "notes", "entries", "messages", "ledger", "marks"),
        "tokens",
    }
    erase(store, memory.being, BEN)
    assert where(store.database, *WORDS, "with-ben", " ben ", "ben-again") == []
    assert find(store, memory.being, BEN).is_empty


def test_what_is_about_others_stays(store: BeingStore, memory: Memory) -> None:
    fill(store, memory)
    memory.remember(
        "Ben Whitaker was here. Anna baked a cake.", ME, actors=["Ben Whitaker", "Anna"]
    )
    erase(store, memory.being, BEN)
    assert "Anna likes green tea" in actions(memory, "Anna tea")
    assert "Anna baked a cake." in actions(memory, "Anna cake")
    assert [said.text for said in memory.history()] == ["[erased] My rent is 850."]
    knowledge = memory.structured(ME, EntryRequest("knowledge", "get"))["entries"]
    assert [one["content"] for one in knowledge] == ["[erased] Tea is hot."]
    sister = memory.structured(ME, EntryRequest("relationship", "get"))["entries"]
    assert [(one["key"], one["content"]) for one in sister] == [
        ("Anna", "She knows [erased person] from school")
    ]
    with store.database.read(memory.being.n) as unit:
        names = [one.name for one in stored_clusters.every(unit)]
    assert "Tea" in names
    soul = memory.structured(ME, EntryRequest("souls", "get"))["entries"]
    assert soul[0]["content"] == "You help [erased person] and all others."
    assert (
        memory.structured(ME, EntryRequest("preferences", "get"))["entries"][0]["content"]
        == "Green tea."
    )


def kept(store: BeingStore, memory: Memory, *told: str, who: ErasureRequest) -> list[str]:
    """What is left of memories when a person is erased from them."""
    for text in told:
        memory.remember(text, ME, when=["2026-11-17"])
    erase(store, memory.being, who)
    with store.database.read(memory.being.n) as unit:
        return [node.scene.action for node in nodes.page(unit, order="seq")]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Sarah Klein", "Sarah O'Brien waters our plants every Tuesday."),
        ("Sarah O'Brien", "Sarah Klein is pregnant."),
        ("Sarah", "Sarah Klein is pregnant."),
        ("Anna Berg", "Anna Lund got a cat"),
        ("Anna Berg", "Berg und Tal: am Berg war es schön"),
        ("Frau Albrecht", "Frau Wolf putzt das Treppenhaus"),
        ("Frau Albrecht", "Herr Albrecht kocht gern"),
        ("Dr. Nguyen", "Dr. Shah raised my thyroid dose"),
        ("my mother", "My blood type is A positive."),
        ("my mother", "Every mother of the class bakes."),
        ("Andrea", "Andreas hat Husten"),
    ],
)
def test_whoever_has_only_a_part_of_the_name_keeps_everything(
    store: BeingStore, memory: Memory, name: str, told: str
) -> None:
    assert kept(store, memory, told, who=ErasureRequest(name)) == [told]
    assert find(store, memory.being, ErasureRequest(name)).is_empty


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Sarah O’Brien", "Sarah O'Brien is ill"),
        ("Sarah O'Brien", "Sarah O’Brien is ill"),
        ("Nguyen", "Dr. Nguyen is ill"),
        ("zoe mueller", "Zoë Müller is ill"),
        ("Zoë Müller", "zoe mueller is ill"),
        ("my mother", "My mother is ill"),
        ("Lea", "Leas Hund bellt"),
    ],
)
def test_a_name_is_found_however_it_is_written(
    store: BeingStore, memory: Memory, name: str, told: str
) -> None:
    assert kept(store, memory, told, who=ErasureRequest(name)) == []


def test_a_participant_is_found_behind_a_title(store: BeingStore, memory: Memory) -> None:
    memory.remember("The practice is closed in May", ME, actors=["Dr. Nguyen"])
    assert kept(store, memory, who=ErasureRequest("Nguyen")) == []


def test_a_memory_of_only_that_person_goes_though_another_has_the_first_name(
    store: BeingStore, memory: Memory
) -> None:
    memory.remember("Sarah Klein is pregnant", ME, actors=["Sarah Klein"])
    memory.remember("Sarah O'Brien is here", ME, actors=["Sarah O'Brien"])
    assert kept(store, memory, who=ErasureRequest("Sarah Klein")) == ["Sarah O'Brien is here"]
    assert where(store.database, "pregnant", "klein") == []


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ("Oma Inge hat Husten; Opa Karl auch", ["Opa Karl auch"]),
        ("Opa Karl hat Husten; Oma Inge auch.", ["Opa Karl hat Husten."]),
        ("Oma Inge hat Husten; und Opa Karl auch", []),
        ("Dr. Shah sah Oma Inge am 24.11. in Bonn. Tom war da.", ["Tom war da."]),
        ("Am 24.11. war Dr. Shah da. Oma Inge schlief.", ["Am 24.11. war Dr. Shah da."]),
        ("Oma Inge is ill. The doctor comes in May.", []),
        ("Oma Inge and Tom like tea.", []),
    ],
)
def test_what_is_left_of_a_memory_is_whole_sentences(
    store: BeingStore, memory: Memory, told: str, left: list[str]
) -> None:
    assert kept(store, memory, told, who=ErasureRequest("Oma Inge")) == left


def test_what_may_be_about_a_person_is_told_with_the_name_that_counts_it(
    store: BeingStore, memory: Memory
) -> None:
    for text in ("Sarah Klein is ill", "Sarah O'Brien is here", "Sarah likes tea"):
        memory.remember(text, ME)
    found = find(store, memory.being, ErasureRequest("Sarah Klein")).maybe
    assert [one.names for one in found] == [("Sarah O'Brien",), ("Sarah",)]
    assert kept(store, memory, who=ErasureRequest("Sarah Klein", ("Sarah",))) == [
        "Sarah O'Brien is here"
    ]


def test_a_russian_name_in_another_case_may_be_the_person(
    store: BeingStore, memory: Memory
) -> None:
    for text in ("Маше шесть лет", "вчера видели Машу", "Машина сломалась", "Маша танцует"):
        memory.remember(text, ME)
    found = find(store, memory.being, ErasureRequest("Маша")).maybe
    assert [one.names for one in found] == [("Маше",), ("Машу",)]
    who = ErasureRequest("Маша", ("Маше", "Машу"))
    assert kept(store, memory, who=who) == ["Машина сломалась"]


def test_a_name_in_what_was_said_before_a_memory_is_erased_from_there(
    store: BeingStore, memory: Memory
) -> None:
    said = Scene("The rent is due", ("Anna",), ("2026-01-02",), context="Lea moved to Lisbon")
    memory.take_notes(ME, scenes=[said])
    memory.patrol(ME)
    ((old, new),) = find(store, memory.being, ErasureRequest("Lea")).edited
    assert (old.text, new.scene.context) == (new.text, "")
    erase(store, memory.being, ErasureRequest("Lea"))
    assert where(store.database, "lisbon") == []


@pytest.mark.parametrize(
    ("context", "told", "left"),
    [
        ("Lea met Tom", "She is ill", []),
        ("Lea moved to Lisbon", "Tom baked a cake. She left her hat.", ["Tom baked a cake."]),
        ("Lea moved to Lisbon", "My rent is due. It is 850 euros.", None),
    ],
)
def test_what_goes_on_about_whom_only_the_sentence_before_names_goes(
    store: BeingStore, memory: Memory, context: str, told: str, left: list[str] | None
) -> None:
    said = Scene(told, ("Tom",), ("2026-01-02",), context=context)
    memory.take_notes(ME, scenes=[said])
    memory.patrol(ME)
    assert kept(store, memory, who=ErasureRequest("Lea")) == ([told] if left is None else left)


def test_a_memory_of_several_sentences_keeps_those_about_something_else(
    store: BeingStore, memory: Memory
) -> None:
    memory.remember("Ben moved to Lisbon. He likes it. My rent is 850 euros.", ME, actors=["Ben"])
    erase(store, memory.being, ErasureRequest("Ben"))
    assert actions(memory, "rent euros") == ["My rent is 850 euros."]
    assert where(store.database, "lisbon", "likes it") == []


def test_the_person_whom_the_memory_belongs_to_is_nobody_else(
    store: BeingStore, memory: Memory
) -> None:
    memory.patrol(ME, [ConversationMessage("user", "My name is Hana Mori.", 1_790_000_000.0)])
    memory.remember("Hana Mori met Ben in Lisbon", ME, actors=["Hana Mori", "Ben"])
    erase(store, memory.being, ErasureRequest("Ben"))
    assert where(store.database, "lisbon") == []
    assert where(store.database, "My name is Hana Mori.")


def test_the_numbers_of_memories_never_change(store: BeingStore, memory: Memory) -> None:
    fill(store, memory)
    with store.database.read(memory.being.n) as unit:
        before, top = nodes.page(unit, ended=True, order="seq"), nodes.top(unit)
    plan = find(store, memory.being, BEN)
    erase(store, memory.being, BEN)
    with store.database.read(memory.being.n) as unit:
        after = {node.seq: node for node in nodes.page(unit, ended=True, order="seq")}
        assert nodes.top(unit) == top + len(plan.edited)
        assert sorted(after) == list(range(1, nodes.top(unit) + 1))
        left = nodes.having_all(unit, ["anna"]).tolist()
    gone = {node.seq for node in plan.gone} | {old.seq for old, _ in plan.edited}
    for node in before:
        kept = after[node.seq]
        assert kept.id == node.id
        if node.seq in gone:
            assert (kept.ending, kept.text, kept.source.speaker) == ("erased", "", "")
        else:
            assert kept.scene == node.scene
    assert not gone & set(left)


def test_erased_memories_have_no_vectors_and_get_none(store: BeingStore, memory: Memory) -> None:
    fill(store, memory)
    memory.embed_missing()
    plan = find(store, memory.being, BEN)
    gone = [node.seq for node in (*plan.gone, *(old for old, _ in plan.edited))]
    assert store.embedder is not None
    model = store.embedder.name
    erase(store, memory.being, BEN)
    memory.embed_missing()
    with store.database.read(memory.being.n) as unit:
        assert unit.vectors.fetch(model, gone) == {}
        assert unit.vectors.counts() == {model: nodes.top(unit) - len(gone)}
        near, _ = unit.vectors.nearest(model, store.embedder.embed(["the cello"])[0], 50)
    assert not set(near) & set(gone)


def test_undo_brings_nothing_back_and_says_why(store: BeingStore, memory: Memory) -> None:
    fill(store, memory)
    plan = find(store, memory.being, BEN)
    erase(store, memory.being, BEN)
    entries = {entry.n: entry for entry in memory.ledger(100)}
    assert {entry.n for entry in plan.changes} >= {
        entry.n for entry in entries.values() if entry.kind == "erased" and entry.n < max(entries)
    }
    for n, entry in sorted(entries.items(), reverse=True):
        if entry.kind == "erased":
            with pytest.raises(BeingError, match="nothing is left to undo"):
                memory.undo(n, ME)
        else:
            with suppress(BeingError):
                memory.undo(n, ME)
    assert where(store.database, *WORDS) == []


def test_what_others_did_beside_it_can_still_be_undone(store: BeingStore, memory: Memory) -> None:
    scenes = [Scene(f"{who} likes tea", (who,), ("2026-01-02",)) for who in ("Ben", "Anna", "Cem")]
    memory.take_notes(ME, scenes=scenes)
    memory.patrol(ME)
    made = next(entry for entry in memory.ledger() if entry.kind == "remembered")
    erase(store, memory.being, ErasureRequest("Ben"))
    assert sorted(actions(memory, "tea")) == ["Anna likes tea", "Cem likes tea"]
    memory.undo(made.n, ME)
    assert memory.figures()["nodes"] == 0


def test_a_message_that_was_erased_does_not_come_back_with_the_history(
    store: BeingStore, memory: Memory
) -> None:
    said = [
        ConversationMessage("user", "Ben moved to Lisbon.", 1_790_000_000.0),
        ConversationMessage("user", "My rent is 850 euros.", 1_790_000_001.0),
    ]
    memory.patrol(ME, said)
    memory.remember("Ben likes tea", ME, actors=["Ben"])
    erase(store, memory.being, ErasureRequest("Ben"))
    memory.patrol(ME, said)
    assert where(store.database, "lisbon") == []


def test_the_token_of_an_erased_person_opens_nothing(store: BeingStore, memory: Memory) -> None:
    secret, _ = issue(store, memory.being, person="Ben Whitaker")
    other, _ = issue(store, memory.being, person="Anna")
    memory.remember("I like the sea", check(store, secret, memory.being.id).caller)
    erase(store, memory.being, BEN)
    with pytest.raises(AccessError, match="revoked"):
        check(store, secret, memory.being.id)
    check(store, other, memory.being.id)
    assert where(store.database, "the sea") == []


def test_the_receipt_counts_and_has_no_content(store: BeingStore, memory: Memory) -> None:
    fill(store, memory)
    plan = find(store, memory.being, BEN)
    receipt = erase(store, memory.being, BEN)
    assert receipt.erased["memories"].ids == tuple(node.id for node in plan.gone)
    assert receipt.edited["messages"].count == 1
    assert receipt.erased["messages"].count == 2
    assert receipt.matched_by == ("the name as given", "2 given with --also")
    written = msgspec.json.encode(receipt).decode().lower()
    assert not any(word in written for word in (*WORDS, "anna", "euros"))


def test_nothing_of_it_happens_while_memory_is_tidied_up(store: BeingStore, memory: Memory) -> None:
    memory.remember("Ben likes tea", ME, actors=["Ben"])
    with store.database.patrolling(memory.being.n), pytest.raises(BeingError, match="tidied up"):
        erase(store, memory.being, ErasureRequest("Ben"))
    assert actions(memory, "tea") == ["Ben likes tea"]


def test_other_beings_keep_what_they_know(store: BeingStore, memory: Memory) -> None:
    other = store.open(store.create("another"))
    for one in (memory, other):
        one.remember("Ben plays the cello", ME, actors=["Ben"])
    erase(store, memory.being, ErasureRequest("Ben"))
    assert actions(memory, "cello") == []
    assert actions(other, "cello") == ["Ben plays the cello"]


def test_a_bundle_of_what_is_left_is_whole(
    store: BeingStore, memory: Memory, tmp_path: Path
) -> None:
    fill(store, memory)
    erase(store, memory.being, BEN)
    file = tmp_path / "bundle.jsonl"
    file.write_bytes(b"".join(export(store.database, memory.being)))
    assert not any(word.encode() in file.read_bytes().lower() for word in WORDS)
    with file.open("rb") as opened:
        being, _ = load(store, opened, "bundle", into="copy")
    again = tmp_path / "again.jsonl"
    again.write_bytes(b"".join(export(store.database, being)))
    assert again.read_bytes() == file.read_bytes()


def test_the_file_of_sqlite_has_none_of_its_bytes(tmp_path: Path, clock: Clock) -> None:
    database = SqliteDatabase(tmp_path / "beings.db")
    store = BeingStore(database, "none", clock=clock)
    memory = store.open(store.create("Hana"))
    fill(store, memory)
    assert _bytes_of(tmp_path, *WORDS)
    assert erase(store, memory.being, BEN).left_in_file == ""
    assert _bytes_of(tmp_path, *WORDS) == []
    database.close()


def test_a_reader_who_holds_the_log_is_named_and_the_next_time_clears_it(
    tmp_path: Path, clock: Clock
) -> None:
    database = SqliteDatabase(tmp_path / "beings.db", patience=0.2)
    store = BeingStore(database, "none", clock=clock)
    memory = store.open(store.create("Hana"))
    fill(store, memory)
    with database.read(memory.being.n) as unit:
        people.known(unit)
        assert "another process is reading" in erase(store, memory.being, BEN).left_in_file
    assert erase(store, memory.being, BEN).left_in_file == ""
    assert _bytes_of(tmp_path, *WORDS) == []
    database.close()


def _bytes_of(folder: Path, *words: str) -> list[str]:
    """The files of a folder in which one of these words stands."""
    found = {file.name: file.read_bytes().lower() for file in folder.iterdir() if file.is_file()}
    return [name for name, data in found.items() if any(word.encode() in data for word in words)]
