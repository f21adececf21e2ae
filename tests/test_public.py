"""The public surface: what `clawkit` exports, and that importing it stays cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType

import pytest

import clawkit
import clawkit.claude

DOCUMENTED = {
    "ClaudeAgentOptions",
    "ClaudeClient",
    "ClawError",
    "McpServerConfig",
    "SdkMcpServer",
    "SdkMcpServerImpl",
    "SdkMcpServerRegistry",
    "SdkMcpTool",
    "ToolContent",
    "ToolHandler",
    "ToolResult",
    "claw_tool",
    "query",
}


def test_everything_in_all_can_be_imported() -> None:
    for name in clawkit.__all__:
        assert getattr(clawkit, name) is not None


def test_the_documented_names_are_exported() -> None:
    assert set(clawkit.__all__) >= DOCUMENTED


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    assert not hasattr(clawkit, "nothing_of_the_kind")


def test_the_version_is_the_one_of_the_package() -> None:
    assert clawkit.__version__ == metadata.version("clawkit")


def test_an_error_of_the_document_is_reached_through_the_root() -> None:
    error = clawkit.ClawError.ToolExecution("URL cannot be empty")
    assert isinstance(error, clawkit.ClawError)
    assert str(error) == "URL cannot be empty"


def test_a_server_up_to_its_tool_list_loads_no_event_loop_and_no_http() -> None:
    script = """
import sys
from clawkit import SdkMcpServerImpl, claw_tool
from clawkit.wire.session import Session

@claw_tool
async def add(a: int, b: int) -> int:
    return a + b

server = SdkMcpServerImpl("s", "1")
server.register_tool(add)
for method in ("initialize", "tools/list"):
    assert "result" in server.begin({"jsonrpc": "2.0", "id": 1, "method": method}, Session())
heavy = {"asyncio", "starlette", "uvicorn", "pydantic", "mcp", "typer", "rich", "logging"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("face", [clawkit, clawkit.claude])
def test_every_public_name_has_its_type_where_it_comes_from(face: ModuleType) -> None:
    assert face.__file__ is not None
    typed = {
        name.name: node.module or ""
        for node in ast.walk(ast.parse(Path(face.__file__).read_text()))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    elsewhere = () if face is clawkit.claude else clawkit.claude.__all__
    for name in set(face.__all__).difference(elsewhere):
        assert getattr(face, name) is getattr(import_module(typed[name]), name)


def test_the_client_of_the_cli_needs_no_guard_and_no_http() -> None:
    script = """
import sys
from clawkit import ClaudeClient, query
heavy = {"starlette", "uvicorn", "httpx2", "pydantic", "mcp", "typer", "rich", "sqlite3"}
rooms = {name for name in sys.modules if name.startswith(("clawkit.guard", "clawkit.assistant"))}
print(sorted(heavy & set(sys.modules)), sorted(rooms))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[] []"
