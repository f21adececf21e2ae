"""External MCP servers as the Claude CLI is told about them: in options, and in `.mcp.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from clawkit.errors import SettingsError
from clawkit.wire.jsonrpc import as_object


class McpServerConfig(Struct, frozen=True, tag_field="type"):
    """A server that the CLI starts or reaches by itself: `Stdio`, `Sse` or `Http`."""

    Stdio: ClassVar[type[StdioServer]]
    Sse: ClassVar[type[SseServer]]
    Http: ClassVar[type[HttpServer]]

    def to_dict(self) -> dict[str, Any]:
        """As it is written: the fields, and `type`."""
        return msgspec.to_builtins(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any], name: str = "server") -> AnyServer:
        """An entry of a config file; one without `type` is a command, or an address over HTTP."""
        fields = dict(data)
        fields.setdefault("type", "http" if "url" in fields else "stdio")
        try:
            return msgspec.convert(fields, AnyServer)
        except msgspec.ValidationError as error:
            raise SettingsError(f"{name}: {error}") from None


class StdioServer(McpServerConfig, frozen=True, tag="stdio"):
    """A command that speaks MCP on its stdin and stdout."""

    command: str
    args: list[str] = []
    env: dict[str, str] = {}


class SseServer(McpServerConfig, frozen=True, tag="sse"):
    """An address that speaks the older HTTP+SSE transport."""

    url: str
    headers: dict[str, str] = {}


class HttpServer(McpServerConfig, frozen=True, tag="http"):
    """An address that speaks Streamable HTTP."""

    url: str
    headers: dict[str, str] = {}


AnyServer = StdioServer | SseServer | HttpServer
McpServerConfig.Stdio, McpServerConfig.Sse, McpServerConfig.Http = (
    StdioServer,
    SseServer,
    HttpServer,
)


def read_mcp_json(file: Path | str) -> dict[str, AnyServer]:
    """The servers of a `.mcp.json`."""
    entries = _entries(_read(Path(file)), Path(file))
    return {
        name: McpServerConfig.from_dict(entry, f"{file}: {name}") for name, entry in entries.items()
    }


def write_mcp_json(file: Path | str, servers: Mapping[str, McpServerConfig]) -> None:
    """Put servers into a `.mcp.json`; what else stands there stays."""
    from clawkit.system.files import write_whole

    path = Path(file)
    data = _read(path) if path.exists() else {}
    entries = _entries(data, path)
    for name, server in servers.items():
        kept = entries.get(name, {})
        extra = {k: v for k, v in kept.items() if k not in _FIELDS}
        entries[name] = {**server.to_dict(), **extra}
    data["mcpServers"] = entries
    write_whole(path.resolve(), json.dumps(data, indent=2, ensure_ascii=False).encode() + b"\n")


_FIELDS = frozenset({"type", "command", "args", "env", "url", "headers"})


def _read(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None
    found = as_object(data)
    if found is None:
        raise SettingsError(f"{file} must hold a JSON object")
    return found


def _entries(data: dict[str, Any], file: Path) -> dict[str, dict[str, Any]]:
    entries = as_object(data.get("mcpServers", {}))
    found = {name: as_object(entry) for name, entry in (entries or {}).items()}
    if entries is None or None in found.values():
        raise SettingsError(f"{file}: mcpServers must be an object of objects")
    return {name: entry for name, entry in found.items() if entry is not None}
