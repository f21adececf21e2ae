"""Clawkit: make an agent reachable, capable, remembering and safe over MCP.

Everything public can be imported from here; each name loads its room when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clawkit.errors import ClawError as ClawError
    from clawkit.tools.decorator import claw_tool as claw_tool
    from clawkit.tools.registry import SdkMcpServer as SdkMcpServer
    from clawkit.tools.registry import SdkMcpServerRegistry as SdkMcpServerRegistry
    from clawkit.tools.results import Media as Media
    from clawkit.tools.results import ToolContent as ToolContent
    from clawkit.tools.results import ToolResult as ToolResult
    from clawkit.tools.schema.constraints import Field as Field
    from clawkit.tools.server import SdkMcpServerImpl as SdkMcpServerImpl
    from clawkit.tools.tool import SdkMcpTool as SdkMcpTool
    from clawkit.tools.tool import ToolHandler as ToolHandler
    from clawkit.wire.calls import Limits as Limits
    from clawkit.wire.context import Context as Context
    from clawkit.wire.session import Session as Session

__version__ = "0.1.0"

_HOMES = {
    "ClawError": "errors",
    "Context": "wire.context",
    "Field": "tools.schema.constraints",
    "Limits": "wire.calls",
    "Media": "tools.results",
    "SdkMcpServer": "tools.registry",
    "SdkMcpServerImpl": "tools.server",
    "SdkMcpServerRegistry": "tools.registry",
    "SdkMcpTool": "tools.tool",
    "Session": "wire.session",
    "ToolContent": "tools.results",
    "ToolHandler": "tools.tool",
    "ToolResult": "tools.results",
    "claw_tool": "tools.decorator",
}

__all__ = [
    "ClawError",
    "Context",
    "Field",
    "Limits",
    "Media",
    "SdkMcpServer",
    "SdkMcpServerImpl",
    "SdkMcpServerRegistry",
    "SdkMcpTool",
    "Session",
    "ToolContent",
    "ToolHandler",
    "ToolResult",
    "__version__",
    "claw_tool",
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
