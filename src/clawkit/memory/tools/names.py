"""The names of a Being's tools, and which of them a read-only token may call."""

from __future__ import annotations

READ_TOOLS = frozenset(
    (
        *("recall", "recall_memory", "search_memory", "search_history"),
        *("get_context", "get_current_time"),
    )
)
WRITE_TOOLS = frozenset(
    ("update_memory", "update_notes", "merge_nodes", "update_relation", "trigger_patrol")
)
"""`update_memory` is one of these whatever its action is."""

ACT = "act"
"""Calls a capability of a connected bridge; there only while one is connected. It is a write."""
