"""Tool names as the CLI writes them, `mcp__{server}__{tool}`, and lists of them checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

_PREFIX = "mcp__"


def qualified(server: str, tool: str) -> str:
    """A tool of a server, as the model and the allow lists see it."""
    return f"{_PREFIX}{server}__{tool}"


def split_name(name: str) -> tuple[str, str] | None:
    """The server and the tool in a qualified name; None for a tool of the CLI itself."""
    if not name.startswith(_PREFIX):
        return None
    server, separator, tool = name[len(_PREFIX) :].partition("__")
    return (server, tool) if separator else (server, "")


def strangers(names: Iterable[str], servers: Mapping[str, Sequence[str] | None]) -> Iterator[str]:
    """What is wrong with the names in an allow list: a sentence for each that matches no tool.

    `servers` has the tools of each server, or None where they are not known before it runs.
    """
    for name in names:
        parts = split_name(name.partition("(")[0].strip())
        if parts is None:
            continue
        server, tool = parts
        if server not in servers:
            there_are = ", ".join(servers) or "none"
            yield f"{name}: there is no MCP server called {server!r}; there is {there_are}"
            continue
        tools = servers[server]
        if tools is not None and tool not in ("", "*") and tool not in tools:
            yield f"{name}: {server} has no tool {tool!r}; it has {', '.join(tools) or 'none'}"
