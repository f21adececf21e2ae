from __future__ import annotations

from typing import Any

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.mcp_server import BeingServer
from clawkit.memory.memory import Memory
from clawkit.memory.records import Being
from clawkit.memory.tools import READ_TOOLS, WRITE_TOOLS
from clawkit.wire.session import Session
from tests.memory.tools.being_client import BeingClient

DOCUMENTED: dict[str, tuple[set[str], set[str]]] = {
    "recall": ({"user_message"}, {"user_message", "explain", "as_of"}),
    "get_context": (set(), set()),
    "recall_memory": (set(), {"cluster_id", "node_id", "limit", "query", "no_nodes"}),
    "search_memory": ({"query"}, {"query", "limit", "mode", "explain", "as_of"}),
    "merge_nodes": ({"node_ids", "summary"}, {"node_ids", "summary", "feeling"}),
    "update_memory": (
        {"target", "action"},
        {"target", "action", "content", "key", "location", "to"},
    ),
    "update_notes": (set(), {"action", "scenes", "notes", "scene_ids"}),
    "search_history": (set(), {"query", "date_from", "date_to", "limit"}),
    "update_relation": (
        {"entity_name", "relation_type", "action"},
        {"entity_name", "relation_type", "content", "action"},
    ),
    "trigger_patrol": ({"messages"}, {"messages", "marker_id"}),
    "get_current_time": (set(), {"timezone"}),
}


async def listed(client: BeingClient) -> dict[str, Any]:
    tools = (await client.ask("tools/list"))["result"]["tools"]
    return {tool["name"]: tool for tool in tools}


async def test_exactly_the_eleven_documented_tools_are_listed(client: BeingClient) -> None:
    assert (await listed(client)).keys() == DOCUMENTED.keys()


@pytest.mark.parametrize("name", DOCUMENTED)
async def test_a_tool_has_exactly_the_documented_parameters(client: BeingClient, name: str) -> None:
    schema = (await listed(client))[name]["inputSchema"]
    required, every = DOCUMENTED[name]
    assert set(schema["properties"]) == every
    assert set(schema.get("required", ())) == required


async def test_read_tools_say_that_they_only_read(client: BeingClient) -> None:
    for name, tool in (await listed(client)).items():
        assert tool["annotations"]["readOnlyHint"] is (name in READ_TOOLS)


async def test_tools_that_delete_or_overwrite_say_so(client: BeingClient) -> None:
    hints = {name: tool["annotations"] for name, tool in (await listed(client)).items()}
    destructive = {name for name, hint in hints.items() if hint.get("destructiveHint")}
    assert destructive == {"update_memory", "update_notes", "update_relation", "merge_nodes"}
    assert hints["trigger_patrol"]["destructiveHint"] is False


@pytest.mark.parametrize("name", DOCUMENTED)
async def test_an_argument_that_a_tool_does_not_have_is_refused(
    client: BeingClient, name: str
) -> None:
    text = await client.error(name, feelings="odd")
    assert "feelings" in text
    assert "unknown argument; this tool takes " in text
    assert "additionalProperties" not in (await listed(client))[name]["inputSchema"]


async def test_a_field_that_a_scene_does_not_have_is_refused(
    client: BeingClient, memory: Memory
) -> None:
    misspelt = {"action": "Rika sang", "actors": [], "when": ["2026-05-01"], "feelings": "joy"}
    text = await client.error("update_notes", scenes=[misspelt])
    assert "scenes[0]" in text
    assert "feelings" in text
    assert memory.figures()["waiting_scenes"] == 0


def test_every_tool_either_reads_or_writes() -> None:
    assert DOCUMENTED.keys() == READ_TOOLS | WRITE_TOOLS
    assert not READ_TOOLS & WRITE_TOOLS


async def test_an_unknown_argument_value_names_the_parameter(client: BeingClient) -> None:
    assert "mode" in await client.error("search_memory", query="x", mode="xor")
    assert "user_message" in await client.error("recall", user_message=5)
    assert "user_message" in await client.error("recall")


async def test_a_fixed_being_needs_no_principal(store: BeingStore, memory: Memory) -> None:
    server = BeingServer(store, being=memory.being)
    params = {"name": "get_context", "arguments": {}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = await server.handle_jsonrpc(request, Session())
    assert reply is not None
    assert memory.being.id in reply["result"]["content"][0]["text"]


async def test_a_caller_without_access_reaches_no_being(store: BeingStore, being: Being) -> None:
    server = BeingServer(store)
    params = {"name": "get_context", "arguments": {}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = await server.handle_jsonrpc(request, Session())
    assert reply is not None
    assert reply["result"]["isError"]
    assert being.id not in reply["result"]["content"][0]["text"]


@pytest.mark.parametrize("name", [5, "x" * 201, "two\nlines"])
async def test_a_conversation_that_cannot_be_a_name_is_refused(
    client: BeingClient, name: Any
) -> None:
    client.conversation = name
    reply = await client.ask("tools/call", name="recall", arguments={"user_message": "hello"})
    assert reply["error"]["code"] == -32602
    assert "clawkit/conversation" in reply["error"]["message"]
