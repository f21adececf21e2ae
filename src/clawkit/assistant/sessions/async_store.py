"""The sessions for the event loop: a thread for the database, one turn after the other, and what is
said in them.

The thread is a daemon: a process may end at any moment, and a transaction that was not committed
is none. Who waits for a turn is woken by those of this process, and polls for those of others.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from clawkit.assistant.sessions import message_rows, queries, turn_queue
from clawkit.assistant.sessions.database import PATIENCE, SessionDatabase
from clawkit.assistant.sessions.message_rows import encode
from clawkit.assistant.sessions.queries import prune_if_due
from clawkit.assistant.sessions.records import (
    LAST,
    MessageRange,
    Saved,
    SessionHistory,
    SessionInfo,
)
from clawkit.assistant.sessions.turn_queue import QueuePosition, TurnTicket, check_key
from clawkit.errors import StoreError
from clawkit.models.protocol import Message, Usage

T = TypeVar("T")
P = ParamSpec("P")
Job = Callable[[SessionDatabase], T]
IdleJob = Callable[[SessionDatabase], Iterator[object]]
"""Work of no hurry, in small steps."""

_AGAIN = 1.0
_IDLE_PAUSE = 0.03
"""Between two steps of a job, so that other processes get the store, too."""
_LAST_STEPS = 5
"""Of an idle job, when the thread ends: programs that live for one turn do their part."""

log = logging.getLogger("clawkit.assistant")


class DatabaseThread:
    """Runs jobs in the order in which they come. The thread starts with the first."""

    def __init__(self, database: SessionDatabase) -> None:
        self.database = database
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._unwritten: list[Job[object]] = []
        self._tried = 0.0
        self._idle_jobs: list[Iterator[object]] = []
        self._thread: threading.Thread | None = None
        self._closed = False
        self._starting = threading.Lock()

    async def do(self, job: Job[T]) -> T:
        """The outcome of a job. It is done even if nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            settle: Callable[[Any], None] = outcome.set_result
            value: Any = None
            try:
                value = job(self.database)
            except Exception as error:  # noqa: BLE001 - handed to the waiting coroutine
                settle, value = outcome.set_exception, error
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(_settle, outcome, settle, value)

        self._put(run)
        return await outcome

    def do_when_idle(self, job: IdleJob) -> None:
        """Do a job step by step, whenever nobody waits for anything; if it fails, it ends."""
        with suppress(StoreError):  # the store may be closed by now
            self._put(lambda: self._idle_jobs.append(job(self.database)))

    def do_eventually(self, job: Job[object], done: Callable[[], None] | None = None) -> None:
        """Do a job that must be done: while the store cannot be written it is tried again."""

        def run() -> None:
            self._try(job)
            if done is not None:
                done()

        self._put(run)

    async def done(self, job: Job[object]) -> None:
        """Wait until such a job was tried for the first time."""
        await self.do(lambda _: self._try(job))

    def stop(self) -> threading.Thread | None:
        """Let the thread end after what is still to be done; gives it, if it ever started."""
        with self._starting:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
            return self._thread

    async def close(self) -> None:
        """End the thread and the connection, when everything is done."""
        thread = self.stop()
        if thread is not None:
            await asyncio.to_thread(thread.join)

    def _put(self, run: Callable[[], object]) -> None:
        with self._starting:
            if self._closed:
                raise StoreError(f"{self.database.file}: the store of sessions was closed")
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="claw-sessions", daemon=True
                )
                self._thread.start()
            self._jobs.put(run)

    def _work(self) -> None:
        try:
            while True:
                try:
                    run = self._jobs.get(timeout=self._pause())
                    if run is None:
                        break
                    run()
                except queue.Empty:
                    self._step()
                if self._unwritten and time.monotonic() - self._tried >= _AGAIN:
                    self._retry_unwritten()
            self._retry_unwritten()
            for _ in range(_LAST_STEPS):
                self._step()
        finally:
            self.database.close()

    def _pause(self) -> float | None:
        """How long to wait for a job before there is something else to do."""
        if self._idle_jobs:
            return _IDLE_PAUSE
        return _AGAIN if self._unwritten else None

    def _step(self) -> None:
        """Go on with the first job; one that has come to its end, or failed, is done with."""
        if self._idle_jobs:
            job, done = self._idle_jobs[0], list[object]()
            self._attempt(lambda _: done.extend(islice(job, 1)))
            if not done:
                del self._idle_jobs[0]

    def _try(self, job: Job[object]) -> None:
        if not self._attempt(job):
            self._unwritten.append(job)
            self._tried = time.monotonic()

    def _retry_unwritten(self) -> None:
        self._tried = time.monotonic()
        self._unwritten = [job for job in self._unwritten if not self._attempt(job)]

    def _attempt(self, job: Job[object]) -> bool:
        try:
            job(self.database)
        except StoreError as error:
            log.warning("%s", error)
            return False
        except Exception:
            log.exception("a job of the store of sessions failed")
        return True


def _settle(outcome: asyncio.Future[Any], settle: Callable[[Any], None], value: Any) -> None:
    if not outcome.done():
        settle(value)


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


_PRUNE_EVERY = 3600.0


