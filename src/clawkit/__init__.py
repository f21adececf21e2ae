"""Clawkit: make an agent reachable, capable, remembering and safe over MCP.

Everything public can be imported from here; each name loads its room when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from clawkit import claude
from clawkit.version import __version__ as __version__

if TYPE_CHECKING:
    from clawkit.claude import *  # noqa: F403 - it says what that is in its __all__
    from clawkit.errors import ClawError, CliError
    from clawkit.tools.results import Media, ToolContent, ToolResult
    from clawkit.tools.schema.constraints import Field
    from clawkit.tools.server import SdkMcpServer, SdkMcpServerImpl, SdkMcpServerRegistry, Server
    from clawkit.tools.tool import SdkMcpTool, ToolHandler, claw_tool
    from clawkit.wire.calls import Limits
    from clawkit.wire.http.uvicorn_server import HttpLimits
    from clawkit.wire.session import Context, Principal, Session

_HOMES = {
    "errors": ("ClawError", "CliError"),
    "tools.results": ("Media", "ToolContent", "ToolResult"),
    "tools.schema.constraints": ("Field",),
    "tools.server": ("SdkMcpServer", "SdkMcpServerImpl", "SdkMcpServerRegistry", "Server"),
    "tools.tool": ("SdkMcpTool", "ToolHandler", "claw_tool"),
    "wire.calls": ("Limits",),
    "wire.http.uvicorn_server": ("HttpLimits",),
    "wire.session": ("Context", "Principal", "Session"),
}

__all__ = [
    "ClawError",
    "CliError",
    "Context",
    "Field",
    "HttpLimits",
    "Limits",
    "Media",
    "Principal",
    "SdkMcpServer",
    "SdkMcpServerImpl",
    "SdkMcpServerRegistry",
    "SdkMcpTool",
    "Server",
    "Session",
    "ToolContent",
    "ToolHandler",
    "ToolResult",
    "__version__",
    "claw_tool",
]
__all__ += claude.__all__


def __getattr__(name: str) -> Any:
    if name in claude.__all__:
        return getattr(claude, name)
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'clawkit' has no attribute {name!r}")
    value = getattr(import_module(f"clawkit.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
