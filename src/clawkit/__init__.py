"""Clawkit: make an agent reachable, capable, remembering and safe over MCP.

Everything public can be imported from here; each name loads its room when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from clawkit.version import __version__ as __version__

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
    from clawkit.errors import ClawError as ClawError
    from clawkit.errors import CliError as CliError
    from clawkit.tools.decorator import claw_tool as claw_tool
    from clawkit.tools.registry import SdkMcpServer as SdkMcpServer
    from clawkit.tools.registry import SdkMcpServerRegistry as SdkMcpServerRegistry
    from clawkit.tools.results import Media as Media
    from clawkit.tools.results import ToolContent as ToolContent
    from clawkit.tools.results import ToolResult as ToolResult
    from clawkit.tools.schema.constraints import Field as Field
    from clawkit.tools.server import SdkMcpServerImpl as SdkMcpServerImpl
    from clawkit.tools.server import Server as Server
    from clawkit.tools.tool import SdkMcpTool as SdkMcpTool
    from clawkit.tools.tool import ToolHandler as ToolHandler
    from clawkit.wire.calls import Limits as Limits
    from clawkit.wire.context import Context as Context
    from clawkit.wire.http.uvicorn_server import HttpLimits as HttpLimits
    from clawkit.wire.session import Session as Session

_HOMES = {
    "Allow": "claude.permissions",
    "AssistantMessage": "claude.messages",
    "ClaudeAgentOptions": "claude.options",
    "ClaudeClient": "claude.client",
    "ClawError": "errors",
    "CliError": "errors",
    "Context": "wire.context",
    "Deny": "claude.permissions",
    "Field": "tools.schema.constraints",
    "HookInput": "claude.permissions",
    "HookMatcher": "claude.permissions",
    "HookResult": "claude.permissions",
    "HttpLimits": "wire.http.uvicorn_server",
    "Limits": "wire.calls",
    "McpServerConfig": "claude.servers",
    "Media": "tools.results",
    "Question": "claude.permissions",
    "ResultMessage": "claude.messages",
    "SdkMcpServer": "tools.registry",
    "SdkMcpServerImpl": "tools.server",
    "SdkMcpServerRegistry": "tools.registry",
    "SdkMcpTool": "tools.tool",
    "Server": "tools.server",
    "Session": "wire.session",
    "StreamEvent": "claude.messages",
    "SystemMessage": "claude.messages",
    "TextBlock": "claude.messages",
    "ThinkingBlock": "claude.messages",
    "ToolContent": "tools.results",
    "ToolHandler": "tools.tool",
    "ToolRequest": "claude.permissions",
    "ToolResult": "tools.results",
    "ToolResultBlock": "claude.messages",
    "ToolUseBlock": "claude.messages",
    "UserMessage": "claude.messages",
    "claw_tool": "tools.decorator",
    "query": "claude.client",
    "read_mcp_json": "claude.servers",
    "write_mcp_json": "claude.servers",
}

__all__ = [
    "Allow",
    "AssistantMessage",
    "ClaudeAgentOptions",
    "ClaudeClient",
    "ClawError",
    "CliError",
    "Context",
    "Deny",
    "Field",
    "HookInput",
    "HookMatcher",
    "HookResult",
    "HttpLimits",
    "Limits",
    "McpServerConfig",
    "Media",
    "Question",
    "ResultMessage",
    "SdkMcpServer",
    "SdkMcpServerImpl",
    "SdkMcpServerRegistry",
    "SdkMcpTool",
    "Server",
    "Session",
    "StreamEvent",
    "SystemMessage",
    "TextBlock",
    "ThinkingBlock",
    "ToolContent",
    "ToolHandler",
    "ToolRequest",
    "ToolResult",
    "ToolResultBlock",
    "ToolUseBlock",
    "UserMessage",
    "__version__",
    "claw_tool",
    "query",
    "read_mcp_json",
    "write_mcp_json",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'clawkit' has no attribute {name!r}")
    value = getattr(import_module(f"clawkit.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
