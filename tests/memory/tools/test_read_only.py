from __future__ import annotations

import pytest

from clawkit.errors import AccessError
from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.store import nodes
from clawkit.memory.tools import WRITE_TOOLS
from tests.memory.tools.being_client import FULL, BeingClient

ARGUMENTS = {
    "update_memory": {"target": "knowledge", "action": "get"},
    "update_notes": {"notes": ["x"]},
    "merge_nodes": {"node_ids": "x", "summary": "x"},
    "update_relation": {"entity_name": "x", "relation_type": "x", "action": "delete"},
    "trigger_patrol": {"messages": []},
}


@pytest.mark.parametrize("tool", sorted(WRITE_TOOLS))
async def test_a_read_only_token_may_not_write(
    reader: BeingClient, memory: Memory, tool: str
) -> None:
    before = memory.figures()
    with pytest.raises(AccessError, match="read-only"):
        await reader.call(tool, **ARGUMENTS[tool])
    assert memory.figures() == before
    assert memory.ledger() == []


async def test_a_read_only_token_changes_nothing_that_another_reader_can_see(
    client: BeingClient, reader: BeingClient, memory: Memory, store: BeingStore
) -> None:
    kitten = memory.remember("Rika adopted a grey kitten", FULL)
    dead = memory.remember("Rika sold her old piano", FULL)
    with store.database.write(memory.being.n) as unit:
        nodes.change(unit, dead.seq, {"status": "dead"})

    async def seen() -> list[str]:
        return [
            await client.call("recall_memory"),
            await client.call("recall_memory", no_nodes=True, query="Rika"),
            await client.call("recall_memory", node_id=kitten.id),
            await client.call("search_memory", query="Rika", explain=True),
            await client.call("search_history"),
            await client.call("get_context"),
        ]

    before = await seen()
    reader.conversation = "monday"
    for _ in range(3):
        await reader.call("recall", user_message="Rika's grey kitten")
        await reader.call("recall", user_message="the old piano that Rika sold")
        await reader.call("recall_memory", node_id=dead.id)
        await reader.call("recall_memory", query="Rika")
        await reader.call("search_memory", query="Rika")
        await reader.call("get_context")
    assert await seen() == before
    client.conversation = "monday"
    told = await client.call("recall", user_message="Rika's grey kitten")
    assert "Rika adopted a grey kitten" in told
