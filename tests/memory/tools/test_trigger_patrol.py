from __future__ import annotations

from typing import Any

import pytest

from clawkit.memory.memory import Memory
from tests.memory.tools.being_client import FULL, BeingClient, scene

SAID = [
    {"role": "user", "content": "I adopted a grey kitten called Mochi last week."},
    {"role": "assistant", "content": "How lovely!"},
]


async def test_waiting_scenes_become_nodes(client: BeingClient) -> None:
    scenes = [scene("Rika adopted a kitten"), scene("Rika moved to Osaka")]
    await client.call("update_notes", scenes=scenes)
    answer = await client.json("trigger_patrol", messages=[])
    assert (answer["status"], answer["scenes_created"], answer["nodes_created"]) == ("ok", 0, 2)
    assert isinstance(answer["marker_id"], str)


async def test_scenes_are_found_in_messages_once(client: BeingClient) -> None:
    first = await client.json("trigger_patrol", messages=SAID)
    assert first["scenes_created"] == 1
    assert first["nodes_created"] == 1
    again = await client.json("trigger_patrol", messages=SAID, marker_id=first["marker_id"])
    assert (again["scenes_created"], again["nodes_created"]) == (0, 0)
    assert "Mochi" in await client.call("search_memory", query="kitten")


async def test_without_a_key_consolidation_is_skipped(client: BeingClient) -> None:
    steps = (await client.json("trigger_patrol", messages=[]))["steps"]
    assert (steps["merged"], steps["diary"]) == ("skipped: no model", "skipped: no model")
    assert (steps["split"], steps["repeated"]) == ("skipped: no vectors", 0)


async def test_what_recall_told_is_not_remembered_again(
    client: BeingClient, memory: Memory
) -> None:
    memory.remember("Rika adopted a grey kitten", FULL)
    told = await client.call("recall", user_message="Rika's grey kitten")
    echo = {"role": "user", "content": f"{told}\nThanks."}
    await client.call("trigger_patrol", messages=[echo])
    found = memory.search("kitten Rika thanks", FULL, limit=9)
    assert sorted(hit.node.scene.action for hit in found.hits) == [
        "Rika adopted a grey kitten",
        "Thanks.",
    ]


async def test_content_may_be_a_list_of_blocks(client: BeingClient) -> None:
    blocks = [{"type": "text", "text": "I adopted a kitten called Mochi."}, {"type": "image"}]
    await client.call("trigger_patrol", messages=[{"role": "user", "content": blocks}])
    assert "Mochi" in await client.call("search_history", query="mochi")


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        (None, "messages"),
        ("hello", "messages"),
        ([{"role": "user"}], "content"),
        ([{"content": "hello"}], "role"),
        ([{"role": "user", "content": 5}], "messages[0].content"),
        ([{"role": "user", "content": "x" * 100_001}], "messages[0].content"),
        ([{"role": "user", "content": "x"}] * 2001, "messages"),
    ],
)
async def test_messages_that_are_not_right_are_refused_by_name(
    client: BeingClient, messages: Any, named: str
) -> None:
    given = {} if messages is None else {"messages": messages}
    assert named in await client.error("trigger_patrol", **given)
