"""Conversations that last longer than one request: those of the handshake era's sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from clawkit.guard.conversation import Conversation

IDLE_SECONDS = 3600.0
MOST = 5000


class Session:
    """One conversation, and whether somebody is in the middle of it."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.used = time.monotonic()
        self.busy = 0
        self._over = False

    @contextmanager
    def in_use(self) -> Generator[Conversation]:
        self.busy += 1
        try:
            yield self.conversation
        finally:
            self.busy -= 1
            self.used = time.monotonic()
            self._end_if_over()

    def end(self) -> None:
        """Nothing new belongs to it; what is on its way is still answered."""
        self._over = True
        self._end_if_over()

    def _end_if_over(self) -> None:
        if self._over and not self.busy:
            self.conversation.end("The session ended")


class Sessions:
    """By the id that the server gave; the oldest idle one makes room for a new one."""

    def __init__(self, open_conversation: Callable[[], Conversation], most: int = MOST) -> None:
        self._open_conversation = open_conversation
        self._most = most
        self._known: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, session_id: str) -> Session:
        """The session of this id. Whether there is one is for the server to say, not for us."""
        session = self._known.get(session_id)
        return session or self.keep(session_id, Session(self._open_conversation()))

    def keep(self, session_id: str, session: Session) -> Session:
        self._make_room()
        self._known[session_id] = session
        return session

    def end(self, session_id: str) -> None:
        session = self._known.pop(session_id, None)
        if session is not None:
            session.end()

    def _make_room(self) -> None:
        limit = time.monotonic() - IDLE_SECONDS
        idle = {key: s for key, s in self._known.items() if not s.busy}
        gone = [key for key, s in idle.items() if s.used < limit]
        if len(self._known) - len(gone) >= self._most and idle:
            gone.append(min(idle, key=lambda key: idle[key].used))
        for key in gone:
            self.end(key)
