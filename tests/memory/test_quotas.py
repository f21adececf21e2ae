"""What a Being may hold and how often it may be called, on either kind of store."""

from __future__ import annotations

import io
from typing import Any

import pytest

from clawkit.errors import QuotaError
from clawkit.memory import being_store, bundle
from clawkit.memory.being_store import BeingStore, CallCounter, Quota, Used
from clawkit.memory.imports.importer import bring
from clawkit.memory.imports.readers import ImportedFiles, ImportedMemory, ImportedMessage
from clawkit.memory.intake import listen
from clawkit.memory.memory import Memory
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.records import Being, Scene
from clawkit.memory.structured_memory import EntryRequest
from clawkit.memory.tokens import Caller
from clawkit.store.database import Database
from tests.memory.http.being_store import Clock
from tests.memory.http.served_beings import served
from tests.together.official import MODES
from tests.together.test_being_clients import connected

CALLER = Caller()
DAY = 86_400.0


def limited(store: BeingStore, **limits: Any) -> Memory:
    """A Being that may have so much."""
    being = store.create("Ada")
    allow(store, being, **limits)
    return store.open(being)


def allow(store: BeingStore, being: Being, **limits: Any) -> None:
    with store.database.registry(write=True) as connection:
        being_store.set_quota(connection, being.n, Quota(**limits))


def has(store: BeingStore, memory: Memory) -> Used:
    with store.database.read(memory.being.n) as unit:
        return being_store.used(unit)


def scenes(number: int, what: str = "heron") -> list[Scene]:
    return [Scene(f"saw {what} number {n}", ("Ada",), ("2026-01-02",)) for n in range(number)]


def test_memories_above_the_quota_are_refused_whole_and_nothing_is_lost(database: Database) -> None:
    store = BeingStore(database, "none")
    memory = limited(store, memories=3)
    memory.take_notes(CALLER, scenes=scenes(2))
    with pytest.raises(QuotaError, match="Ada may hold 3 memories, and with this it would be 4"):
        memory.take_notes(CALLER, scenes=scenes(2, "crane"), notes=["call the dentist"])
    figures = memory.figures()
    assert (figures["waiting_scenes"], figures["notes"]) == (2, 0)
    assert memory.patrol(CALLER).nodes_created == 2
    node = memory.remember("Anna is allergic to peanuts", CALLER)
    with pytest.raises(QuotaError):
        memory.remember("Ben plays the cello", CALLER)
    # What takes no more room goes on, also above a quota that was lowered.
    allow(store, memory.being, memories=1)
    newer = memory.supersede(node.id, Scene("Anna can eat peanuts again"), CALLER)
    memory.retract([newer.id], CALLER)
    memory.take_notes(CALLER, notes=["call the dentist"])
    memory.patrol(CALLER)
    assert has(store, memory).memories == 2
    allow(store, memory.being)
    memory.remember("Ben plays the cello", CALLER)


def test_bytes_count_in_every_language_and_through_every_way_in(database: Database) -> None:
    store = BeingStore(database, "none")
    memory = limited(store, bytes=2_000)
    memory.structured(CALLER, EntryRequest("knowledge", "append", content="é" * 500))
    assert has(store, memory).bytes == 1_000
    with pytest.raises(QuotaError, match="may hold 2,000 bytes"):
        memory.structured(CALLER, EntryRequest("knowledge", "append", content="é" * 501))
    with pytest.raises(QuotaError):
        memory.relate(CALLER, "Ben", "person", "x" * 1_001, "upsert")
    with pytest.raises(QuotaError):
        memory.patrol(CALLER, [ConversationMessage("user", "I own a boat. " * 100)])
    with pytest.raises(QuotaError):
        listen(
            store,
            memory.being,
            [ConversationMessage("user", "I own a boat. " * 100)],
            CALLER,
            memory.secret_filter(),
        )
    with pytest.raises(QuotaError):
        bring(store, memory.being, ImportedFiles((ImportedMemory(Scene("x" * 1_100), "notes.md"),)))
    assert has(store, memory).bytes == 1_000
    assert memory.history() == []


