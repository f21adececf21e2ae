"""A real `openclaw mcp-server` process, in a home of its own, with any provider behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.claw import PROGRAMS
from tests.processes import StdioServer, stdio_server

META = "io.modelcontextprotocol/"
MODERN = {
    f"{META}protocolVersion": "2026-07-28",
    f"{META}clientCapabilities": {"extensions": {f"{META}tasks": {}}},
}
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def write_config(home: Path, text: str) -> None:
    directory = home / "config" / "claw"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.toml").write_text(text)


@contextmanager
def assistant(
    home: Path, *options: str, program: str = "openclaw", env: dict[str, str] | None = None
) -> Iterator[StdioServer]:
    """The server, after the handshake."""
    environment = {"CLAW_HOME": str(home), "ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
    command = (str(PROGRAMS / program), "mcp-server", *options)
    with stdio_server(*command, env={**environment, **(env or {})}) as server:
        server.call("initialize", INITIALIZE, id="init")
        yield server


def order(
    message: str, id: Any = 1, *, tool: str = "order_openclaw", meta: Any = None, **arguments: Any
) -> dict[str, Any]:
    """The request."""
    params: dict[str, Any] = {"name": tool, "arguments": {"message": message, **arguments}}
    if meta is not None:
        params["_meta"] = meta
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def text_of(reply: dict[str, Any]) -> str:
    return "\n".join(b["text"] for b in reply["result"]["content"] if b["type"] == "text")
