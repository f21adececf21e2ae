"""Who in this process waits for a turn, so that the next one is called and need not look."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

Queue = tuple[Path, str]
"""A session in a store."""

_waiting: dict[Queue, dict[int, Bell]] = {}
_turn = threading.Lock()


class Bell:
    """Wakes one who waits, from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def ring(self) -> None:
        with suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(self._event.set)

    async def heard(self, seconds: float) -> None:
        """Wait until it rings, or for so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)
        self._event.clear()


def hang(queue: Queue, ticket: int, bell: Bell) -> None:
    with _turn:
        _waiting.setdefault(queue, {})[ticket] = bell


def take_down(queue: Queue, ticket: int) -> None:
    with _turn:
        bells = _waiting.get(queue, {})
        bells.pop(ticket, None)
        if not bells:
            _waiting.pop(queue, None)


def is_next(queue: Queue, ticket: int) -> bool:
    """Whether nobody else of this process waits before this one."""
    with _turn:
        return ticket == min(_waiting.get(queue, {ticket: None}))


def ring_next(queue: Queue) -> None:
    with _turn:
        bells = _waiting.get(queue)
        if bells:
            bells[min(bells)].ring()
