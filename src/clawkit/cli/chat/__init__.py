"""`claw chat`: a conversation in the terminal."""

from __future__ import annotations

HISTORY = "chat_history.jsonl"
"""The file beside the store that has what was typed."""


def goes_on(text: str) -> bool:
    """Whether a line asks for another one; two backslashes at its end are meant as they stand."""
    return text.endswith("\\") and not text.endswith("\\\\")
