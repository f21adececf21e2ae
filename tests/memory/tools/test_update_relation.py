from __future__ import annotations

import pytest

from clawkit.memory.memory import Memory
from tests.memory.tools.being_client import FULL, BeingClient

RIKA = {"entity_name": "Rika", "relation_type": "person"}


async def relations(client: BeingClient) -> list[tuple[str, str, str]]:
    answer = await client.json("update_memory", target="relationship", action="get")
    return [(entry["key"], entry["type"], entry["content"]) for entry in answer["entries"]]


async def test_a_relation_is_created_overwritten_and_removed(client: BeingClient) -> None:
    created = await client.json("update_relation", **RIKA, action="upsert", content="a neighbour")
    assert (created["status"], created["created"]) == ("ok", True)
    again = await client.json("update_relation", **RIKA, action="upsert", content="a friend")
    assert again["created"] is False
    assert await relations(client) == [("Rika", "person", "a friend")]
    assert "Rika (person): a friend" in (await client.json("get_context"))["system_prompt"]
    assert (await client.json("update_relation", **RIKA, action="delete"))["status"] == "ok"
    assert await relations(client) == []
    gone = await client.json("update_relation", **RIKA, action="delete")
    assert gone["status"] == "not_found"


async def test_a_device_of_the_same_name_is_another_entity(client: BeingClient) -> None:
    await client.call("update_relation", **RIKA, action="upsert", content="a friend")
    device = {"entity_name": "Rika", "relation_type": "device"}
    await client.call("update_relation", **device, action="upsert", content="a robot")
    await client.call("update_relation", **RIKA, action="delete")
    assert await relations(client) == [("Rika", "device", "a robot")]


async def test_content_is_needed_to_upsert(client: BeingClient) -> None:
    assert "content" in await client.error("update_relation", **RIKA, action="upsert")


@pytest.mark.parametrize("missing", ["entity_name", "relation_type", "action"])
async def test_required_parameters_are_required(client: BeingClient, missing: str) -> None:
    given = {**RIKA, "action": "upsert", "content": "a friend"}
    del given[missing]
    assert missing in await client.error("update_relation", **given)


async def test_an_unknown_action_or_an_empty_name_is_named(client: BeingClient) -> None:
    assert "action" in await client.error("update_relation", **RIKA, action="drop")
    empty = {**RIKA, "entity_name": " "}
    text = await client.error("update_relation", **empty, action="upsert", content="x")
    assert "entity_name" in text


async def test_a_removed_relation_can_be_brought_back(client: BeingClient, memory: Memory) -> None:
    await client.call("update_relation", **RIKA, action="upsert", content="a friend")
    await client.call("update_relation", **RIKA, action="delete")
    memory.undo(memory.ledger(1)[0].n, FULL)
    assert await relations(client) == [("Rika", "person", "a friend")]
