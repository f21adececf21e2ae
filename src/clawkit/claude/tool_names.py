"""Tool names as the CLI writes them, `mcp__{server}__{tool}`, and lists of them checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

_PREFIX = "mcp__"
_STRANGE = re.compile(r"[^a-zA-Z0-9_-]")


def qualified(server: str, tool: str) -> str:
    """A tool of a server, as the model and the allow lists see it."""
    return f"{_PREFIX}{spelled(server)}__{spelled(tool)}"


def split_name(name: str, servers: Iterable[str] = ()) -> tuple[str, str] | None:
    """The server and the tool in a qualified name; None for a tool of the CLI itself.

    The CLI writes `_` for what may not be in a name, and a server's name may hold `__` too: which
    of the known `servers` is meant is known only by comparing.
    """
    if not name.startswith(_PREFIX):
        return None
    for server in sorted(servers, key=len, reverse=True):
        prefix = qualified(server, "")
        if name.startswith(prefix) or name == prefix.removesuffix("__"):
            return server, name[len(prefix) :]
    server, _, tool = name[len(_PREFIX) :].partition("__")
    return server, tool


def spelled(name: str) -> str:
    """A name with only the characters that the CLI lets into names of tools."""
    return _STRANGE.sub("_", name)


def unmatched_names(
    names: Iterable[str], servers: Mapping[str, Sequence[str] | None]
) -> Iterator[str]:
    """What is wrong with the names in an allow list: a sentence for each that matches no tool.

    `servers` has the tools of each server, or None where they are not known before it runs.
    """
    for name in names:
        parts = split_name(name.partition("(")[0].strip(), servers)
        if parts is None or "*" in parts[0]:
            continue
        server, tool = parts
        if server not in servers:
            there_are = ", ".join(servers) or "none"
            yield f"{name}: there is no MCP server called {server!r}; there is {there_are}"
            continue
        tools = servers[server]
        if tools is None or tool in ("", "*"):
            continue
        if not any(fnmatchcase(spelled(one), tool) for one in tools):
            yield f"{name}: {server} has no tool {tool!r}; it has {', '.join(tools) or 'none'}"
