"""The Claude CLI from Python: its options, its control protocol, and a client that drives it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clawkit.claude.client import ClaudeClient, query
    from clawkit.claude.messages import (
        AssistantMessage,
        ResultMessage,
        StreamEvent,
        SystemMessage,
        TextBlock,
        ThinkingBlock,
        ToolResultBlock,
        ToolUseBlock,
        UserMessage,
    )
    from clawkit.claude.options import (
        ClaudeAgentOptions,
        McpServerConfig,
        read_mcp_json,
        write_mcp_json,
    )
    from clawkit.claude.permissions import (
        Allow,
        Deny,
        HookInput,
        HookMatcher,
        HookResult,
        Question,
        ToolRequest,
    )

_MODULES = ("options", "permissions", "messages", "client")
"""In this order: those that are only data come first."""

__all__ = [
    "Allow",
    "AssistantMessage",
    "ClaudeAgentOptions",
    "ClaudeClient",
    "Deny",
    "HookInput",
    "HookMatcher",
    "HookResult",
    "McpServerConfig",
    "Question",
    "ResultMessage",
    "StreamEvent",
    "SystemMessage",
    "TextBlock",
    "ThinkingBlock",
    "ToolRequest",
    "ToolResultBlock",
    "ToolUseBlock",
    "UserMessage",
    "query",
    "read_mcp_json",
    "write_mcp_json",
]


def __getattr__(name: str) -> Any:
    for module in _MODULES if name in __all__ else ():
        found = import_module(f"clawkit.claude.{module}")
        if hasattr(found, name):
            return getattr(found, name)
    raise AttributeError(f"module 'clawkit.claude' has no attribute {name!r}")
