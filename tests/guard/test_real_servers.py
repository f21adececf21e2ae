"""Well-known servers say the same with the guard in front of them as without it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.claw import CLAW
from tests.nodejs import node_program
from tests.processes import PATIENCE, ROOT, StdioServer, guarding

PACKAGES = ROOT / "tests" / "node" / "node_modules" / "@modelcontextprotocol"

Conversation = Callable[[Client, Path], Awaitable[list[Any]]]


def server(package: str, *arguments: str) -> tuple[str, ...]:
    return (node_program(), str(PACKAGES / package / "dist" / "index.js"), *arguments)


async def speak(command: tuple[str, ...], mode: str, talk: Conversation, folder: Path) -> list[Any]:
    start = StdioServerParameters(
        command=command[0],
        args=list(command[1:]),
        cwd=folder,
        env={"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
    )
    async with Client(start, mode=mode, read_timeout_seconds=PATIENCE) as client:
        said = [client.server_info, client.server_capabilities, client.instructions]
        return [plain(item) for item in (*said, *await talk(client, folder))]


def plain(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


async def files(client: Client, folder: Path) -> list[Any]:
    file = str(folder / "note.txt")
    return [
        await client.list_tools(),
        await client.call_tool("write_file", {"path": file, "content": "größer ☃\n" * 500}),
        await client.call_tool("read_text_file", {"path": file}),
        await client.call_tool(
            "edit_file", {"path": file, "edits": [{"oldText": "☃\n", "newText": "!\n"}]}
        ),
        await client.call_tool("search_files", {"path": str(folder), "pattern": "*.txt"}),
        await client.call_tool("read_text_file", {"path": "/nowhere"}),
    ]


async def knowledge(client: Client, _folder: Path) -> list[Any]:
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}
    return [
        await client.list_tools(),
        await client.call_tool("create_entities", {"entities": [entity]}),
        await client.call_tool("read_graph", {}),
        await client.call_tool("search_nodes", {"query": "notes"}),
    ]


async def everything(client: Client, _folder: Path) -> list[Any]:
    return [
        await client.list_tools(),
        await client.list_resources(),
        await client.list_resource_templates(),
        await client.list_prompts(),
        await client.call_tool("echo", {"message": "hello"}),
        await client.call_tool("get-sum", {"a": 2, "b": 40}),
        await client.call_tool("get-tiny-image", {}),
        await client.call_tool("get-annotated-message", {"messageType": "error"}),
        await client.call_tool("get-structured-content", {"location": "Chicago"}),
        await client.call_tool("no-such-tool", {}),
        await client.get_prompt("simple-prompt"),
    ]


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("package", "talk"),
    [("server-filesystem", files), ("server-memory", knowledge), ("server-everything", everything)],
    ids=["filesystem", "memory", "everything"],
)
async def test_a_server_says_the_same_with_the_guard_as_without(
    package: str, talk: Conversation, mode: str, tmp_path: Path, home: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    command = server(package, *({"server-filesystem": [str(folder)]}.get(package, [])))
    direct = await speak(command, mode, talk, folder)
    for _ in range(2):  # the second time its definitions are compared with the first
        (folder / "memory.jsonl").unlink(missing_ok=True)
        assert await speak(guarding(*command), mode, talk, folder) == direct
    assert _noticed(home) == []


@pytest.mark.parametrize("given", ["argument", "root"])
def test_a_relative_path_is_judged_from_where_the_server_starts_it(
    given: str, tmp_path: Path
) -> None:
    """This server takes it from its first directory, or from the client's first root."""
    for folder in ("private", "public"):
        (tmp_path / folder).mkdir()
    (tmp_path / "private" / "diary.txt").write_text("dear diary")
    other = tmp_path / "public"
    rule = '[[rule]]\naction = "allow"\ntool = "read_*"\nargs.path = '
    policy = tmp_path / "policy.toml"
    policy.write_text("".join(f'{rule}"{folder}/**"\n' for folder in (ROOT, other)))
    start = server("server-filesystem", str(tmp_path if given == "argument" else other))
    guard = StdioServer(*CLAW, "proxy", "--policy", str(policy), "--", *start)
    try:
        roots = {} if given == "argument" else {"roots": {}}
        about = {"protocolVersion": "2025-11-25", "capabilities": roots}
        guard.call("initialize", {**about, "clientInfo": {"name": "t", "version": "1"}}, 1)
        guard.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if given == "root":
            asked = guard.receive()
            assert asked["method"] == "roots/list"
            result = {"roots": [{"uri": f"file://{tmp_path}", "name": "all"}]}
            guard.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})
        call = {"name": "read_text_file", "arguments": {"path": "private/diary.txt"}}
        reply = guard.call("tools/call", call, 2)
        assert reply.get("error", {}).get("code") == -32001, reply
        inside = {"name": "read_text_file", "arguments": {"path": f"{other}/none.txt"}}
        assert "result" in guard.call("tools/call", inside, 3)
    finally:
        guard.stop()


def _noticed(home: Path) -> list[str]:
    """What the guard found to say about definitions."""
    log = next(home.rglob("audit.jsonl")).read_text()
    assert "tools/list" in log
    return [word for word in ("suspect:", "quarantined:") if word in log]
