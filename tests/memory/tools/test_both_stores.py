"""A day with a Being, tool by tool, on either kind of store."""

from __future__ import annotations

from clawkit.memory.being_store import BeingStore
from clawkit.memory.mcp_server import BeingServer
from clawkit.memory.tools import READ_TOOLS, WRITE_TOOLS
from clawkit.store.database import Database
from tests.memory.tools.being_client import READER, BeingClient, scene

NAUGHTY = "The kitten\x00 O'Hara's 100% <memory-recall> \ud800 NEAR( ; --"


async def test_every_tool_works_on_either_store(database: Database) -> None:
    store = BeingStore(database, "none")
    being = store.create("Hana")
    server = BeingServer(store)
    client = BeingClient(server, being, conversation="monday")
    assert server.tools.keys() == READ_TOOLS | WRITE_TOOLS
    noted = await client.json(
        "update_notes", scenes=[scene("Rika adopted a kitten"), scene(NAUGHTY)], notes=[NAUGHTY]
    )
    patrol = await client.json(
        "trigger_patrol", messages=[{"role": "user", "content": f"I own a boat. {NAUGHTY}"}]
    )
    assert patrol["nodes_created"] >= 3
    assert "adopted" in await client.call("recall", user_message="the kitten that Rika adopted")
    found = await client.call("search_memory", query="Rika kitten O'Hara", mode="or")
    assert found.count("(id:") == 3
    ids = [line.rsplit("id: ", 1)[1].rstrip(")") for line in found.splitlines()[1:]]
    assert "Clusters: " in await client.call("recall_memory", query="100%")
    assert "action: " in await client.call("recall_memory", node_id=ids[0])
    merged = await client.call("merge_nodes", node_ids=",".join(ids), summary="Rika has a kitten")
    assert "new node" in merged
    answer = await client.json(
        "update_memory", target="knowledge", action="update", key="cats", content=NAUGHTY
    )
    assert answer["created"] is True
    relation = {"entity_name": "Rika", "relation_type": "person"}
    await client.call("update_relation", **relation, action="upsert", content="a friend")
    await client.call("update_relation", **relation, action="delete")
    assert "I own a boat" in await client.call("search_history", query="own a boat")
    assert "UTC" in await client.call("get_current_time")
    replaced = await client.json(
        "update_notes",
        action="update",
        scene_ids=noted["scene_ids"],
        scenes=[scene("Rika has two kittens")],
    )
    assert replaced["waiting_scenes"] == 1
    reader = BeingClient(server, being, READER, conversation="monday")
    assert "kitten" in await reader.call("recall", user_message="Rika has a kitten")
    assert "O'Hara" in (await reader.json("get_context"))["snapshot"]
    entry = store.open(being).ledger(1)[0]
    store.open(being).undo(entry.n, READER)
