"""A toolbox for a test: its own folders, its own keys, and servers that are always stopped."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import psutil

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import Config, McpServer, McpServers
from clawkit.assistant.toolbox.tool_source import CallResult
from clawkit.assistant.toolbox.toolbox import Toolbox
from clawkit.models.protocol import Text, ToolCall
from clawkit.settings import Settings
from tests.nodejs import node_program
from tests.processes import PATIENCE, ROOT, started

EVERYTHING = str(
    ROOT / "tests/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
)


def config_in(folder: Path, /, **servers: McpServer) -> Config:
    servers = {name: _patient(server) for name, server in servers.items()}
    places = Settings(folder / "config", folder / "data", folder / "policy")
    places.config.mkdir(exist_ok=True)
    return Config(places=places, mcp=McpServers(servers))


def _patient(server: McpServer) -> McpServer:
    """With time to start on a busy machine, unless the test is about that."""
    if server.start_timeout != McpServer(command="x").start_timeout:
        return server
    return msgspec.structs.replace(server, start_timeout=10 * PATIENCE)


@asynccontextmanager
async def toolbox(
    folder: Path, environment: Mapping[str, str] | None = None, /, **servers: McpServer
) -> AsyncGenerator[Toolbox]:
    config = config_in(folder, **servers)
    box = Toolbox(config, Keys(config, environment or {}))
    try:
        yield box
    finally:
        await box.close()


def write_tools(folder: Path, name: str, code: str) -> Path:
    """A Python file where the assistant looks for tools."""
    file = folder / "config" / "tools" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(code), encoding="utf-8")
    return file


def python_server(folder: Path, code: str, **options: Any) -> McpServer:
    """A server that is a Python script."""
    file = folder / f"server-{len(list(folder.glob('server-*')))}.py"
    file.write_text(dedent(code), encoding="utf-8")
    return McpServer(command=sys.executable, args=("-u", str(file)), **options)


def node_server(**options: Any) -> McpServer:
    return McpServer(command=node_program(), args=(EVERYTHING, "stdio"), **options)


async def names(box: Toolbox) -> list[str]:
    return [spec.name for spec in await box.specs()]


async def call(
    box: Toolbox, tool: str, progress: Callable[[str], None] | None = None, /, **arguments: Any
) -> CallResult:
    return await box.call(ToolCall("call-1", tool, arguments), progress=progress)


def said(result: CallResult) -> str:
    """The words that the model gets."""
    return "\n".join(part.text for part in result.outcome.parts if isinstance(part, Text))


async def eventually(happens: Callable[[], Awaitable[bool] | bool]) -> None:
    """Wait until something is so, as far as one can only find out by looking."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = happens()
            if await found if isinstance(found, Awaitable) else found:
                return
            await asyncio.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def children() -> list[psutil.Process]:
    """The processes that this test has started and that still run."""
    return [process for process in started() if is_running(process.pid)]
