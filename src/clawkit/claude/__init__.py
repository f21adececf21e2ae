"""The Claude CLI from Python: its options, its control protocol, and a client that drives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clawkit.claude.client import ClaudeClient as ClaudeClient
    from clawkit.claude.client import query as query
    from clawkit.claude.messages import AssistantMessage as AssistantMessage
    from clawkit.claude.messages import ResultMessage as ResultMessage
    from clawkit.claude.messages import StreamEvent as StreamEvent
    from clawkit.claude.messages import SystemMessage as SystemMessage
    from clawkit.claude.messages import TextBlock as TextBlock
    from clawkit.claude.messages import ThinkingBlock as ThinkingBlock
    from clawkit.claude.messages import ToolResultBlock as ToolResultBlock
    from clawkit.claude.messages import ToolUseBlock as ToolUseBlock
    from clawkit.claude.messages import UserMessage as UserMessage
    from clawkit.claude.options import ClaudeAgentOptions as ClaudeAgentOptions
    from clawkit.claude.permissions import Allow as Allow
    from clawkit.claude.permissions import Deny as Deny
    from clawkit.claude.permissions import HookInput as HookInput
    from clawkit.claude.permissions import HookMatcher as HookMatcher
    from clawkit.claude.permissions import HookResult as HookResult
    from clawkit.claude.permissions import Question as Question
    from clawkit.claude.permissions import ToolRequest as ToolRequest
    from clawkit.claude.servers import McpServerConfig as McpServerConfig
    from clawkit.claude.servers import read_mcp_json as read_mcp_json
    from clawkit.claude.servers import write_mcp_json as write_mcp_json

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
    if name not in __all__:
        raise AttributeError(f"module 'clawkit.claude' has no attribute {name!r}")
    import clawkit

    return getattr(clawkit, name)
