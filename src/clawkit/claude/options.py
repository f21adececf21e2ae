"""Everything the Claude CLI can be told: each option is a flag, or a field of `initialize`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from clawkit.claude.permissions import CanUseTool, Elicit, HookEvent, HookMatcher
from clawkit.claude.servers import McpServerConfig
from clawkit.errors import SettingsError
from clawkit.tools.registry import SdkMcpServer

PermissionMode = Literal["default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "auto"]


# A text is a sequence of texts too: of its letters.
_LISTS = (
    *("allowed_tools", "disallowed_tools", "tools", "betas"),
    *("add_dirs", "plugin_dirs", "setting_sources"),
)


class ClaudeAgentOptions(Struct, frozen=True, kw_only=True):
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
        check_names(fields)
        return cls(**fields)

    def replace(self, **changes: Any) -> ClaudeAgentOptions:
        """The same with some of them changed."""
        check_names(changes)
        return replace(self, **changes)


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


def check_names(names: Mapping[str, Any] | Sequence[str]) -> None:
    """Raises for a name that is no option."""
    known = ClaudeAgentOptions.__struct_fields__
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise SettingsError(f"ClaudeAgentOptions has no option {name!r}{meant}")
