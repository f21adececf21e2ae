"""Waits for a turn: woken by turns of this process, polling for those of other processes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from clawkit.assistant.sessions import turn_queue
from clawkit.assistant.sessions.database import SessionDatabase
from clawkit.assistant.sessions.database_thread import DatabaseThread
from clawkit.assistant.sessions.turn_queue import QueuePosition, TurnTicket

SessionQueue = tuple[Path, str]
"""A session in a store."""

_waiting: dict[SessionQueue, dict[int, WakeUp]] = {}
_lock = threading.Lock()


class WakeUp:
    """Wakes one who waits, from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def wake(self) -> None:
        with suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, seconds: float) -> None:
        """Wait to be woken, or for so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)
        self._event.clear()


def add_waiter(queue: SessionQueue, ticket: int, wake_up: WakeUp) -> None:
    with _lock:
        _waiting.setdefault(queue, {})[ticket] = wake_up


def remove_waiter(queue: SessionQueue, ticket: int) -> None:
    with _lock:
        waiters = _waiting.get(queue, {})
        waiters.pop(ticket, None)
        if not waiters:
            _waiting.pop(queue, None)


def is_next(queue: SessionQueue, ticket: int) -> bool:
    """Whether nobody else of this process waits before this one."""
    with _lock:
        return ticket == min(_waiting.get(queue, {ticket: None}))


def wake_next(queue: SessionQueue) -> None:
    with _lock:
        waiters = _waiting.get(queue)
        if waiters:
            waiters[min(waiters)].wake()


OnWait = Callable[[int], None]

_FIRST_LOOK = 0.002
_LAST_LOOK = 0.05
_GROWTH = 1.5
_CALLED = 1.0
"""Seconds: one who will be woken still polls now and then."""


class TurnWaiters:
    """The tickets that one store's user holds."""

    def __init__(self, file: Path, worker: DatabaseThread) -> None:
        self._file = file
        self._worker = worker
        self._open: list[TurnTicket] = []

    async def wait(self, ticket: TurnTicket, on_wait: OnWait | None) -> None:
        """Get in line and wait to be first. On any error, `leave` must follow all the same."""
        wake_up = WakeUp()
        self._open.append(ticket)
        position = await self._take(ticket, wake_up)
        pause, told = _FIRST_LOOK, 0
        while position.ahead:
            if on_wait is not None and position.ahead != told:
                told = position.ahead
                on_wait(told)
            if position.others and is_next(self._queue(ticket), ticket.id):
                await wake_up.wait(pause)
                pause = min(pause * _GROWTH, _LAST_LOOK)
            else:
                await wake_up.wait(_CALLED)
            position = await self._worker.do(lambda database: turn_queue.look(database, ticket))
            if position.missing:  # the session was deleted
                remove_waiter(self._queue(ticket), ticket.id)
                position = await self._take(ticket, wake_up)
        ticket.running = True

    async def leave(self, ticket: TurnTicket, reason: str) -> None:
        """End a turn, and wait until the next can begin."""
        if ticket in self._open:
            self._open.remove(ticket)
            await self._worker.done(lambda database: self._end(database, ticket, reason))

    def give_up(self, ticket: TurnTicket, reason: str) -> None:
        """The same for one who cannot wait."""
        if ticket in self._open:
            self._open.remove(ticket)
            self._worker.owe(lambda database: self._end(database, ticket, reason))

    def give_up_all(self, reason: str) -> None:
        for ticket in self._open.copy():
            self.give_up(ticket, reason)

    async def _take(self, ticket: TurnTicket, wake_up: WakeUp) -> QueuePosition:
        def job(database: SessionDatabase) -> QueuePosition:
            position = turn_queue.take(database, ticket)
            if not position.ahead:
                return position
            add_waiter(self._queue(ticket), ticket.id, wake_up)
            return turn_queue.look(
                database, ticket
            )  # the one ahead may have left before we were added

        return await self._worker.do(job)

    def _end(self, database: SessionDatabase, ticket: TurnTicket, reason: str) -> None:
        turn_queue.end(database, ticket, reason)
        remove_waiter(self._queue(ticket), ticket.id)
        wake_next(self._queue(ticket))

    def _queue(self, ticket: TurnTicket) -> SessionQueue:
        return self._file, ticket.key
