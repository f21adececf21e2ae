"""What the real CLI said once, said again: the client takes it all and answers as it did then."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clawkit.claude.client import ClaudeClient
from clawkit.claude.messages import UnknownBlock, UnknownMessage, parse_message
from clawkit.claude.permissions import HookInput
from clawkit.claude.turn_tracker import is_for_the_host
from tests.assistant.providers.scripted import eventually
from tests.claude.conversations import registry
from tests.claude.fakes import fake_cli
from tests.claude.record import RECORDED
from tests.claude.scenes import SCENES
from tests.processes import PATIENCE, ROOT

HOST_ASKS = {
    *("initialize", "interrupt", "set_permission_mode", "set_model"),
    *("mcp_status", "mcp_set_servers", "mcp_toggle", "mcp_reconnect", "mcp_call", "mcp_message"),
    *("rewind_files", "get_context_usage", "get_session_cost", "list_models", "rename_session"),
}
CLI_ASKS = {"mcp_message", "can_use_tool", "hook_callback", "elicitation"}
CLI_SAYS_OVER_MCP = {
    *("initialize", "notifications/initialized", "tools/list", "tools/call"),
    "notifications/cancelled",
}
EVENTS = {
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionRequest"),
    *("UserPromptSubmit", "Stop", "SessionEnd"),
}


def recorded(side: str, *scenes: str) -> Iterator[dict[str, Any]]:
    """The messages of one side."""
    for scene in scenes or SCENES:
        for line in (RECORDED / f"{scene}.jsonl").read_text().splitlines():
            entry = json.loads(line)
            if entry["from"] == side:
                yield entry["message"]


def requests(side: str) -> Iterator[dict[str, Any]]:
    yield from (m["request"] for m in recorded(side) if m["type"] == "control_request")


@pytest.mark.process
@pytest.mark.parametrize("name", SCENES)
async def test_the_client_says_what_it_said_to_the_real_cli(name: str, tmp_path: Path) -> None:
    scene, verdict = SCENES[name](), tmp_path / "verdict"
    script = f"""
sys.path.insert(0, {str(ROOT)!r})
from tests.claude.recordings import replay
replay({str(RECORDED / f"{name}.jsonl")!r}, {str(verdict)!r})
"""
    client = ClaudeClient(cli_path=fake_cli(tmp_path, script), control_timeout=20, **scene.options)
    if scene.server is not None:
        client.register_mcp_message_handler(registry(scene.server))
    async with client:
        async with asyncio.timeout(PATIENCE):
            await scene.act(client)
        await eventually(lambda: verdict.exists() and verdict.read_text())
        assert json.loads(verdict.read_text()) == [], "said, and not in the recording"


def test_every_control_message_is_in_some_recording() -> None:
    assert {request["subtype"] for request in requests("host")} >= HOST_ASKS
    assert {request["subtype"] for request in requests("cli")} == CLI_ASKS
    over_mcp = [r["message"]["method"] for r in requests("cli") if r["subtype"] == "mcp_message"]
    assert set(over_mcp) == CLI_SAYS_OVER_MCP
    hooks = [r["input"] for r in requests("cli") if r["subtype"] == "hook_callback"]
    assert {hook["hook_event_name"] for hook in hooks} == EVENTS
    kinds = {message["type"] for message in recorded("cli")}
    assert "control_cancel_request" in kinds
    answers = {m["response"]["subtype"] for m in recorded("cli") if m["type"] == "control_response"}
    assert answers == {"success", "error"}


def test_every_message_that_was_recorded_is_typed() -> None:
    messages = [m for m in recorded("cli") if not m["type"].startswith("control_")]
    parsed = [m for m in map(parse_message, messages) if not is_for_the_host(m)]
    assert {type(message).__name__ for message in parsed} == {
        *("SystemMessage", "AssistantMessage", "UserMessage", "ResultMessage", "StreamEvent"),
    }
    assert not [message for message in parsed if isinstance(message, UnknownMessage)]
    blocks = [block for message in parsed for block in getattr(message, "content", ())]
    assert not [block for block in blocks if isinstance(block, UnknownBlock)]


def test_every_hook_that_was_recorded_says_what_it_is_about() -> None:
    for request in requests("cli"):
        if request["subtype"] == "hook_callback" and "tool_name" in request["input"]:
            event = HookInput("", request["input"])
            assert (event.tool_name, event.server) == ("mcp__kit__boil", "kit")
            assert event.cwd == "/home/user/project"


def test_the_recordings_show_nothing_of_a_machine() -> None:
    places = re.compile(
        r"/(?!home/user|usr/bin/python3|src/)(?:tmp|home|root|work|Users|var)\b[^\"]*"
    )
    for file in RECORDED.glob("*.jsonl"):
        text = file.read_text()
        assert not places.findall(text), file.name
        assert "dummy" not in text
    assert {file.stem for file in RECORDED.glob("*.jsonl")} == set(SCENES)
