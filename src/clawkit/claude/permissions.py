"""Permissions, questions and hooks that the CLI asks its host; tool names in allow lists."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from msgspec import Struct

from clawkit.wire.jsonrpc import as_object

HookEvent = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "PermissionDenied",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "Notification",
    "MessageDisplay",
    "SessionStart",
    "SessionEnd",
    "Setup",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TaskCreated",
    "TaskCompleted",
    "TeammateIdle",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "InstructionsLoaded",
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "WorktreeCreate",
    "WorktreeRemove",
]


_ABOUT_TOOLS = ("PreToolUse", "PermissionRequest")


class ToolRequest(Struct, frozen=True):
    """A tool that the model wants to use and the CLI will not allow by itself."""

    tool_name: str
    input: dict[str, Any]
    tool_use_id: str = ""
    suggestions: tuple[dict[str, Any], ...] = ()
    reason: str = ""
    server: str | None = None
    """The MCP server whose tool it is."""


class Allow(Struct, frozen=True):
    """Let it run; with other arguments if given."""

    updated_input: dict[str, Any] | None = None
    updated_permissions: list[dict[str, Any]] | None = None

    def to_wire(self, request: ToolRequest) -> dict[str, Any]:
        changed = request.input if self.updated_input is None else self.updated_input
        answer: dict[str, Any] = {"behavior": "allow", "updatedInput": changed}
        if self.updated_permissions is not None:
            answer["updatedPermissions"] = self.updated_permissions
        return answer


class Deny(Struct, frozen=True):
    """Do not let it run. The message is for the model; `interrupt` stops the whole turn."""

    message: str = "The person did not allow this"
    interrupt: bool = False

    def to_wire(self, request: ToolRequest) -> dict[str, Any]:  # noqa: ARG002 - as `Allow` has it
        answer: dict[str, Any] = {"behavior": "deny", "message": self.message}
        if self.interrupt:
            answer["interrupt"] = True
        return answer


CanUseTool = Callable[[ToolRequest], Awaitable[Allow | Deny | bool]]
"""Decides about a tool. `True` and `False` are short for `Allow()` and `Deny()`."""


class Question(Struct, frozen=True):
    """What an external MCP server asks the person: a form to fill in, or an address to visit."""

    server: str
    message: str
    schema: dict[str, Any] = {}
    url: str = ""


Elicit = Callable[[Question], Awaitable[dict[str, Any] | None]]
"""Answers a question: the fields of the form, or None to decline."""


class HookInput(Struct, frozen=True):
    """What happened: the event, and everything the CLI says about it."""

    event: str
    data: dict[str, Any]
    tool_use_id: str | None = None

    @property
    def tool_name(self) -> str:
        return str(self.data.get("tool_name", ""))

    @property
    def tool_input(self) -> dict[str, Any]:
        return as_object(self.data.get("tool_input")) or {}

    @property
    def cwd(self) -> str | None:
        """Where the CLI is by now."""
        return self.data.get("cwd")

    @property
    def server(self) -> str | None:
        """The MCP server whose tool it is."""
        return server_in(self.data)


class HookResult(Struct, frozen=True):
    """What a hook wants: to decide about a tool, change its arguments, or add context.

    To deny what is no tool, such as a prompt or a stop, is to block it.
    """

    permission: Literal["allow", "deny", "ask"] | None = None
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    context: str = ""
    stop: bool = False
    system_message: str = ""

    def to_wire(self, event: str) -> dict[str, Any]:
        answer: dict[str, Any] = {"continue": not self.stop}
        if self.stop and self.reason:
            answer["stopReason"] = self.reason
        if self.system_message:
            answer["systemMessage"] = self.system_message
        if self.permission == "deny" and event not in _ABOUT_TOOLS:
            answer |= {"decision": "block", "reason": self.reason}
        if specific := self._specific(event):
            answer["hookSpecificOutput"] = {"hookEventName": event, **specific}
        return answer

    def _specific(self, event: str) -> dict[str, Any]:
        specific: dict[str, Any] = {"additionalContext": self.context} if self.context else {}
        changed = {} if self.updated_input is None else {"updatedInput": self.updated_input}
        if event == "PermissionRequest" and self.permission in ("allow", "deny"):
            why = {"message": self.reason} if self.permission == "deny" else changed
            specific["decision"] = {"behavior": self.permission, **why}
        elif event == "PreToolUse":
            specific |= changed
            if self.permission is not None:
                specific["permissionDecision"] = self.permission
                specific["permissionDecisionReason"] = self.reason
        return specific


Hook = Callable[[HookInput], Awaitable[HookResult | dict[str, Any] | None]]
"""Hears of an event. A dict goes to the CLI as it is."""


class HookMatcher(Struct, frozen=True):
    """Hooks for the tools whose names match: a name, `A|B`, a regular expression, or all."""

    hooks: Sequence[Hook]
    matcher: str | None = None
    timeout: float | None = None


def server_in(data: dict[str, Any]) -> str | None:
    """The server that the CLI names beside a tool's qualified name."""
    name = (as_object(data.get("mcp_server")) or {}).get("name")
    return name if isinstance(name, str) else None


_PREFIX = "mcp__"
_INVALID = re.compile(r"[^a-zA-Z0-9_-]")


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
    return _INVALID.sub("_", name)


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
