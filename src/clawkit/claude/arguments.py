"""Options as the CLI takes them: its command line, `initialize`, and its MCP config file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from clawkit.claude import confinement
from clawkit.claude.options import AnyServer, ClaudeAgentOptions, McpServerConfig

_STREAMING = (
    *("--output-format", "stream-json"),
    *("--input-format", "stream-json"),
    "--verbose",
)

# Flags with one value, by option. `=` keeps a value that starts with a dash from being a flag.
_VALUES = {
    "model": "--model",
    "fallback_model": "--fallback-model",
    "permission_mode": "--permission-mode",
    "effort": "--effort",
    "max_turns": "--max-turns",
    "max_budget_usd": "--max-budget-usd",
    "max_thinking_tokens": "--max-thinking-tokens",
    "resume": "--resume",
    "session_id": "--session-id",
}
_LISTS = {
    "allowed_tools": "--allowed-tools",
    "disallowed_tools": "--disallowed-tools",
    "betas": "--betas",
}
_SWITCHES = {
    "strict_mcp_config": "--strict-mcp-config",
    "continue_conversation": "--continue",
    "fork_session": "--fork-session",
    "include_partial_messages": "--include-partial-messages",
}


def command_line(
    options: ClaudeAgentOptions, mcp_config: str | None = None, settings: str | None = None
) -> list[str]:
    """The CLI's arguments, with the files that its MCP config and settings are written to."""
    return [*_STREAMING, *_flags(options, mcp_config, settings)]


def _flags(
    options: ClaudeAgentOptions, mcp_config: str | None, settings: str | None
) -> Iterator[str]:
    for name, flag in _VALUES.items():
        value = getattr(options, name)
        if value is not None:
            yield f"{flag}={value!s}"
    for name, flag in _LISTS.items():
        if values := getattr(options, name):
            yield f"{flag}={','.join(values)}"
    yield from (flag for name, flag in _SWITCHES.items() if getattr(options, name))
    if options.tools is not None:
        yield f"--tools={','.join(options.tools)}"
    # Always said: without it the CLI would read whatever settings the machine has.
    yield f"--setting-sources={','.join(options.setting_sources)}"
    if (chosen := settings or options.settings) is not None:
        yield f"--settings={chosen}"
    if not options.keep_session:
        yield "--no-session-persistence"
    yield from (f"--add-dir={directory}" for directory in options.add_dirs)
    yield from (f"--plugin-dir={directory}" for directory in options.plugin_dirs)
    if mcp_config is not None:
        yield f"--mcp-config={mcp_config}"
    if asks_host(options):
        yield "--permission-prompt-tool=stdio"
    if options.policy is not None:
        yield from confinement.FLAGS
    for name, value in options.extra_args.items():
        yield f"--{name}" if value is None else f"--{name}={value}"


def asks_host(options: ClaudeAgentOptions) -> bool:
    """Whether the CLI should ask us about a tool that nothing else allows."""
    return options.can_use_tool is not None or options.policy is not None


def mcp_config_of(options: ClaudeAgentOptions) -> dict[str, Any] | None:
    """The external servers, as a config file has them."""
    servers = external_servers(options.mcp_servers)
    if not servers:
        return None
    return {"mcpServers": {name: server.to_dict() for name, server in servers.items()}}


def write_private(name: str, content: dict[str, Any] | None) -> str | None:
    """A file for the CLI alone, because everybody on the machine can read a command line."""
    if content is None:
        return None
    fd, path = tempfile.mkstemp(prefix=f"claw-{name}-", suffix=".json")
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


def external_servers(
    servers: Mapping[str, McpServerConfig | Mapping[str, Any]],
) -> dict[str, AnyServer]:
    """The servers, whether they were given as objects or as a config file writes them."""
    found: dict[str, AnyServer] = {}
    for name, server in servers.items():
        data = server.to_dict() if isinstance(server, McpServerConfig) else server
        found[name] = McpServerConfig.from_dict(data, f"mcp_servers: {name}")
    return found


def arguments_of(servers: Mapping[str, AnyServer]) -> dict[str, list[str]]:
    """The arguments of each server's command; none for an address."""
    commands = ((name, server.to_dict()) for name, server in servers.items())
    return {name: list(server.get("args", ())) for name, server in commands}


def initialize_fields(
    options: ClaudeAgentOptions, hooks: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The `initialize` request: what has no flag, or does not belong on a command line."""
    fields: dict[str, Any] = {"hooks": hooks or None}
    names = [server.name for server in options.sdk_mcp_servers]
    more = {
        "sdkMcpServers": names,
        "systemPrompt": options.system_prompt,
        "appendSystemPrompt": options.append_system_prompt,
        "agents": {name: dict(agent) for name, agent in options.agents.items()},
        "jsonSchema": options.json_schema,
    }
    fields.update({key: value for key, value in more.items() if value not in (None, [], {})})
    return fields
