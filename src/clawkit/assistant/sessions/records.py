"""What the store gives back: messages as they were saved, and what is known of a session."""

from __future__ import annotations

import unicodedata

from msgspec import Struct

from clawkit.errors import SessionError
from clawkit.models.protocol import Message

LONGEST_KEY = 512
LAST = 1 << 62
"""Above the number of every message."""


class Saved(Struct, frozen=True):
    """A message in the store. `epoch` counts how often the session had begun anew before it."""

    id: int
    message: Message
    created: float
    tokens: int
    turn: int
    epoch: int = 0


class History(Struct, frozen=True):
    """What a prompt is made of. `whole`: there is nothing older that is not among the messages;
    `gap`: the summary does not reach up to them; `first`: nothing was ever said under this key.
    """

    summary: str
    messages: tuple[Saved, ...]
    first: bool
    whole: bool = False
    gap: bool = False


class Stretch(Struct, frozen=True):
    """Whole turns of a conversation, not read yet: from which message to which, and how large."""

    first: int
    last: int
    tokens: int


class SessionInfo(Struct, frozen=True):
    """A session from outside. `model` answered last; `title` is how the first message begins.

    `last_reason` is how the last turn ended: a stop reason, `cancelled`, `lost` when its process
    died, or `failed: ` and the class of the error.
    """

    key: str
    origin: str
    named: bool
    created: float
    updated: float
    messages: int
    turns: int
    model: str
    running: bool
    last_reason: str
    title: str = ""
    epoch: int = 0


class Transcript(Struct, frozen=True):
    """All of a session, for a person to read: pictures are named, not contained."""

    info: SessionInfo
    summary: str
    messages: tuple[Saved, ...]
    chosen_model: str = ""


def check_key(key: str) -> None:
    """Raise SessionError if a session cannot have this key. The error does not show it."""
    if not 1 <= len(key) <= LONGEST_KEY:
        raise SessionError(
            f"the session key has {len(key)} characters: choose one with 1 to {LONGEST_KEY}"
        )
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in key):
        raise SessionError("the session key contains a control character: choose one without")
