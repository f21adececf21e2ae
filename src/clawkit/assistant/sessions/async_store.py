"""The sessions for the event loop: one turn after the other, and what is said in them."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from clawkit.assistant.sessions import live_processes, message_rows, queries, turn_queue
from clawkit.assistant.sessions.database import PATIENCE, SessionDatabase
from clawkit.assistant.sessions.database_thread import DatabaseThread
from clawkit.assistant.sessions.message_rows import encode
from clawkit.assistant.sessions.records import (
    LAST,
    Saved,
    SessionHistory,
    SessionInfo,
    Stretch,
    check_key,
)
from clawkit.assistant.sessions.retention import prune_if_due
from clawkit.assistant.sessions.turn_queue import TurnTicket
from clawkit.assistant.sessions.turn_waiters import OnWait, TurnWaiters
from clawkit.models.protocol import Message, Usage

T = TypeVar("T")
InSession = Callable[[sqlite3.Connection, int], T]
_PRUNE_EVERY = 3600.0


class AsyncSessionStore:
    """The store in one file. Opened when first used; its work is done in a thread of its own."""

    def __init__(self, file: Path, *, patience: float = PATIENCE) -> None:
        self.file = file
        self._worker = DatabaseThread(SessionDatabase(file, patience=patience))
        self._waiters = TurnWaiters(file, self._worker)
        self._pruned = -_PRUNE_EVERY

    def turn(
        self, key: str, *, origin: str, named: bool, on_wait: OnWait | None = None
    ) -> AbstractAsyncContextManager[Turn]:
        """A turn in a session, once all that came before it are over, in whichever process.

        `on_wait` hears how many are ahead. Left without a save, the turn is recorded as failed or
        cancelled if an error ended it, and not at all if none did.
        """
        check_key(key)
        return _Entrance(self, self._waiters, self._worker, TurnTicket(key, origin, named), on_wait)

    async def close(self) -> None:
        """Give up what still waits or runs, and let go of the file."""
        self._waiters.give_up_all("cancelled")
        await self._worker.close()

    def prune_some_time(self) -> None:
        """See, when there is nothing else to do and not too often, whether something can go."""
        now = time.monotonic()
        if now - self._pruned >= _PRUNE_EVERY:
            self._pruned = now
            self._worker.do_at_leisure(prune_if_due)


class Turn:
    """One message and its answer: what was said before it, and what will have been said in it."""

    def __init__(
        self, sessions: AsyncSessionStore, worker: DatabaseThread, ticket: TurnTicket
    ) -> None:
        self._sessions = sessions
        self._worker = worker
        self._ticket = ticket
        # What follows is only used by the worker's thread.
        self._written = 0
        """How many messages of this turn are in the store."""
        self._first = LAST
        """The first of them: what lies before it was said in earlier turns."""

    @property
    def key(self) -> str:
        return self._ticket.key

    @property
    def id(self) -> int:
        return self._ticket.id

    @property
    def model(self) -> str:
        """The model that was chosen for this session, or nothing."""
        return self._ticket.model

    async def history(self, tokens: int) -> SessionHistory:
        """The newest messages that fit into so many tokens, oldest first; giants in short."""

        def job(database: SessionDatabase) -> SessionHistory:
            def work(connection: sqlite3.Connection) -> SessionHistory:
                session = turn_queue.session_of(connection, self._ticket)
                return queries.history(
                    connection, session, tokens, database.known, before=self._first
                )

            return database.read(work)

        return await self._worker.do(job)

    async def stretches(self, up_to: int, size: int) -> tuple[Stretch, ...]:
        """What no summary covers up to a message, in pieces of about so many tokens."""
        return await self._read(
            lambda connection, session: queries.stretches(
                connection, session, min(up_to, self._first - 1), size
            )
        )

    async def read(self, stretch: Stretch) -> tuple[Saved, ...]:
        """The messages of a stretch, as they were said."""
        return await self._read(
            lambda connection, session: queries.read(connection, session, stretch)
        )

    async def search(
        self, text: str, limit: int = 5, *, outside: int | None = None
    ) -> tuple[Saved, ...]:
        """The messages of this session that match best; `outside`: only those before this one."""
        return await self._read(
            lambda connection, session: queries.search(
                connection, session, text, limit, min(outside or LAST, self._first)
            )
        )

    async def info(self) -> SessionInfo:
        """What is known of the session, counted since it last began anew."""
        is_alive = partial(
            live_processes.is_alive, live_processes.directory_for(self._sessions.file)
        )
        found = await self._read(
            lambda connection, session: queries.describe(connection, session, is_alive)
        )
        if found is not None:
            return found
        now = time.time()
        ticket = self._ticket
        return SessionInfo(
            ticket.key, ticket.origin, ticket.named, now, now, 0, 0, ticket.model, True, ""
        )

    async def keep(self, messages: Sequence[Message], *, lasting: bool = False) -> None:
        """Write down the turn as far as it came: all its messages, of which some may be there.

        If `lasting`, it is on the disk before something is done that cannot be undone.
        """
        so_far = tuple(messages)
        await self._worker.do(lambda database: self._keep(database, so_far, lasting=lasting))

    async def save(
        self, messages: Sequence[Message], *, usage: Usage, model: str, reason: str
    ) -> None:
        """Keep all that was said in the turn, and how it ended."""
        whole = tuple(messages)
        end = partial(queries.end, usage=usage, model=model, reason=reason)

        def job(database: SessionDatabase) -> None:
            self._keep(database, whole, lasting=True, end=end)
            self._ticket.saved = True
            self._first = LAST  # from here on it is what was said before

        await self._worker.do(job)

    async def discard(self) -> None:
        """Take back what was kept of the turn: nothing came of it."""

        def job(database: SessionDatabase) -> None:
            def work(connection: sqlite3.Connection) -> None:
                self._renew(database, connection)
                message_rows.discard(connection, self._ticket.session, self._ticket.id)

            database.write(work)
            self._written, self._first = 0, LAST

        await self._worker.do(job)

    def _keep(
        self,
        database: SessionDatabase,
        messages: tuple[Message, ...],
        *,
        lasting: bool,
        end: Callable[[sqlite3.Connection, TurnTicket], None] | None = None,
    ) -> None:
        ticket = self._ticket
        encoded = {at: encode(messages[at]) for at in range(self._written, len(messages))}

        def work(connection: sqlite3.Connection) -> int:
            self._renew(database, connection)
            new = [
                encoded.get(at) or encode(messages[at])
                for at in range(self._written, len(messages))
            ]
            first = message_rows.add(connection, ticket.session, ticket.id, new)
            if end is not None:
                end(connection, ticket)
            return first

        first = database.write(work, lasting=lasting)
        self._written = max(self._written, len(messages))
        self._first = min(self._first, first or LAST)

    def _renew(self, database: SessionDatabase, connection: sqlite3.Connection) -> None:
        """See that the turn has its ticket; if that was deleted, what was written went with it."""
        if not turn_queue.renew(database, connection, self._ticket):
            self._written, self._first = 0, LAST

    async def compact(self, summary: str, up_to: int) -> None:
        """Let a summary stand in history for the messages up to and with `up_to`."""
        await self._write(
            lambda connection, session: queries.compact(
                connection, session, summary, min(up_to, self._first - 1)
            )
        )

    async def reset(self) -> int:
        """Leave everything behind that was said; gives how many messages that is."""
        return await self._write(queries.reset)

    async def choose_model(self, model: str) -> None:
        """Let another model answer in this session from now on; `""` for the usual one."""
        await self._write(
            lambda connection, session: queries.choose_model(connection, session, model)
        )
        self._ticket.model = model

    async def _read(self, work: InSession[T]) -> T:
        def job(database: SessionDatabase) -> T:
            return database.read(
                lambda connection: work(connection, turn_queue.session_of(connection, self._ticket))
            )

        return await self._worker.do(job)

    async def _write(self, work: InSession[T]) -> T:
        def job(database: SessionDatabase) -> T:
            def all_of_it(connection: sqlite3.Connection) -> T:
                self._renew(database, connection)
                return work(connection, self._ticket.session)

            return database.write(all_of_it)

        return await self._worker.do(job)


class _Entrance(AbstractAsyncContextManager[Turn]):
    """Waits on the way in, and lets the next one in on the way out, whatever happens between."""

    def __init__(
        self,
        sessions: AsyncSessionStore,
        waiters: TurnWaiters,
        worker: DatabaseThread,
        ticket: TurnTicket,
        on_wait: OnWait | None,
    ) -> None:
        self._sessions = sessions
        self._waiters = waiters
        self._worker = worker
        self._ticket = ticket
        self._on_wait = on_wait

    async def __aenter__(self) -> Turn:
        try:
            await self._waiters.wait(self._ticket, self._on_wait)
        except BaseException:
            self._waiters.give_up(self._ticket, "")
            raise
        return Turn(self._sessions, self._worker, self._ticket)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._waiters.leave(self._ticket, _reason(error))
        self._sessions.prune_some_time()


def _reason(error: BaseException | None) -> str:
    if error is None:
        return ""
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return f"failed: {type(error).__name__}"