class AsyncSessionStore:
    """The store in one file. Opened when first used; its work is done in a thread of its own."""

    def __init__(self, file: Path, *, patience: float = PATIENCE) -> None:
        self.file = file
        self._worker = DatabaseThread(SessionDatabase(file, patience=patience))
        self._open: list[TurnTicket] = []
        self._pruned = -_PRUNE_EVERY

    @asynccontextmanager
    async def turn(
        self, key: str, *, origin: str, named: bool, on_wait: OnWait | None = None
    ) -> AsyncGenerator[Turn]:
        """A turn in a session, once all that came before it are over, in whichever process.

        `on_wait` hears how many are ahead. Left without a save, the turn is recorded as failed or
        cancelled if an error ended it, and not at all if none did.
        """
        check_key(key)
        ticket = TurnTicket(key, origin, named)
        try:
            await self._wait(ticket, on_wait)
        except BaseException:
            self._give_up(ticket, "")
            raise
        reason = ""
        try:
            yield Turn(self.file, self._worker, ticket)
        except BaseException as error:
            is_cancelled = isinstance(error, asyncio.CancelledError)
            reason = "cancelled" if is_cancelled else f"failed: {type(error).__name__}"
            raise
        finally:
            await self._leave(ticket, reason)
            self._prune_when_idle()

    async def close(self) -> None:
        """Cancel what still waits or runs, and close the file."""
        for ticket in self._open.copy():
            self._give_up(ticket, "cancelled")
        await self._worker.close()

    def _prune_when_idle(self) -> None:
        """See, when there is nothing else to do and not too often, whether something can go."""
        now = time.monotonic()
        if now - self._pruned >= _PRUNE_EVERY:
            self._pruned = now
            self._worker.do_when_idle(prune_if_due)

    async def _wait(self, ticket: TurnTicket, on_wait: OnWait | None) -> None:
        """Get in line and wait to be first. On any error, `_give_up` must follow all the same."""
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

    async def _leave(self, ticket: TurnTicket, reason: str) -> None:
        """End a turn, and wait until the next can begin."""
        if ticket in self._open:
            self._open.remove(ticket)
            await self._worker.done(lambda database: self._end(database, ticket, reason))

    def _give_up(self, ticket: TurnTicket, reason: str) -> None:
        """The same for one who cannot wait."""
        if ticket in self._open:
            self._open.remove(ticket)
            self._worker.do_eventually(lambda database: self._end(database, ticket, reason))

    async def _take(self, ticket: TurnTicket, wake_up: WakeUp) -> QueuePosition:
        def job(database: SessionDatabase) -> QueuePosition:
            position = turn_queue.take(database, ticket)
            if not position.ahead:
                return position
            add_waiter(self._queue(ticket), ticket.id, wake_up)
            # The one ahead may have left before we were added.
            return turn_queue.look(database, ticket)

        return await self._worker.do(job)

    def _end(self, database: SessionDatabase, ticket: TurnTicket, reason: str) -> None:
        turn_queue.end(database, ticket, reason)
        remove_waiter(self._queue(ticket), ticket.id)
        wake_next(self._queue(ticket))

    def _queue(self, ticket: TurnTicket) -> SessionQueue:
        return self.file, ticket.key


class Turn:
    """One message and its answer: what was said before it, and what will have been said in it."""

    def __init__(self, file: Path, worker: DatabaseThread, ticket: TurnTicket) -> None:
        self._file = file
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
        known = self._worker.database.known
        return await self._read(queries.history, tokens, known, before=self._first)

    async def message_ranges(self, up_to: int, size: int) -> tuple[MessageRange, ...]:
        """What no summary covers up to a message, in pieces of about so many tokens."""
        return await self._read(queries.message_ranges, min(up_to, self._first - 1), size)

    async def read(self, span: MessageRange) -> tuple[Saved, ...]:
        """The messages of a range, as they were said."""
        return await self._read(queries.read, span)

    async def search(
        self, text: str, limit: int = 5, *, outside: int | None = None
    ) -> tuple[Saved, ...]:
        """The messages of this session that match best; `outside`: only those before this one."""
        return await self._read(queries.search, text, limit, min(outside or LAST, self._first))

    async def info(self) -> SessionInfo:
        """What is known of the session, counted since it last began anew."""
        is_alive = partial(turn_queue.is_alive, turn_queue.directory_for(self._file))
        found = await self._read(queries.describe, is_alive)
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

        def work(connection: sqlite3.Connection, session: int) -> None:
            message_rows.discard(connection, session, self._ticket.id)
            self._written, self._first = 0, LAST

        await self._write(work)

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
        await self._write(queries.compact, summary, min(up_to, self._first - 1))

    async def reset(self) -> int:
        """Leave everything behind that was said; gives how many messages that is."""
        return await self._write(queries.reset)

    async def choose_model(self, model: str) -> None:
        """Let another model answer in this session from now on; `""` for the usual one."""
        await self._write(queries.choose_model, model)
        self._ticket.model = model

    async def _read(
        self,
        work: Callable[Concatenate[sqlite3.Connection, int, P], T],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        def in_session(connection: sqlite3.Connection) -> T:
            session = turn_queue.session_of(connection, self._ticket)
            return work(connection, session, *arguments, **options)

        return await self._worker.do(lambda database: database.read(in_session))

    async def _write(
        self,
        work: Callable[Concatenate[sqlite3.Connection, int, P], T],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        def job(database: SessionDatabase) -> T:
            def in_session(connection: sqlite3.Connection) -> T:
                self._renew(database, connection)
                return work(connection, self._ticket.session, *arguments, **options)

            return database.write(in_session)

        return await self._worker.do(job)
