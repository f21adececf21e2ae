from __future__ import annotations

from typing import Any, get_args

import pytest

from clawkit.memory.memory import Memory
from clawkit.memory.records import Target
from tests.memory.http.being_store import Clock
from tests.memory.tools.being_client import FULL, BeingClient

PLAIN = [t for t in get_args(Target) if t not in ("notes", "partner_map", "party_message")]


async def contents(client: BeingClient, target: str, **more: Any) -> list[str]:
    answer = await client.json("update_memory", target=target, action="get", **more)
    assert (answer["status"], answer["target"], answer["action"]) == ("ok", target, "get")
    return [entry["content"] for entry in answer["entries"]]


@pytest.mark.parametrize("target", PLAIN)
async def test_entries_are_appended_read_updated_and_deleted(
    client: BeingClient, clock: Clock, target: str
) -> None:
    for key, content in (("a", "first"), ("b", "second")):
        clock.now += 1
        await client.call("update_memory", target=target, action="append", key=key, content=content)
    assert await contents(client, target) == ["first", "second"]
    assert await contents(client, target, key="b") == ["second"]
    assert await contents(client, target, key="c") == []
    clock.now += 1
    await client.call("update_memory", target=target, action="update", key="a", content="third")
    assert await contents(client, target, key="a") == ["third"]
    answer = await client.json("update_memory", target=target, action="delete", key="a")
    assert (answer["status"], answer["deleted"]) == ("ok", 1)
    assert await contents(client, target) == ["second"]
    answer = await client.json("update_memory", target=target, action="delete", key="a")
    assert answer["status"] == "not_found"


async def test_an_update_creates_what_is_not_there_and_says_so(client: BeingClient) -> None:
    update = {"target": "knowledge", "action": "update", "key": "capital"}
    assert (await client.json("update_memory", **update, content="Kyoto"))["created"] is True
    assert (await client.json("update_memory", **update, content="Tokyo"))["created"] is False
    assert await contents(client, "knowledge") == ["Tokyo"]


async def test_an_update_leaves_one_entry_of_its_key(client: BeingClient, clock: Clock) -> None:
    for content in ("tea", "coffee"):
        clock.now += 1
        await client.call(
            "update_memory", target="preferences", action="append", key="drink", content=content
        )
    assert await contents(client, "preferences", key="drink") == ["tea", "coffee"]
    await client.call(
        "update_memory", target="preferences", action="update", key="drink", content="water"
    )
    assert await contents(client, "preferences") == ["water"]


async def test_an_id_is_a_key_too(client: BeingClient) -> None:
    append = {"target": "knowledge", "action": "append", "content": "Cats purr"}
    entry = (await client.json("update_memory", **append))["entries"][0]
    assert await contents(client, "knowledge", key=entry["id"]) == ["Cats purr"]
    await client.call("update_memory", target="knowledge", action="delete", key=entry["id"])
    assert await contents(client, "knowledge") == []


async def test_the_same_fact_is_not_kept_twice(client: BeingClient) -> None:
    append = {"target": "knowledge", "action": "append", "content": "Cats purr"}
    assert "known_already" not in await client.json("update_memory", **append)
    assert (await client.json("update_memory", **append))["known_already"] is True
    assert await contents(client, "knowledge") == ["Cats purr"]


async def test_nothing_is_deleted_or_updated_without_a_key(client: BeingClient) -> None:
    await client.call(
        "update_memory", target="knowledge", action="append", key="cats", content="Cats purr"
    )
    assert "key" in await client.error("update_memory", target="knowledge", action="delete")
    text = await client.error("update_memory", target="knowledge", action="update", content="x")
    assert "key" in text
    assert await contents(client, "knowledge") == ["Cats purr"]


@pytest.mark.parametrize("action", ["append", "update"])
async def test_content_is_needed_to_write(client: BeingClient, action: str) -> None:
    write = {"target": "knowledge", "action": action, "key": "cats"}
    assert "content" in await client.error("update_memory", **write)
    assert "content" in await client.error("update_memory", **write, content=" ")
    assert "20,000" in await client.error("update_memory", **write, content="x" * 20_001)


async def test_targets_and_actions_that_do_not_exist_are_named(client: BeingClient) -> None:
    assert "target" in await client.error("update_memory", target="tokens", action="get")
    assert "action" in await client.error("update_memory", target="diary", action="drop")


async def test_the_map_has_one_entry_for_a_location(client: BeingClient) -> None:
    put = {"target": "partner_map", "action": "append"}
    assert "location" in await client.error("update_memory", **put, content="the desk")
    await client.call("update_memory", **put, location="office", content="the desk")
    await client.call("update_memory", **put, location="office", content="the new desk")
    await client.call(
        "update_memory", target="partner_map", action="update", location="home", content="the sofa"
    )
    assert set(await contents(client, "partner_map")) == {"the new desk", "the sofa"}
    assert await contents(client, "partner_map", location="home") == ["the sofa"]
    await client.call("update_memory", target="partner_map", action="delete", location="home")
    assert await contents(client, "partner_map") == ["the new desk"]


