"""What the database returns: messages, histories, session info; and a cache of messages."""

from __future__ import annotations

from msgspec import Struct

from clawkit.models.protocol import Message

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


class SessionHistory(Struct, frozen=True):
    """What a prompt is made of. `whole`: there is nothing older that is not among the messages;
    `gap`: the summary does not reach up to them; `first`: nothing was ever said under this key.
    """

    summary: str
    messages: tuple[Saved, ...]
    first: bool
    whole: bool = False
    gap: bool = False


class MessageRange(Struct, frozen=True):
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


MOST_CACHED_TOKENS = 500_000
"""Tokens of messages that are kept in memory."""

_MESSAGE_OVERHEAD = 50
"""What a message takes beside its words, in tokens: many short ones are not for nothing."""

Place = tuple[int, float]
"""The number of a message and when it was saved: the same in two files only if a copy is."""


class MessageCache:
    """Messages by their place; the first to come is the first to go."""

    def __init__(self) -> None:
        self._messages: dict[Place, Saved] = {}
        self.tokens = 0

    def get(self, place: Place) -> Saved | None:
        return self._messages.get(place)

    def add(self, one: Saved) -> None:
        if (one.id, one.created) in self._messages or _size(one) > MOST_CACHED_TOKENS // 4:
            return
        self._messages[one.id, one.created] = one
        self.tokens += _size(one)
        while self.tokens > MOST_CACHED_TOKENS:
            self.tokens -= _size(self._messages.pop(next(iter(self._messages))))

    def clear(self) -> None:
        self._messages.clear()
        self.tokens = 0


def _size(one: Saved) -> int:
    return one.tokens + _MESSAGE_OVERHEAD
