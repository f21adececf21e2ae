"""The memory part of `make demo`: a Being over HTTP, and the official client that uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

CLAW = [sys.executable, "-m", "clawkit"]
SCENES = [
    ("Mia planted forty tomatoes in the big greenhouse", ["Mia"], "2026-04-02"),
    ("The spare key of the greenhouse hangs behind the fern", ["Mia"], "2026-04-03"),
    ("トマトは毎朝七時に水をやる", ["健"], "2026-04-05"),
    ("Ken is allergic to hazelnuts", ["Ken"], "2026-04-09"),
]
MESSAGES = [
    "Where did we leave the key?",
    "What must I not put into Ken's cake?",
    "トマトの水やりは何時ですか",
    "Who won the chess championship?",
]
Show = Callable[[str, str], None]


async def remember_and_recall(home: Path, show: Show) -> None:
    """Note some scenes, let a patrol make memories of them, and ask."""
    environment = {**os.environ, "CLAW_HOME": str(home)}
    being = run(["being", "create", "greenhouse", "--json"], environment)["id"]
    token = run(["being", "token", "create", being, "--json"], environment)["token"]
    headers = {"Authorization": f"Bearer {token}"}
    with served(environment) as url:
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(f"{url}/{being}", http_client=http)
            async with Client(transport, mode="2026-07-28") as client:
                await talk(client, show)


async def talk(client: Client, show: Show) -> None:
    scenes = [{"action": action, "actors": who, "when": [day]} for action, who, day in SCENES]
    await client.call_tool("update_notes", {"scenes": scenes})
    patrol = await client.call_tool("trigger_patrol", {"messages": []})
    made = json.loads(getattr(patrol.content[0], "text", ""))["nodes_created"]
    show(f"{len(scenes)} scenes noted, then a patrol", f"{made} memories made")
    for message in MESSAGES:
        found = await client.call_tool("recall", {"user_message": message})
        show(message, getattr(found.content[0], "text", ""))


def run(arguments: list[str], environment: dict[str, str]) -> dict[str, str]:
    done = subprocess.run(
        [*CLAW, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@contextmanager
def served(environment: dict[str, str]) -> Iterator[str]:
    """The server of Beings as a process; gives its address."""
    command = [*CLAW, "being", "serve", "--port", "0", "--quiet"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        if not line.startswith("{"):
            raise SystemExit(line.strip() or "the server of Beings did not start")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield json.loads(line)["url"]
    finally:
        process.terminate()
        process.wait()