async def test_a_rule_can_be_switched_off_and_on(client: BeingClient) -> None:
    rule = {"target": "partner_rules", "key": "language"}
    await client.call("update_memory", **rule, action="append", content="Answer in Japanese")
    prompt = (await client.json("get_context"))["system_prompt"]
    assert "Answer in Japanese" in prompt
    answer = await client.json("update_memory", **rule, action="update", content="disabled")
    assert answer["entries"][0]["enabled"] is False
    assert answer["entries"][0]["content"] == "Answer in Japanese"
    assert "Japanese" not in (await client.json("get_context"))["system_prompt"]
    await client.call("update_memory", **rule, action="update", content="enabled")
    assert (await client.json("get_context"))["system_prompt"] == prompt


async def test_the_newest_soul_is_the_persona(client: BeingClient, clock: Clock) -> None:
    soul = {"target": "souls"}
    await client.call(
        "update_memory", **soul, action="append", key="Hana", content="Hana is gentle."
    )
    clock.now += 1
    await client.call("update_memory", **soul, action="update", content="Hana is brave.")
    context = await client.json("get_context")
    assert context["metadata"]["soul_name"] == "Hana"
    assert "Hana is brave." in context["system_prompt"]
    assert "gentle" not in context["system_prompt"]
    clock.now += 1
    await client.call(
        "update_memory", **soul, action="append", key="Sora", content="Sora is quick."
    )
    assert (await client.json("get_context"))["metadata"]["soul_name"] == "Sora"


async def test_notes_are_the_ones_of_update_notes(client: BeingClient) -> None:
    (note_id,) = (await client.json("update_notes", notes=["buy milk"]))["note_ids"]
    assert await contents(client, "notes") == ["buy milk"]
    note = {"target": "notes", "key": note_id}
    await client.call("update_memory", **note, action="update", content="buy oat milk")
    assert await contents(client, "notes", key=note_id) == ["buy oat milk"]
    await client.call("update_memory", target="notes", action="append", content="call the vet")
    await client.call("update_memory", **note, action="delete")
    assert await contents(client, "notes") == ["call the vet"]
    answer = await client.json("update_memory", **note, action="delete")
    assert answer["status"] == "not_found"


async def test_a_note_is_found_by_how_it_begins(client: BeingClient) -> None:
    await client.call("update_notes", notes=["Buy milk for Ana", "Call the vet", "Buy stamps"])
    assert await contents(client, "notes", key="call the") == ["Call the vet"]
    assert await contents(client, "notes", key="Buy") == ["Buy milk for Ana", "Buy stamps"]
    await client.call(
        "update_memory", target="notes", action="update", key="Buy m", content="Buy oat milk"
    )
    assert await contents(client, "notes", key="Buy oat milk") == ["Buy oat milk"]
    answer = await client.json("update_memory", target="notes", action="delete", key="call")
    assert (answer["status"], answer["deleted"]) == ("ok", 1)
    assert await contents(client, "notes") == ["Buy oat milk", "Buy stamps"]
    answer = await client.json("update_memory", target="notes", action="delete", key="Sell")
    assert answer["status"] == "not_found"


async def test_a_beginning_that_several_notes_have_changes_none(client: BeingClient) -> None:
    await client.call("update_notes", notes=["Buy milk", "Buy stamps"])
    for more in ({"action": "delete"}, {"action": "update", "content": "Buy nothing"}):
        text = await client.error("update_memory", target="notes", key="Buy", **more)
        assert "2 notes begin so" in text
    assert await contents(client, "notes") == ["Buy milk", "Buy stamps"]


async def test_a_note_keeps_the_key_that_it_was_written_with(client: BeingClient) -> None:
    note = {"target": "notes", "key": "shopping"}
    await client.call("update_memory", **note, action="append", content="milk")
    await client.call("update_notes", notes=["shopping with Ana on Monday"])
    assert await contents(client, "notes", key="shopping") == ["shopping: milk"]
    await client.call("update_memory", **note, action="update", content="bread")
    assert await contents(client, "notes", key="shopping") == ["shopping: bread"]
    await client.call("update_memory", **note, action="delete")
    assert await contents(client, "notes") == ["shopping with Ana on Monday"]


@pytest.mark.parametrize("target", ["knowledge", "notes"])
async def test_what_was_changed_or_deleted_can_be_undone(
    client: BeingClient, memory: Memory, target: str
) -> None:
    append = {"target": target, "action": "append", "content": "Cats purr"}
    entry_id = (await client.json("update_memory", **append))["entries"][0]["id"]
    await client.call(
        "update_memory", target=target, action="update", key=entry_id, content="Cats bark"
    )
    await client.call("update_memory", target=target, action="delete", key=entry_id)
    memory.undo(memory.ledger(1)[0].n, FULL)
    assert await contents(client, target) == ["Cats bark"]
    memory.undo(memory.ledger(3)[2].n, FULL)
    assert await contents(client, target) == ["Cats purr"]


async def test_to_is_for_party_messages_only(client: BeingClient) -> None:
    text = await client.error(
        "update_memory", target="diary", action="append", content="A day", to="Sora"
    )
    assert "to" in text


async def test_only_the_newest_notes_are_shown_where_there_are_many(client: BeingClient) -> None:
    for start in (0, 100, 200):
        await client.call("update_notes", notes=[f"note {start + n}" for n in range(100)])
    answer = await client.json("update_memory", target="notes", action="get")
    assert len(answer["entries"]) == 200
    assert answer["more"] == "only the newest are shown"


async def test_a_location_that_is_too_long_is_refused_by_its_name(client: BeingClient) -> None:
    given = {"target": "partner_map", "action": "append", "content": "here"}
    assert "location" in await client.error("update_memory", **given, location="x" * 201)
