"""A Being over HTTP: the official clients of both eras, the Inspector, the documented example."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from clawkit.memory.tools import READ_TOOLS, WRITE_TOOLS
from tests.memory.http.process import BeingProcess, being_process
from tests.memory.patrol.test_topics import CHOIR, PLOT
from tests.processes import PATIENCE, ROOT
from tests.together.official import MODES
from tests.together.test_node_clients import CLIENTS, ERAS, HERE, INSPECTOR, node

ELEVEN = READ_TOOLS | WRITE_TOOLS
EXAMPLE = ROOT / "tests" / "node" / "being_example.ts"
BICYCLE = {
    "action": "Ada bought a red bicycle from her neighbour",
    "actors": ["Ada"],
    "when": ["2026-01-02"],
    "feeling": "proud",
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_context", {}),
    ("update_notes", {"scenes": [BICYCLE]}),
    ("trigger_patrol", {"messages": []}),
    ("recall", {"user_message": "What did Ada buy from her neighbour?"}),
    ("search_memory", {"query": "bicycle"}),
]
"""A session: what a client does with a Being."""


@pytest.fixture(scope="module")
def being(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BeingProcess]:
    with being_process(tmp_path_factory.mktemp("being")) as found:
        yield found


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[BeingProcess]:
    """A server of its own, for a test that must find nothing remembered."""
    with being_process(tmp_path, "--embedder", "none") as found:
        yield found


@asynccontextmanager
async def connected(
    url: str, token: str, mode: str, headers: dict[str, str] | None = None
) -> AsyncGenerator[Client]:
    """The official Python client with a bearer header."""
    headers = {"authorization": f"Bearer {token}", **(headers or {})}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE) as client:
            yield client


def check(texts: list[str], being: BeingProcess) -> None:
    """What each call of the session has to give."""
    context, noted, patrolled, recalled, searched = texts
    assert json.loads(context)["metadata"]["being_id"] == being.id
    assert json.loads(noted)["status"] == "ok"
    assert json.loads(patrolled)["status"] == "ok"
    assert recalled.startswith("<memory-recall>")
    assert "red bicycle" in recalled
    assert "red bicycle" in searched


async def said(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool answers, as text."""
    result = await client.call_tool(tool, arguments)
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert not result.is_error, block.text
    return block.text


async def test_the_official_python_client_sees_topics_that_no_model_found(
    tmp_path: Path,
) -> None:
    scenes = [{"action": said, "actors": [], "when": ["2026-01-02"]} for said in (*CHOIR, *PLOT)]
    with being_process(tmp_path) as being:
        async with connected(being.mcp, being.full, MODES[0]) as client:
            await client.call_tool("update_notes", {"scenes": scenes[:6]})
            await client.call_tool("update_notes", {"scenes": scenes[6:]})
            # Ten notes have started a patrol in the background: this one may find it at work.
            while json.loads(await said(client, "trigger_patrol", messages=[]))["status"] != "ok":
                continue
            shown = await said(client, "recall_memory")
    topics = [line for line in shown.splitlines() if line.startswith("  - ")]
    assert len(topics) == 2
    assert any("choir" in line for line in topics)
    assert any("allotment" in line for line in topics)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["brt", "bto"])
async def test_the_official_python_client_uses_a_being(
    mode: str, kind: str, being: BeingProcess
) -> None:
    url, token = (being.mcp, being.full) if kind == "brt" else (being.url, being.oauth)
    async with connected(url, token, mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == ELEVEN
        texts: list[str] = []
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            assert not result.is_error
            (block,) = result.content
            assert isinstance(block, types.TextContent)
            texts.append(block.text)
    check(texts, being)


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_python_client_is_told_what_it_may_not(
    mode: str, being: BeingProcess
) -> None:
    async with connected(being.mcp, being.reader, mode) as client:
        assert not (await client.call_tool("get_context", {})).is_error
        with pytest.raises(MCPError):
            await client.call_tool("update_notes", {"notes": ["no"]})
        assert not (await client.call_tool("get_current_time", {})).is_error


@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_a_node_client_uses_a_being(client: str, era: str, being: BeingProcess) -> None:
    task = {"client": client, "era": era, "url": being.mcp, "token": being.full, "calls": CALLS}
    report = json.loads(node(HERE / "being.mjs", json.dumps(task)))
    assert report["refused"] is None
    assert report["session"] is None
    assert set(report["tools"]) == ELEVEN
    check([result["content"][0]["text"] for result in report["results"]], being)


@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_a_node_client_is_told_what_it_may_not(client: str, era: str, being: BeingProcess) -> None:
    task = {"client": client, "era": era, "url": being.mcp}
    calls = [("get_current_time", {}), ("update_notes", {"notes": ["no"]})]
    reading = {**task, "token": being.reader, "calls": calls}
    report = json.loads(node(HERE / "being.mjs", json.dumps(reading)))
    assert len(report["results"]) == 1
    # The newer package reads the challenge, the older one shows the answer.
    assert ("read-only" if client == "sdk1" else 'required "full"') in report["refused"]
    wrong = {**task, "token": "brt_" + "x" * 43, "calls": calls}
    report = json.loads(node(HERE / "being.mjs", json.dumps(wrong)))
    assert report["refused"] is not None
    assert report["tools"] == []


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_uses_a_being_with_a_bearer_header(era: str, being: BeingProcess) -> None:
    def inspect(method: str, *options: str) -> dict[str, Any]:
        header = ("--transport", "http", "--header", f"Authorization: Bearer {being.full}")
        asked = ("--protocol-era", era, "--method", method, *options, "--format", "json", "-q")
        return json.loads(node(INSPECTOR, "--cli", being.mcp, *header, *asked))["result"]

    assert {tool["name"] for tool in inspect("tools/list", "--strict")["tools"]} == ELEVEN
    texts: list[str] = []
    for name, arguments in CALLS:
        options = ("--tool-name", name, "--tool-args-json", json.dumps(arguments))
        texts.append(inspect("tools/call", *options)["content"][0]["text"])
    check(texts, being)


@pytest.mark.parametrize("kind", ["brt", "bto"])
def test_the_documented_example_runs(kind: str, being: BeingProcess) -> None:
    url, token = (being.mcp, being.full) if kind == "brt" else (being.url, being.oauth)
    asked = "Which colour has the bicycle that Ada bought?"
    found = json.loads(node(EXAMPLE, url, token, asked))
    context = json.loads(found["ctx"]["content"][0]["text"])
    assert set(context) == {
        *("system_prompt", "snapshot", "metadata", "capability_tools", "recent_nodes"),
    }
    assert context["metadata"]["being_id"] == being.id
    assert "isError" not in found["memories"]


def test_the_documented_example_finds_an_empty_memory(fresh: BeingProcess) -> None:
    found = json.loads(node(EXAMPLE, fresh.mcp, fresh.reader, "Good morning!"))
    assert found["memories"]["content"][0]["text"] == "No relevant memories found."
