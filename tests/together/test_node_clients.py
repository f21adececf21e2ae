"""The official Node clients of both eras, and the Inspector, over stdio and HTTP."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.nodejs import node_program
from tests.processes import PATIENCE, ROOT
from tests.samples.everything import NOTE, PNG, WAV
from tests.together.doors import GUARDED, HTTP, SESSIONS, STDIO, command_of
from tests.validation import LEGACY, MODERN

HERE = Path(__file__).parent
PACKAGES = ROOT / "tests" / "node" / "node_modules" / "@modelcontextprotocol"
INSPECTOR = PACKAGES / "inspector" / "clients" / "launcher" / "build" / "index.js"

CLIENTS = [("sdk1", "legacy"), ("client2", "legacy"), ("client2", "modern"), ("client2", "auto")]
ERAS = ("legacy", "modern", "auto")


def node(*arguments: str | Path) -> str:
    """What a Node program prints, once it has ended well."""
    command = [node_program(), *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("door", [STDIO, GUARDED, HTTP, SESSIONS])
@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_a_node_client_says_everything_and_understands_the_answers(
    client: str, era: str, door: str, address: str | None
) -> None:
    # A stateless server cannot ask a client of the handshake era, which it forgets at once.
    asks = door != HTTP or era != "legacy"
    where = {"command": command_of(door)} if address is None else {"url": address}
    task = {"era": era, "asks": asks, "name": f"{client}-{era}-{door}", **where}
    report: dict[str, Any] = json.loads(node(HERE / f"{client}.mjs", json.dumps(task)))
    assert {"greet", "ask-name", "weather"} <= set(report.pop("tools"))
    # The SDK drops the progress that it reads together with the result.
    steps = report.pop("steps")
    assert steps == [step for step in [[1, 3], [2, 3], [3, 3]] if step in steps]
    assert report == {
        "version": LEGACY[-1] if era == "legacy" else MODERN,
        "server": "One of everything",
        "instructions": "Try each tool once.",
        "text": [{"type": "text", "text": "Hello, Ada!"}],
        "image": [{"type": "image", "data": encoded(PNG), "mimeType": "image/png"}],
        "audio": [{"type": "audio", "data": encoded(WAV), "mimeType": "audio/wav"}],
        "link": "resource_link",
        "structured": {"total": 310, "heaviest": "mug"},
        "counted": "counted to 3",
        "weather": "Østlandet: fair; trace none",
        "failed": [True, "ValueError: no luck"],
        "unknown": -32602,
        "resources": [NOTE, "image://dot"],
        "templates": ["users://{id}/profile"],
        "note": "Feed the cat.",
        "dot": encoded(PNG),
        "user": '{"id":7,"name":"user 7"}',
        "missing": -32002 if client == "sdk1" else -32602,
        "prompts": ["review", "gallery", "introduce"],
        "review": [
            {
                "role": "user",
                "content": {"type": "text", "text": "Review this python code: x = 1"},
            }
        ],
        "gallery": ["text", "image", "audio", "resource", "text"],
        "languages": ["python", "perl"],
        **(ASKED if asks else {}),
    }


ASKED = {
    "answers": {
        "named": "accept: Ada",
        "planned": "Oslo, 2 days, accept",
        "erased": "erased disk",
        "thought": "tiny: not that",
        "folders": "file:///home/ada",
        "introduced": "I am Ada",
    },
    "asked": [
        "Who are you?",
        "Where to?",
        "Oslo for 2 days?",
        'Allow erase to run with what = "disk"?',
        "Your name?",
    ],
    "cancelled": True,
    "logs": ["warning", "error"],
    "changed": True,
}


def inspect(era: str, address: str | None, method: str, *options: str) -> dict[str, Any]:
    """The result of one method, as the Inspector prints it."""
    target = command_of(STDIO) if address is None else ("--transport", "http", address)
    asked = ("--protocol-era", era, "--method", method, *options, "--format", "json", "-q")
    return json.loads(node(INSPECTOR, "--cli", *target, *asked))["result"]


inspected = pytest.mark.parametrize(
    ("era", "door"), [(era, door) for era in ERAS for door in (STDIO, HTTP)]
)


@inspected
def test_the_inspector_lists_tools_and_finds_no_fault_in_their_schemas(
    era: str, address: str | None
) -> None:
    tools = inspect(era, address, "tools/list", "--strict")["tools"]
    assert {"greet", "ask-name", "weather"} <= {tool["name"] for tool in tools}


@inspected
def test_the_inspector_calls_tools(era: str, address: str | None) -> None:
    arguments = '{"items": [{"name": "mug", "grams": 300}]}'
    options = ("--tool-name", "weigh", "--tool-args-json", arguments)
    result = inspect(era, address, "tools/call", *options)
    assert result["structuredContent"] == {"total": 300, "heaviest": "mug"}


@pytest.mark.parametrize(("era", "door"), [("legacy", STDIO), ("modern", HTTP)])
def test_the_inspector_reads_resources_and_prompts(era: str, address: str | None) -> None:
    (note,) = inspect(era, address, "resources/read", "--uri", NOTE)["contents"]
    assert note["text"] == "Feed the cat."
    options = ("--prompt-name", "review", "--prompt-args", "code=x", "language=rust")
    (message,) = inspect(era, address, "prompts/get", *options)["messages"]
    assert message["content"]["text"] == "Review this rust code: x"
