"""What was read from a store before and need not be decoded again, as long as it is open."""

from __future__ import annotations

from clawkit.assistant.sessions.records import Saved

MOST = 500_000
"""Tokens of messages that are kept in memory."""

_FRAME = 50
"""What a message takes beside its words, in tokens: many short ones are not for nothing."""

Place = tuple[int, float]
"""The number of a message and when it was saved: the same in two files only if a copy is."""


class Known:
    """Messages by their place; the first to come is the first to go."""

    def __init__(self) -> None:
        self._messages: dict[Place, Saved] = {}
        self.tokens = 0

    def get(self, place: Place) -> Saved | None:
        return self._messages.get(place)

    def add(self, one: Saved) -> None:
        if (one.id, one.created) in self._messages or _size(one) > MOST // 4:
            return
        self._messages[one.id, one.created] = one
        self.tokens += _size(one)
        while self.tokens > MOST:
            self.tokens -= _size(self._messages.pop(next(iter(self._messages))))

    def clear(self) -> None:
        self._messages.clear()
        self.tokens = 0


def _size(one: Saved) -> int:
    return one.tokens + _FRAME
