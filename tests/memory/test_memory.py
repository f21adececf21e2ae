from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from clawkit.errors import BeingError, InvalidArgumentsError
from clawkit.memory.being_store import BeingStore
from clawkit.memory.exploration import ExploreRequest
from clawkit.memory.memory import Memory
from clawkit.memory.model_keys import store_key
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.recollection import told_to
from clawkit.memory.records import Scene
from clawkit.memory.store import nodes
from clawkit.memory.structured_memory import EntryRequest
from clawkit.memory.tokens import Caller
from clawkit.store import open_store
from clawkit.store.sqlite import SqliteDatabase
from tests.assistant.providers.scripted import Request, Say, scripted_anthropic
from tests.memory.http.being_store import Clock

ME = Caller()
KEY = "sk-ant-test-0123456789"


@pytest.fixture
def memory(store: BeingStore) -> Memory:
    return store.open(store.create("Hana"))


def found(memory: Memory, query: str, as_of: float | None = None) -> list[str]:
    return [hit.node.scene.action for hit in memory.search(query, as_of=as_of).hits]


def test_one_sentence_is_a_memory_at_once(memory: Memory, clock: Clock) -> None:
    caller = Caller(token="t1", conversation="monday")
    node = memory.remember("Rika adopted a kitten", caller, actors=["Rika"], speaker="Ken")
    today = datetime.fromtimestamp(clock.now, UTC).astimezone().date().isoformat()
    assert node.scene.when == (today,)
    assert (node.source.speaker, node.source.token) == ("Ken", "t1")
    assert node.source.conversation == "monday"
    assert found(memory, "kitten") == ["Rika adopted a kitten"]
    assert memory.figures()["waiting_scenes"] == 0


def test_the_same_sentence_twice_is_one_memory(memory: Memory) -> None:
    first = memory.remember("Rika adopted a kitten", ME)
    again = memory.remember("Rika adopted a kitten", ME)
    assert again.id == first.id
    assert memory.figures()["nodes"] == 1


def test_nothing_to_remember_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidArgumentsError, match="action"):
        memory.remember("  ", ME)
    with pytest.raises(BeingError, match="nothing to remember"):
        memory.remember("<memory-recall>Rika</memory-recall>", ME)


def test_a_superseded_memory_is_only_known_as_of_then(memory: Memory, clock: Clock) -> None:
    old = memory.remember("Rika lives in Kyoto", ME)
    then = clock.now
    clock.now += 100
    new = memory.supersede(old.id, Scene("Rika lives in Osaka", when=("2027-01-01",)), ME)
    assert found(memory, "Rika lives") == ["Rika lives in Osaka"]
    assert found(memory, "Rika lives", as_of=then) == ["Rika lives in Kyoto"]
    assert found(memory, "Rika lives", as_of=then - 1) == []
    memory.undo(memory.ledger(1)[0].n, ME)
    assert found(memory, "Rika lives") == ["Rika lives in Kyoto"]
    with pytest.raises(BeingError, match="taken back"):
        memory.supersede(new.id, Scene("Rika lives in Nara"), ME)


def test_a_retracted_memory_comes_back_with_undo(memory: Memory) -> None:
    node = memory.remember("Rika adopted a kitten", ME)
    memory.retract([node.id], ME, "it was a joke")
    assert found(memory, "kitten") == []
    entry = memory.ledger(1)[0]
    assert (entry.kind, entry.why) == ("retracted", "it was a joke")
    assert memory.undo(entry.n, ME, dry_run=True)
    assert found(memory, "kitten") == []
    memory.undo(entry.n, ME)
    assert found(memory, "kitten") == ["Rika adopted a kitten"]


