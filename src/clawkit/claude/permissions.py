"""Permissions and hooks: what the CLI asks its host, and the answers it understands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

from clawkit.wire.jsonrpc import as_object

HookEvent = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Notification",
    "PermissionRequest",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
]


class ToolRequest(Struct, frozen=True):
    """A tool that the model wants to use and the CLI will not allow by itself."""

    tool_name: str
    input: dict[str, Any]
    tool_use_id: str = ""
    suggestions: tuple[dict[str, Any], ...] = ()
    reason: str = ""


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


class HookResult(Struct, frozen=True):
    """What a hook wants: to decide about a tool, change its arguments, or add context."""

    permission: Literal["allow", "deny", "ask"] | None = None
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    context: str = ""
    stop: bool = False
    system_message: str = ""

    def to_wire(self, event: str) -> dict[str, Any]:
        specific: dict[str, Any] = {"hookEventName": event}
        if self.permission is not None:
            specific["permissionDecision"] = self.permission
            specific["permissionDecisionReason"] = self.reason
        if self.updated_input is not None:
            specific["updatedInput"] = self.updated_input
        if self.context:
            specific["additionalContext"] = self.context
        answer: dict[str, Any] = {"continue": not self.stop}
        if self.stop and self.reason:
            answer["stopReason"] = self.reason
        if self.system_message:
            answer["systemMessage"] = self.system_message
        if len(specific) > 1:
            answer["hookSpecificOutput"] = specific
        return answer


Hook = Callable[[HookInput], Awaitable[HookResult | dict[str, Any] | None]]
"""Hears of an event. A dict goes to the CLI as it is."""


class HookMatcher(Struct, frozen=True):
    """Hooks for the tools whose names match: a name, `A|B`, a regular expression, or all."""

    hooks: Sequence[Hook]
    matcher: str | None = None
    timeout: float | None = None
