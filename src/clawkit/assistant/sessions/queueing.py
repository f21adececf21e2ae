"""Waiting for a turn: called by those of this process, looking for those of others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from clawkit.assistant.sessions import bells, tickets
from clawkit.assistant.sessions.database import Database
from clawkit.assistant.sessions.tickets import Standing, Ticket
from clawkit.assistant.sessions.worker import Worker

OnWait = Callable[[int], None]

_FIRST_LOOK = 0.002
_LAST_LOOK = 0.05
_GROWTH = 1.5
_CALLED = 1.0
"""One who will be called still looks up now and then."""


class Queueing:
    """The tickets that one store's user holds."""

    def __init__(self, file: Path, worker: Worker) -> None:
        self._file = file
        self._worker = worker
        self._open: list[Ticket] = []

    async def wait(self, ticket: Ticket, on_wait: OnWait | None) -> None:
        """Get in line and wait to be first. On any error, `leave` must follow all the same."""
        bell = bells.Bell()
        self._open.append(ticket)
        standing = await self._take(ticket, bell)
        pause, told = _FIRST_LOOK, 0
        while standing.ahead:
            if on_wait is not None and standing.ahead != told:
                told = standing.ahead
                on_wait(told)
            if standing.others and bells.is_next(self._queue(ticket), ticket.id):
                await bell.heard(pause)
                pause = min(pause * _GROWTH, _LAST_LOOK)
            else:
                await bell.heard(_CALLED)
            standing = await self._worker.do(lambda database: tickets.look(database, ticket))
            if standing.missing:  # the session was deleted
                bells.take_down(self._queue(ticket), ticket.id)
                standing = await self._take(ticket, bell)
        ticket.running = True

    async def leave(self, ticket: Ticket, reason: str) -> None:
        """End a turn, and wait until the next can begin."""
        if ticket in self._open:
            self._open.remove(ticket)
            await self._worker.done(lambda database: self._end(database, ticket, reason))

    def give_up(self, ticket: Ticket, reason: str) -> None:
        """The same for one who cannot wait."""
        if ticket in self._open:
            self._open.remove(ticket)
            self._worker.owe(lambda database: self._end(database, ticket, reason))

    def give_up_all(self, reason: str) -> None:
        for ticket in self._open.copy():
            self.give_up(ticket, reason)

    async def _take(self, ticket: Ticket, bell: bells.Bell) -> Standing:
        def job(database: Database) -> Standing:
            standing = tickets.take(database, ticket)
            if not standing.ahead:
                return standing
            bells.hang(self._queue(ticket), ticket.id, bell)
            return tickets.look(database, ticket)  # the one ahead may have left before the bell

        return await self._worker.do(job)

    def _end(self, database: Database, ticket: Ticket, reason: str) -> None:
        tickets.end(database, ticket, reason)
        bells.take_down(self._queue(ticket), ticket.id)
        bells.ring_next(self._queue(ticket))

    def _queue(self, ticket: Ticket) -> bells.Queue:
        return self._file, ticket.key
