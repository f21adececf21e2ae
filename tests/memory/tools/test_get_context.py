from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.structured_memory import EntryRequest
from clawkit.memory.tokens import Caller
from clawkit.store import open_store
from tests.memory.http.being_store import Clock
from tests.memory.tools.being_client import FULL, BeingClient


async def test_a_new_being_has_a_context_with_all_documented_fields(
    client: BeingClient, memory: Memory
) -> None:
    context = await client.json("get_context")
    assert context.keys() == {
        *("system_prompt", "snapshot", "metadata", "capability_tools", "recent_nodes"),
    }
    assert context["metadata"].keys() == {
        *("being_id", "soul_name", "model_recommendation", "cache_guidance"),
    }
    assert context["metadata"]["being_id"] == memory.being.id
    assert context["metadata"]["soul_name"] == "Hana"
    assert context["metadata"]["model_recommendation"] == "claude-sonnet-4-6"
    assert "stable" in context["metadata"]["cache_guidance"]
    assert context["capability_tools"] == []
    assert context["recent_nodes"] == []
    assert "Hana" in context["system_prompt"]


async def test_the_prompt_is_what_the_being_is_and_the_snapshot_what_it_knows(
    client: BeingClient, memory: Memory
) -> None:
    stable = ("souls", "partner_rules", "preferences", "relationship")
    for target in (*stable, "knowledge", "diary", "partner_tools"):
        memory.structured(
            FULL, EntryRequest(target, "append", key=target, content=f"the {target} text")
        )
    memory.structured(
        FULL, EntryRequest("partner_map", "append", location="home", content="the map text")
    )
    memory.take_notes(FULL, notes=["the notes text"])
    context = await client.json("get_context")
    for target in stable:
        assert f"the {target} text" in context["system_prompt"]
        assert f"the {target} text" not in context["snapshot"]
    for target in ("knowledge", "diary", "notes", "partner_tools", "map"):
        assert f"the {target} text" in context["snapshot"]
        assert f"the {target} text" not in context["system_prompt"]


async def test_the_diary_goes_back_seven_days(
    client: BeingClient, memory: Memory, clock: Clock
) -> None:
    memory.structured(FULL, EntryRequest("diary", "append", content="a day long ago"))
    clock.now += 8 * 86_400
    memory.structured(FULL, EntryRequest("diary", "append", content="a day this week"))
    snapshot = (await client.json("get_context"))["snapshot"]
    assert "a day this week" in snapshot
    assert "a day long ago" not in snapshot


async def test_the_five_memories_that_were_active_last_come_along(
    client: BeingClient, memory: Memory, clock: Clock
) -> None:
    for n in range(7):
        clock.now += 1
        memory.remember(f"Rika read chapter {n}", FULL, when=["2026-05-01"])
    clock.now += 1
    await client.call("recall", user_message="chapter 0 that Rika read")
    recent = (await client.json("get_context"))["recent_nodes"]
    assert len(recent) == 5
    assert all(text.startswith("2026-05-01 — Rika read chapter") for text in recent)
    assert any("chapter 0" in text for text in recent)


async def test_reading_the_context_changes_nothing(
    client: BeingClient, reader: BeingClient, memory: Memory
) -> None:
    memory.take_notes(FULL, notes=["buy milk"])
    first = await client.json("get_context")
    assert await reader.json("get_context") == first
    assert await client.json("get_context") == first


async def test_a_long_list_is_cut_and_says_so(client: BeingClient, memory: Memory) -> None:
    for n in range(60):
        memory.structured(
            FULL, EntryRequest("knowledge", "append", key=f"fact {n}", content="x" * 5_000)
        )
    snapshot = (await client.json("get_context"))["snapshot"]
    assert "10 earlier ones: update_memory, target knowledge" in snapshot
    assert len(snapshot) < 60_000


async def test_another_being_sees_nothing_of_it(
    client: BeingClient, memory: Memory, store: BeingStore
) -> None:
    memory.structured(FULL, EntryRequest("souls", "append", key="Hana", content="a secret soul"))
    memory.take_notes(FULL, notes=["a secret note"])
    stranger = BeingClient(client.server, store.create("Stranger"))
    assert "secret" not in await stranger.call("get_context")


def test_a_session_begins_with_what_is_known_of_the_person(tmp_path: Path) -> None:
    now = datetime(2026, 11, 2, 9, tzinfo=UTC).timestamp()
    store = BeingStore(open_store(f"sqlite:{tmp_path / 'beings.db'}"), clock=lambda: now)
    memory = store.open(store.create("life"))
    told = (
        "Hello, I'm Margaret Holloway, 71, and I was a district nurse.",
        "I live in a bungalow in Seaham with my dog Pickle.",
        "They must never give me penicillin, I am allergic to it.",
        "I take losartan for my blood pressure now, 50 at night.",
        "The dentist is on 12 November at ten.",
        "What a day, rain and rain again.",
    )
    memory.patrol(Caller(), [ConversationMessage("user", text) for text in told])
    snapshot = memory.context()["snapshot"]
    for fact in ("district nurse", "bungalow", "penicillin", "losartan", "12 November"):
        assert fact in snapshot
    ahead = snapshot[snapshot.index("### Ahead") :]
    assert "2026-11-02, Margaret Holloway: The dentist is on 12 November (2026-11-12)" in ahead
    assert "Margaret" not in memory.context()["system_prompt"]
    store.close()


async def test_a_token_with_a_person_is_told_who_is_asking(
    client: BeingClient, memory: Memory
) -> None:
    ana = BeingClient(client.server, memory.being, Caller(token="t1", person="Ana Lopes"))
    assert "## Who is asking\n- Ana Lopes" in (await ana.json("get_context"))["snapshot"]
    assert "Who is asking" not in (await client.json("get_context"))["snapshot"]
