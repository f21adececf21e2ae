"""How many calls of one Being are at work at once, so that none takes all threads of a server."""

from __future__ import annotations

import asyncio
from collections import deque

from clawkit.errors import ToolExecutionError

AT_ONCE = 16
WAITING = 1_000


class Turns:
    """Lets a number of calls of each Being work; the others of it wait in order, in no thread."""

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._at_once = at_once
        self._most_waiting = waiting
        self._working: dict[int, int] = {}
        self._waiting: dict[int, deque[asyncio.Future[None]]] = {}

    async def enter(self, being: int) -> None:
        """Wait for a turn; whoever has one must `leave`."""
        working = self._working.get(being, 0)
        if working < self._at_once:
            self._working[being] = working + 1
            return
        waiting = self._waiting.setdefault(being, deque())
        if len(waiting) >= self._most_waiting:
            raise ToolExecutionError("too many calls of this Being wait already: try again later")
        turn = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                waiting.remove(turn)
            else:
                self.leave(being)
            raise

    def leave(self, being: int) -> None:
        """Give the turn to the next of the Being, or back."""
        waiting = self._waiting.get(being)
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._waiting.pop(being, None)
        self._working[being] -= 1
        if not self._working[being]:
            del self._working[being]
