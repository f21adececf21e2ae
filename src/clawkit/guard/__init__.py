"""The guard: a policy firewall in front of any MCP server. Parse strictly, decide, forward.

From Python: `load_policy` decides about calls, `guard_server` puts a policy before an in-process
server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clawkit.guard.in_process import GuardedServer as GuardedServer
    from clawkit.guard.in_process import LoadedPolicy as LoadedPolicy
    from clawkit.guard.in_process import guard_server as guard_server
    from clawkit.guard.in_process import load_policy as load_policy

__all__ = ["GuardedServer", "LoadedPolicy", "guard_server", "load_policy"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'clawkit.guard' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("clawkit.guard.in_process"), name)
