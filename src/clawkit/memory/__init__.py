"""A Being: an agent's long-term memory, and the MCP server in front of it.

From Python, `open_being` is all there is to import; everything else is the server's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clawkit.memory.embedded import OpenBeing as OpenBeing
    from clawkit.memory.embedded import open_being as open_being

__all__ = ["OpenBeing", "open_being"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'clawkit.memory' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("clawkit.memory.embedded"), name)