def test_a_bundle_that_is_too_large_for_its_being_leaves_nothing(database: Database) -> None:
    store = BeingStore(database, "none")
    rich = store.open(store.create("Rich"))
    for n in range(5):
        rich.remember(f"thing number {n}", CALLER)
    file = io.BytesIO(b"".join(bundle.export(database, rich.being)))
    poor = limited(store, memories=4)
    with pytest.raises(QuotaError):
        bundle.load(store, file, "rich.jsonl", into=poor.being)
    assert has(store, poor) == Used(0, 0)


def test_an_import_that_is_refused_in_the_middle_says_what_stayed_and_goes_on_later(
    database: Database,
) -> None:
    store = BeingStore(database, "none")
    memory = limited(store, memories=10)
    heard = tuple(
        ImportedMessage("user", f"Crane {n} flew over hill {n}.", float(n), f"c{n // 5}")
        for n in range(30)
    )
    with pytest.raises(QuotaError, match=r"would be 15: .* 10 memories of this import .* stayed"):
        bring(store, memory.being, ImportedFiles(messages=heard))
    assert has(store, memory).memories == 10
    allow(store, memory.being)
    assert bring(store, memory.being, ImportedFiles(messages=heard)).memories == 20


def test_calls_are_counted_by_the_day_for_all_processes(database: Database) -> None:
    clock, elapsed = Clock(10 * DAY + 3600), Clock(0.0)
    store = BeingStore(database, "none", clock=clock)
    memory = limited(store, calls=3)
    one, two = (CallCounter(database, clock, elapsed) for _ in range(2))
    for counter in (one, two, one):
        counter.count(memory.being)
    with pytest.raises(QuotaError, match=r"3 times a day.*00:00 UTC, in 23 h 0 min"):
        two.count(memory.being)
    clock.now += DAY
    two.count(memory.being)
    other = store.create("Ben")
    for _ in range(5):
        one.count(other)


def test_a_changed_number_of_calls_counts_within_seconds(store: BeingStore) -> None:
    elapsed = Clock(0.0)
    memory = limited(store, calls=0)
    counter = CallCounter(store.database, store.clock, elapsed)
    with pytest.raises(QuotaError):
        counter.count(memory.being)
    allow(store, memory.being)
    elapsed.now += being_store.KNOWN_FOR
    counter.count(memory.being)


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_is_told_what_is_too_much(database: Database, mode: str) -> None:
    with served(BeingStore(database, "none")) as server:
        allow(server.store, server.being, memories=1, calls=3)
        scene = {"action": "saw a heron", "actors": ["Ada"], "when": ["2026-01-02"]}
        more = [scene, {**scene, "action": "saw a crane"}]
        async with connected(f"{server.url}{server.path}", server.token(), mode) as client:
            refused = await client.call_tool("update_notes", {"scenes": more})
            kept = await client.call_tool("update_notes", {"scenes": [scene]})
            recalled = await client.call_tool("recall", {"user_message": "saw a heron"})
            over = await client.call_tool("recall", {"user_message": "saw a heron"})
        assert refused.is_error
        assert "may hold 1 memory" in str(refused.content)
        assert not kept.is_error
        assert "heron" in str(recalled.content)
        assert over.is_error
        assert "3 times a day" in str(over.content)


def test_a_message_to_a_being_that_is_full_stays_with_its_sender(store: BeingStore) -> None:
    sender = store.open(store.create("Ada"))
    recipient = store.open(store.create("Ben"))
    sender.relate(CALLER, "Ben", "ai", f"a friend: {recipient.being.id}", "upsert")
    recipient.relate(CALLER, "Ada", "ai", f"a friend: {sender.being.id}", "upsert")
    allow(store, recipient.being, bytes=100)
    answer = sender.structured(
        CALLER, EntryRequest("party_message", "append", content="x" * 200, to="Ben")
    )
    assert answer["delivered"] is False
