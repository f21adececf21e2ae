"""The parts of structured memory, and what can be done to them, by their documented names."""

from __future__ import annotations

from typing import Literal

Target = Literal[
    "preferences",
    "knowledge",
    "relationship",
    "partner_tools",
    "partner_map",
    "diary",
    "notes",
    "party_message",
    "partner_rules",
    "souls",
]
Action = Literal["get", "append", "update", "delete"]
