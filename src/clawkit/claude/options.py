"""All that the Claude CLI can be told, and how: each option is a flag, or a field of `initialize`.

External MCP servers are among the options, in `.mcp.json`, and in a config file for the CLI.
"""

from __future__ import annotations

import difflib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawkit.claude import confinement
from clawkit.claude.permissions import CanUseTool, Elicit, HookEvent, HookMatcher
from clawkit.errors import SettingsError
from clawkit.tools.server import SdkMcpServer
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


PermissionMode = Literal["default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "auto"]


# A text is a sequence of texts too: of its letters.
_LISTS = (
    *("allowed_tools", "disallowed_tools", "tools", "betas"),
    *("add_dirs", "plugin_dirs", "setting_sources"),
)


class _NamedOptions(msgspec.StructMeta):
    """Says which option was meant by a name that is none."""

    if not TYPE_CHECKING:  # the fields say what the constructor takes

        def __call__(cls, *args: Any, **fields: Any) -> Any:  # noqa: N805 - of a metaclass
            check_names(fields)
            return super().__call__(*args, **fields)


class ClaudeAgentOptions(Struct, frozen=True, kw_only=True, metaclass=_NamedOptions):
    """How the CLI is started. What is left out is left to the CLI."""

    # What the model may do.
    mcp_servers: Mapping[str, McpServerConfig | Mapping[str, Any]] = {}
    sdk_mcp_servers: Sequence[SdkMcpServer] = ()
    strict_mcp_config: bool = False
    allowed_tools: Sequence[str] = ()
    disallowed_tools: Sequence[str] = ()
    tools: Sequence[str] | None = None
    permission_mode: PermissionMode | None = None
    can_use_tool: CanUseTool | None = None
    elicit: Elicit | None = None
    hooks: Mapping[HookEvent, Sequence[HookMatcher]] = {}
    policy: Path | str | None = None
    # Who answers, and how.
    model: str | None = None
    fallback_model: str | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    agents: Mapping[str, Mapping[str, Any]] = {}
    effort: str | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    max_thinking_tokens: int | None = None
    json_schema: Mapping[str, Any] | None = None
    betas: Sequence[str] = ()
    # Which conversation.
    resume: str | None = None
    continue_conversation: bool = False
    fork_session: bool = False
    session_id: str | None = None
    keep_session: bool = True
    # Where, and from which settings.
    cwd: Path | str | None = None
    add_dirs: Sequence[Path | str] = ()
    env: Mapping[str, str] = {}
    settings: Path | str | None = None
    setting_sources: Sequence[Literal["user", "project", "local"]] = ()
    plugin_dirs: Sequence[Path | str] = ()
    include_partial_messages: bool = False
    verbatim_prompts: bool = False
    extra_args: Mapping[str, str | None] = {}
    # The process.
    cli_path: Path | str | None = None
    stderr: Callable[[str], None] | None = None
    connect_timeout: float = 60.0
    control_timeout: float = 60.0
    max_line: int = 256 * 1024 * 1024

    def __post_init__(self) -> None:
        for name in _LISTS:
            if isinstance(getattr(self, name), str):
                raise SettingsError(f"{name} is a list, and {getattr(self, name)!r} is a text")

    @classmethod
    def builder(cls) -> ClaudeAgentOptionsBuilder:
        """Options one by one: `ClaudeAgentOptions.builder().model("opus").build()`."""
        return ClaudeAgentOptionsBuilder()

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ClaudeAgentOptions:
        """Options from a mapping; an unknown one is an error that names what was meant."""
        return cls(**fields)

    def replace(self, **changes: Unpack[ClaudeAgentOptionsDict]) -> ClaudeAgentOptions:
        """The same with some of them changed."""
        check_names(changes)
        return replace(self, **changes)


class ClaudeAgentOptionsDict(TypedDict, total=False):
    """The same as keyword arguments, for editors and type checkers."""

    mcp_servers: Mapping[str, McpServerConfig | Mapping[str, Any]]
    sdk_mcp_servers: Sequence[SdkMcpServer]
    strict_mcp_config: bool
    allowed_tools: Sequence[str]
    disallowed_tools: Sequence[str]
    tools: Sequence[str] | None
    permission_mode: PermissionMode | None
    can_use_tool: CanUseTool | None
    elicit: Elicit | None
    hooks: Mapping[HookEvent, Sequence[HookMatcher]]
    policy: Path | str | None
    model: str | None
    fallback_model: str | None
    system_prompt: str | None
    append_system_prompt: str | None
    agents: Mapping[str, Mapping[str, Any]]
    effort: str | None
    max_turns: int | None
    max_budget_usd: float | None
    max_thinking_tokens: int | None
    json_schema: Mapping[str, Any] | None
    betas: Sequence[str]
    resume: str | None
    continue_conversation: bool
    fork_session: bool
    session_id: str | None
    keep_session: bool
    cwd: Path | str | None
    add_dirs: Sequence[Path | str]
    env: Mapping[str, str]
    settings: Path | str | None
    setting_sources: Sequence[Literal["user", "project", "local"]]
    plugin_dirs: Sequence[Path | str]
    include_partial_messages: bool
    verbatim_prompts: bool
    extra_args: Mapping[str, str | None]
    cli_path: Path | str | None
    stderr: Callable[[str], None] | None
    connect_timeout: float
    control_timeout: float
    max_line: int


class ClaudeAgentOptionsBuilder:
    """Collects options; every option is a method that takes its value."""

    def __init__(self) -> None:
        self._chosen: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Callable[[Any], ClaudeAgentOptionsBuilder]:
        if name.startswith("_"):
            raise AttributeError(name)
        check_names([name])

        def choose(value: Any) -> ClaudeAgentOptionsBuilder:
            self._chosen[name] = value
            return self

        return choose

    def build(self) -> ClaudeAgentOptions:
        return ClaudeAgentOptions(**self._chosen)


def check_names(names: Iterable[str]) -> None:
    """Raises for a name that is no option."""
    known = ClaudeAgentOptions.__struct_fields__
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise SettingsError(f"ClaudeAgentOptions has no option {name!r}{meant}")


_STREAMING = (
    *("--output-format", "stream-json"),
    *("--input-format", "stream-json"),
    "--verbose",
)

# Flags with one value, by option. `=` keeps a value that starts with a dash from being a flag.
_VALUE_FLAGS = {
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
_LIST_FLAGS = {
    "allowed_tools": "--allowed-tools",
    "disallowed_tools": "--disallowed-tools",
    "betas": "--betas",
}
_SWITCH_FLAGS = {
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
    for name, flag in _VALUE_FLAGS.items():
        value = getattr(options, name)
        if value is not None:
            yield f"{flag}={value!s}"
    for name, flag in _LIST_FLAGS.items():
        if values := getattr(options, name):
            yield f"{flag}={','.join(values)}"
    yield from (flag for name, flag in _SWITCH_FLAGS.items() if getattr(options, name))
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