def test_a_pinned_memory_does_not_fade(memory: Memory, clock: Clock) -> None:
    pinned = memory.remember("Rika adopted a kitten", ME, importance=0.06)
    other = memory.remember("Rika bought a red coat", ME, importance=0.06)
    assert memory.pin(pinned.id, True, ME).pinned
    for _ in range(8):
        clock.now += 7 * 86_400
        memory.patrol_due()
    statuses = {hit.node.id: hit.node.status for hit in memory.search("Rika").hits}
    assert statuses == {pinned.id: "active", other.id: "dead"}
    assert not memory.pin(pinned.id, False, ME).pinned
    memory.undo(memory.ledger(1)[0].n, ME)
    assert memory.pin(pinned.id, True, ME).pinned
    assert memory.ledger(1)[0].kind == "undo"


def test_a_memory_that_is_not_there_is_named(memory: Memory) -> None:
    unknown = str(uuid4())
    for attempt in (
        lambda: memory.retract([unknown], ME),
        lambda: memory.pin(unknown, True, ME),
        lambda: memory.supersede(unknown, Scene("x"), ME),
    ):
        with pytest.raises(BeingError, match=unknown):
            attempt()
    with pytest.raises(InvalidArgumentsError, match="UUID"):
        memory.pin("first", True, ME)


def test_figures_count_what_there_is(memory: Memory) -> None:
    first = memory.remember("Rika adopted a kitten", ME)
    memory.remember("Rika moved to Osaka", ME)
    memory.retract([first.id], ME)
    memory.take_notes(ME, scenes=[Scene("Rika called")], notes=["buy milk"])
    figures = memory.figures()
    assert (figures["nodes"], figures["active"], figures["ended"]) == (2, 2, 1)
    assert (figures["waiting_scenes"], figures["notes"], figures["clusters"]) == (1, 1, 1)
    assert figures["jobs"] == []


def test_a_dry_patrol_leaves_nothing_behind(memory: Memory) -> None:
    memory.take_notes(ME, scenes=[Scene("Rika called")])
    before = memory.figures()
    assert (
        memory.patrol(
            ME, [ConversationMessage("user", "I own a boat.")], dry_run=True
        ).nodes_created
        == 2
    )
    assert memory.figures() == before
    assert memory.history() == []


def test_history_can_be_of_one_conversation(memory: Memory) -> None:
    for name in ("monday", "tuesday"):
        caller = Caller(conversation=name)
        memory.patrol(caller, [ConversationMessage("user", f"Good morning on {name}")])
    assert len(memory.history()) == 2
    assert [said.text for said in memory.history(conversation="monday")] == [
        "Good morning on monday"
    ]


def test_what_conversations_were_told_is_forgotten_after_a_month(
    memory: Memory, store: BeingStore, clock: Clock
) -> None:
    memory.remember("Rika adopted a kitten", ME)
    caller = Caller(conversation="monday")
    assert memory.recall("Rika's kitten", caller).hits
    with store.database.read(memory.being.n) as unit:
        assert told_to(unit, caller)
    clock.now += 31 * 86_400
    memory.patrol_due()
    with store.database.read(memory.being.n) as unit:
        assert told_to(unit, caller) == frozenset()


def test_signals_are_given_only_when_asked_for(memory: Memory) -> None:
    memory.remember("Rika adopted a kitten", ME)
    assert memory.search("kitten").hits[0].signals == {}
    assert memory.search("kitten", explain=True).hits[0].signals
    assert memory.recall("Rika's kitten", ME).hits[0].signals == {}
    assert memory.recall("Rika's kitten", ME, explain=True).hits[0].signals


