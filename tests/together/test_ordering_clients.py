"""The assistant, ordered over stdio by the official clients: text and each kind of media."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.assistant.media.samples import IN_FILES, IN_IMAGES, item, png, wav
from tests.assistant.providers.scripted import ScriptedServer, scripted_anthropic
from tests.assistant.providers.steps import Call, Request, Say, Step
from tests.assistant.replies import provider_config
from tests.claw import PROGRAMS
from tests.processes import PATIENCE
from tests.together.official import MODES
from tests.together.test_node_clients import CLIENTS, ERAS, HERE, INSPECTOR, encoded, node

STUDIO = f"""
from clawkit import Media, ToolContent, ToolResult, claw_tool

@claw_tool
async def make() -> ToolResult:
    "Something of every kind."
    return ToolResult([
        ToolContent.text("made"),
        ToolContent.image(bytes.fromhex({png().hex()!r}), "image/png"),
        ToolContent.audio(bytes.fromhex({wav().hex()!r}), "audio/wav"),
        Media(b"%PDF-1.4", "application/pdf", "plan.pdf").to_content(),
    ])
"""
FILES = [item(data, mime) for mime, data in IN_FILES.items()]
ORDERS: list[dict[str, Any]] = [
    {"message": "make something", "images": [item(d, m) for m, d in IN_IMAGES.items()]},
    *({"message": "take these", "files": FILES[n : n + 5]} for n in range(0, len(FILES), 5)),
]
MADE = [
    {"type": "text", "text": "made\n\nHere you are."},
    {"type": "image", "data": encoded(png()), "mimeType": "image/png"},
    {"type": "audio", "data": encoded(wav()), "mimeType": "audio/wav"},
    {
        "type": "resource",
        "resource": {
            "uri": "attachment://plan.pdf",
            "mimeType": "application/pdf",
            "blob": encoded(b"%PDF-1.4"),
        },
    },
]


def answer(request: Request) -> Step:
    if request.messages[-1]["content"][0].get("type") == "tool_result":
        return Say("Here you are.")
    return Call("mcp__studio__make") if request.last_text.startswith("make") else Say("Thanks.")


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[ScriptedServer]:
    config = tmp_path / ".config" / "claw"
    (config / "tools").mkdir(parents=True)
    (config / "tools" / "studio.py").write_text(STUDIO)
    with scripted_anthropic(answer) as server:
        (config / "config.toml").write_text(provider_config(server))
        yield server


def environment(home: Path) -> dict[str, str]:
    """What every client passes on to a server."""
    return {"HOME": str(home), "PATH": str(PROGRAMS)}


def check(results: list[dict[str, Any]], provider: ScriptedServer) -> None:
    """Everything came back as documented, and everything sent has reached the model."""
    made, *taken = results
    assert made["content"] == MADE
    assert not made["isError"]
    for result in taken:
        assert result["content"] == [{"type": "text", "text": "Thanks."}]
    seen = provider.requests[0].body.decode()
    assert all(encoded(data) in seen for data in IN_IMAGES.values())


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_python_client_orders_with_every_kind_of_media(
    mode: str, tmp_path: Path, provider: ScriptedServer
) -> None:
    server = StdioServerParameters(
        command=str(PROGRAMS / "openclaw"), args=["mcp-server"], env=environment(tmp_path)
    )
    results: list[dict[str, Any]] = []
    async with Client(server, mode=mode, read_timeout_seconds=PATIENCE) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["order_openclaw"]
        for order in ORDERS:
            result = await client.call_tool("order_openclaw", order)
            dumped = result.model_dump(mode="json", by_alias=True, exclude_none=True)
            results.append(dumped)
    check(results, provider)


@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_a_node_client_orders_with_every_kind_of_media(
    client: str, era: str, tmp_path: Path, provider: ScriptedServer
) -> None:
    command = [str(PROGRAMS / "openclaw"), "mcp-server"]
    task = {"client": client, "era": era, "command": command, "env": environment(tmp_path)}
    report = json.loads(node(HERE / "order.mjs", json.dumps({**task, "orders": ORDERS})))
    assert report["tools"] == ["order_openclaw"]
    check(report["results"], provider)


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_orders_it(
    era: str, tmp_path: Path, provider: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)

    def inspect(method: str, *options: str) -> dict[str, Any]:
        asked = ("--protocol-era", era, "--method", method, *options, "--format", "json", "-q")
        command = (str(PROGRAMS / "openclaw"), "mcp-server")
        return json.loads(node(INSPECTOR, "--cli", *command, *asked))["result"]

    (tool,) = inspect("tools/list", "--strict")["tools"]
    assert tool["name"] == "order_openclaw"
    result = inspect(
        "tools/call", "--tool-name", tool["name"], "--tool-args-json", json.dumps(ORDERS[0])
    )
    assert result["content"] == MADE
    assert provider.requests
