"""What the page about memory shows is run: its commands, its connections, its tables."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from clawkit.memory.bridges import Register
from clawkit.memory.embed.factory import KNOWN
from clawkit.memory.http.authentication import RequestLimits
from clawkit.memory.imports.readers import FORMATS
from clawkit.memory.tools import READ_TOOLS, WRITE_TOOLS
from tests.claw import CLAW
from tests.cli.being_commands import as_json
from tests.cli.test_being_tokens import call, served
from tests.processes import PATIENCE, ROOT
from tests.test_docs_assistant import blocks, run_page, table

PAGE = ROOT / "docs" / "memory.md"
NOTES = "# Kyoto\nWe stayed for three days.\n\n- Ben forgot his umbrella at the golden temple\n"


def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "2026-01-05.md").write_text(NOTES)
    (tmp_path / "notes" / "food.md").write_text("The ramen at the station was the best.\n")
    run_page(PAGE, tmp_path)
    assert (tmp_path / "mine.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_client_connects_with_the_config_that_the_page_shows() -> None:
    (shown,) = (json.loads(one) for one in blocks(PAGE, "json") if "mcpServers" in one)
    server = shown["mcpServers"]["team"]
    assert server["headers"] == {"Authorization": "Bearer brt_…"}
    being = as_json("being", "create", "team")["id"]
    token = as_json("being", "token", "create", being)["token"]
    command = (*CLAW, "being", "serve", "--port", "0", "--embedder", "none")
    env = {**os.environ, "PYTHONUTF8": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=env, encoding="utf-8") as process:
        assert process.stderr is not None
        address = json.loads(process.stderr.readline())["url"]
        url = server["url"].replace("http://127.0.0.1:8765/mcp", address)
        try:
            status, result = call(url.replace("BEING_ID", being), token, "get_context")
        finally:
            process.terminate()
            process.stderr.read()
    assert status == 200
    assert json.loads(result["content"][0]["text"])["metadata"]["being_id"] == being


def test_each_client_of_the_page_is_given_the_same_address_and_header() -> None:
    (shown,) = (json.loads(one) for one in blocks(PAGE, "json") if '"inputs"' in one)
    server = shown["servers"]["team"]
    asked = shown["inputs"][0]["id"]
    assert server["type"] == "http"
    assert server["headers"] == {"Authorization": f"Bearer ${{input:{asked}}}"}
    commands = [one for one in blocks(PAGE, "sh") if "--header" in one]
    assert len(commands) == 2
    for command in commands:
        assert server["url"] in command
        assert '--header "Authorization: Bearer brt_…"' in command


def test_the_bridge_of_the_page_senses_and_acts(tmp_path: Path) -> None:
    (code,) = (one for one in blocks(PAGE, "python") if "lamp" in one)
    (tmp_path / "lamp.py").write_text(code)
    being = as_json("being", "create", "team")["id"]
    token = as_json("being", "token", "create", being)["token"]
    with served() as address:
        bridge = address.replace("http:", "ws:").replace("/mcp", f"/bridge/{being}")
        command = (sys.executable, tmp_path / "lamp.py", bridge)
        with subprocess.Popen(command, env={**os.environ, "CLAW_BEING_TOKEN": token}) as process:
            try:
                context = until_sensed(f"{address}/{being}", token)
                acted = call(f"{address}/{being}", token, "act", name="light_on", arguments={})
            finally:
                process.terminate()
    assert "temperature: 21.5" in context["snapshot"]
    assert acted[1]["content"][0]["text"] == "the light is on"


def until_sensed(url: str, token: str) -> dict[str, Any]:
    """The context, once the bridge has told something."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        _, result = call(url, token, "get_context")
        context = json.loads(result["content"][0]["text"])
        if "temperature" in context["snapshot"]:
            return context
        time.sleep(0.1)
    raise AssertionError("the bridge told nothing")


def test_the_page_names_every_tool_format_and_embedder() -> None:
    text = PAGE.read_text()
    for tool in READ_TOOLS | WRITE_TOOLS:
        assert f"`{tool}`" in text
    formats = [row[0] for row in table(PAGE, "| `--format` | what it is | what becomes of it |")]
    assert sorted(formats) == sorted(f"`{name}`" for name in FORMATS)
    rows = table(PAGE, "| `--embedder`, or `embedder` under `[memory]` | |")
    assert [name for row in rows for name in re.findall("`([^`]+)`", row[0])] == list(KNOWN)


def test_the_limits_of_the_page_are_those_of_the_server() -> None:
    limits = RequestLimits()
    shown = f"{limits.rate:g} requests a second and {limits.burst:,} at once"
    assert shown in " ".join(PAGE.read_text().split())


def test_the_registration_of_a_bridge_is_one() -> None:
    import msgspec

    (shown,) = (one for one in blocks(PAGE, "json") if "register" in one)
    found = msgspec.json.decode(shown.encode(), type=Register)
    assert [one.kind for one in found.capabilities] == ["act", "sense"]