def test_a_patrol_asks_the_model_whose_key_the_caller_brings(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_anthropic(_no_opinion) as server:
        monkeypatch.setenv("CLAW_ANTHROPIC_URL", server.origin)
        memory.patrol(Caller(llm_key=KEY), [ConversationMessage("user", "I own a boat.")])
        assert server.requests
        assert {request.headers["x-api-key"] for request in server.requests} == {KEY}


def test_a_patrol_asks_the_model_of_the_being_in_the_background(
    memory: Memory, store: BeingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAW_MEMORY_KEY", "m" * 40)
    store_key(store, memory.being, KEY)
    memory.take_notes(ME, scenes=[Scene("Rika called")])
    with scripted_anthropic(_no_opinion) as server:
        monkeypatch.setenv("CLAW_ANTHROPIC_URL", server.origin)
        memory.patrol_due()
        assert server.requests


def test_a_stored_key_that_cannot_be_opened_costs_only_the_model(
    memory: Memory, store: BeingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAW_MEMORY_KEY", "m" * 40)
    store_key(store, memory.being, KEY)
    monkeypatch.setenv("CLAW_MEMORY_KEY", "another " * 5)
    memory.take_notes(ME, scenes=[Scene("Rika called")])
    outcome = memory.patrol(ME)
    assert outcome.nodes_created == 1
    assert outcome.steps["merged"] == "skipped: no model"


def test_an_embedder_that_does_not_answer_leaves_search_by_words(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path / 'away.db'}"
    store = BeingStore(open_store(address), "openai:http://127.0.0.1:9/v1#gone", embedding_key="k")
    memory = store.open(store.create("Hana"))
    memory.remember("Rika adopted a kitten", ME)
    assert memory.search("kitten").kind == "keyword"
    assert memory.recall("Rika's kitten", ME).hits
    store.close()


def test_writers_and_readers_at_once_lose_nothing(memory: Memory) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(5):
                memory.take_notes(ME, scenes=[Scene(f"Rika read book {number}, chapter {n}")])
                memory.remember(f"Rika wrote letter {10 * number + n + 100}", ME)
                memory.recall("Which letter did Rika write?", Caller(conversation=str(number)))
                memory.structured(
                    ME, EntryRequest("knowledge", "append", content=f"fact {number} {n}")
                )
        except BaseException as error:  # noqa: BLE001 - it is raised where the test sees it
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    figures = memory.figures()
    assert (figures["waiting_scenes"], figures["nodes"]) == (30, 60)
    assert len(memory.structured(ME, EntryRequest("knowledge", "get"))["entries"]) == 30


def test_counters_are_those_of_the_store(memory: Memory, store: BeingStore, clock: Clock) -> None:
    node = memory.remember("Rika adopted a kitten", ME)
    clock.now += 100
    memory.recall("Rika's kitten", ME)
    with store.database.read(memory.being.n) as unit:
        now = nodes.by_ids(unit, [node.id])[node.id]
    assert (now.reactivation_count, now.last_activated) == (1, clock.now)


def test_a_store_that_cannot_be_written_can_still_be_recalled(
    memory: Memory, store: BeingStore, tmp_path: Path
) -> None:
    node = memory.remember("Rika adopted a kitten", ME)
    hasty = SqliteDatabase(tmp_path / "beings.db", patience=0.05)
    hurried = BeingStore(hasty, "none").open(memory.being)
    with store.database.write(memory.being.n) as unit:
        nodes.change(unit, node.seq, {"status": "dead"})
        told = hurried.recall("Rika's kitten", Caller(conversation="monday"))
        assert "Rika adopted a kitten" in told.text
        assert "adopted" in hurried.explore(ME, ExploreRequest(node=node.id))
    assert memory.recall("Rika's kitten", Caller(conversation="monday")).hits
    hasty.close()


def test_a_long_list_shows_the_newest(memory: Memory, clock: Clock) -> None:
    for n in range(201):
        clock.now += 1
        memory.structured(ME, EntryRequest("diary", "append", content=f"day {n}"))
    answer = memory.structured(ME, EntryRequest("diary", "get"))
    assert len(answer["entries"]) == 200
    assert answer["entries"][-1]["content"] == "day 200"
    assert "more" in answer


def _no_opinion(_: Request) -> Say:
    return Say("{}")


def test_undoing_what_was_remembered_at_once_forgets_it(memory: Memory) -> None:
    memory.remember("The spare key hangs behind the fern", Caller())
    memory.remember("Ken is allergic to hazelnuts", Caller())
    memory.undo(memory.ledger()[0].n, Caller())
    memory.patrol(Caller())
    assert not memory.search("hazelnuts", Caller()).hits
    assert memory.search("spare key", Caller()).hits
