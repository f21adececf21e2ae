"""What the assistant needs from a Being, local or remote. Called from worker threads."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from clawkit.models.protocol import ToolSpec

MOST_FOUND = 50

SEARCH_HISTORY = ToolSpec(
    "search_history",
    "Search past conversations with this person by keyword and date.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "A part of what was said"},
            "date_from": {"type": "string", "description": "First day, YYYY-MM-DD"},
            "date_to": {"type": "string", "description": "Last day, YYYY-MM-DD"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND},
        },
    },
)
"""The tool by which the model looks into past conversations."""


class RecalledMemory(Struct, frozen=True):
    """One memory for a prompt: its text, and whether the person said it in these words."""

    text: str
    own_words: bool = False


class TurnMessage(Struct, frozen=True):
    """One message of a turn, to be kept."""

    role: str
    text: str
    at: float


class MemoryBackend(Protocol):
    """A Being as the assistant sees it."""

    def recall(self, text: str, session: str) -> tuple[RecalledMemory, ...]:
        """Recall memories for a message, oldest first, without those of its own session."""
        ...

    def keep(self, said: tuple[TurnMessage, ...], session: str) -> str:
        """Remember a turn: its messages as history, what it tells as memories.

        Gives what the person has to know about it, such as that a password was left out.
        """
        ...

    def forget(self, named: str, said: str) -> str:
        """Take back what a person clearly names; says what, or why not, or nothing.

        It says so in the language of what was `said`.
        """
        ...

    def history(self, query: str, date_from: str, date_to: str, limit: int) -> str:
        """Past messages that contain a text, as lines."""
        ...

    def close(self) -> None:
        """Do what is due at the end of the sessions, such as a patrol, and close."""
        ...
