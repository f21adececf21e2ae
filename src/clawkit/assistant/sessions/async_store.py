"""The sessions for the event loop: one turn after the other, what was said before each of them, and
what is said in it.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from msgspec.structs import replace

from clawkit.assistant.compaction import cut_down
from clawkit.assistant.sessions import message_rows, turn_queue
from clawkit.assistant.sessions.database import PATIENCE, DatabaseThread, SessionDatabase
from clawkit.assistant.sessions.message_rows import (
    COLUMNS,
    StoredImage,
    encode,
    image_data,
    named,
    saved,
)
from clawkit.assistant.sessions.records import (
    LAST,
    MessageCache,
    MessageRange,
    Saved,
    SessionHistory,
    SessionInfo,
)
from clawkit.assistant.sessions.session_rows import describe, prune_if_due
from clawkit.assistant.sessions.turn_queue import TurnTicket, WakeUp, check_key
from clawkit.models.messages import pictures
from clawkit.models.protocol import Image, Message, Text, Usage, message_tokens

T = TypeVar("T")
P = ParamSpec("P")
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
        position = await self._worker.do(lambda found: turn_queue.take(found, ticket, wake_up))
        pause, told = _FIRST_LOOK, 0
        while position.ahead:
            if on_wait is not None and position.ahead != told:
                told = position.ahead
                on_wait(told)
            if position.others and turn_queue.is_next(self.file, ticket):
                await wake_up.wait(pause)
                pause = min(pause * _GROWTH, _LAST_LOOK)
            else:
                await wake_up.wait(_CALLED)
            position = await self._worker.do(lambda database: turn_queue.look(database, ticket))
            if position.missing:  # the session was deleted
                turn_queue.remove_waiter(self.file, ticket)
                position = await self._worker.do(
                    lambda database: turn_queue.take(database, ticket, wake_up)
                )
        ticket.running = True

    async def _leave(self, ticket: TurnTicket, reason: str) -> None:
        """End a turn, and wait until the next can begin."""
        if ticket in self._open:
            self._open.remove(ticket)
            await self._worker.done(lambda database: turn_queue.end(database, ticket, reason))

    def _give_up(self, ticket: TurnTicket, reason: str) -> None:
        """The same for one who cannot wait."""
        if ticket in self._open:
            self._open.remove(ticket)
            self._worker.do_eventually(lambda found: turn_queue.end(found, ticket, reason))


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

    def history(self, tokens: int) -> asyncio.Future[SessionHistory]:
        """The newest messages that fit into so many tokens, oldest first; giants in short."""

        def work(connection: sqlite3.Connection, session: int) -> SessionHistory:
            known = self._worker.database.known
            return history(connection, session, tokens, known, before=self._first)

        return self._read(work)

    def message_ranges(self, up_to: int, size: int) -> asyncio.Future[tuple[MessageRange, ...]]:
        """What no summary covers up to a message, in pieces of about so many tokens."""
        return self._read(message_ranges, min(up_to, self._first - 1), size)

    def read(self, span: MessageRange) -> asyncio.Future[tuple[Saved, ...]]:
        """The messages of a range, as they were said."""
        return self._read(read, span)

    def search(
        self, text: str, limit: int = 5, *, outside: int | None = None
    ) -> asyncio.Future[tuple[Saved, ...]]:
        """The messages of this session that match best; `outside`: only those before this one."""
        return self._read(search, text, limit, min(outside or LAST, self._first))

    async def info(self) -> SessionInfo:
        """What is known of the session, counted since it last began anew."""
        is_alive = partial(turn_queue.is_alive, turn_queue.directory_for(self._file))
        found = await self._read(describe, is_alive)
        if found is not None:
            return found
        now = time.time()
        ticket = self._ticket
        return SessionInfo(
            ticket.key, ticket.origin, ticket.named, now, now, 0, 0, ticket.model, True, ""
        )

    def keep(self, messages: Sequence[Message], *, lasting: bool = False) -> asyncio.Future[None]:
        """Write down the turn as far as it came: all its messages, of which some may be there.

        If `lasting`, it is on the disk before something is done that cannot be undone.
        """
        so_far = tuple(messages)
        return self._worker.do(lambda database: self._keep(database, so_far, lasting=lasting))

    def save(
        self, messages: Sequence[Message], *, usage: Usage, model: str, reason: str
    ) -> asyncio.Future[None]:
        """Keep all that was said in the turn, and how it ended."""
        whole = tuple(messages)
        noted = partial(end, usage=usage, model=model, reason=reason)

        def job(database: SessionDatabase) -> None:
            self._keep(database, whole, lasting=True, end=noted)
            self._ticket.saved = True
            self._first = LAST  # from here on it is what was said before

        return self._worker.do(job)

    def discard(self) -> asyncio.Future[None]:
        """Take back what was kept of the turn: nothing came of it."""

        def work(connection: sqlite3.Connection, session: int) -> None:
            message_rows.discard(connection, session, self._ticket.id)
            self._written, self._first = 0, LAST

        return self._write(work)

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

    def compact(self, summary: str, up_to: int) -> asyncio.Future[None]:
        """Let a summary stand in history for the messages up to and with `up_to`."""
        return self._write(compact, summary, min(up_to, self._first - 1))

    def reset(self) -> asyncio.Future[int]:
        """Leave everything behind that was said; gives how many messages that is."""
        return self._write(reset)

    async def choose_model(self, model: str) -> None:
        """Let another model answer in this session from now on; `""` for the usual one."""
        await self._write(choose_model, model)
        self._ticket.model = model

    def _read(
        self,
        work: Callable[Concatenate[sqlite3.Connection, int, P], T],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> asyncio.Future[T]:
        def in_session(connection: sqlite3.Connection) -> T:
            session = turn_queue.session_of(connection, self._ticket)
            return work(connection, session, *arguments, **options)

        return self._worker.read(in_session)

    def _write(
        self,
        work: Callable[Concatenate[sqlite3.Connection, int, P], T],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> asyncio.Future[T]:
        def job(database: SessionDatabase) -> T:
            def in_session(connection: sqlite3.Connection) -> T:
                self._renew(database, connection)
                return work(connection, self._ticket.session, *arguments, **options)

            return database.write(in_session)

        return self._worker.do(job)


MOST_IMAGE_BYTES = 20 << 20
"""Pictures in one prompt; of older ones only the name is given."""

_Found = tuple[int, float, str]
"""The number of a message, when it was saved, and its role."""


def end(
    connection: sqlite3.Connection, ticket: TurnTicket, *, usage: Usage, model: str, reason: str
) -> None:
    """Note how a turn ended, who answered, and what it cost."""
    connection.execute(
        "UPDATE turns SET reason = ?, model = ?, input = input + ?, output = output + ?,"
        " cached = cached + ? WHERE id = ?",
        (reason, model, usage.input, usage.output, usage.cached, ticket.id),
    )
    connection.execute(
        "UPDATE sessions SET updated = ?, last_model = coalesce(nullif(?, ''), last_model)"
        " WHERE id = ?",
        (time.time(), model, ticket.session),
    )


def history(
    connection: sqlite3.Connection,
    session: int,
    budget: int,
    known: MessageCache | None = None,
    *,
    before: int = LAST,
) -> SessionHistory:
    """The newest messages that fit, oldest first. Reads no more of the session than that.

    Those from `before` on belong to the turn that goes on. One that is larger than half of the
    budget would push out everything else: it is given in short.
    """
    summary, floor = _covered(connection, session)
    large, small = budget // 2, max(1, budget // 8)
    found: list[_Found] = []
    gap = False
    cursor = connection.execute(
        "SELECT id, created, role, tokens FROM messages WHERE session = ? AND id > ? AND id < ?"
        " ORDER BY id DESC",
        (session, floor, before),
    )
    for id_, created, role, tokens in cursor:
        budget -= small if tokens > large else tokens
        gap = budget < 0
        if gap:
            break
        found.append((id_, created, role))
    cursor.close()
    if gap:
        _begin_well(found)
    whole = _read(connection, session, found, MessageCache() if known is None else known)
    messages = tuple(_in_short(one, small) if one.tokens > large else one for one in whole)
    first = not found and not _anything(connection, session, before)
    return SessionHistory(summary, messages, first, whole=not gap and not summary, gap=gap)


def _in_short(one: Saved, room: int) -> Saved:
    message = cut_down(one.message, room)
    return replace(one, message=message, tokens=message_tokens(message))


def message_ranges(
    connection: sqlite3.Connection, session: int, up_to: int, size: int
) -> tuple[MessageRange, ...]:
    """What no summary covers up to a message, oldest first, in pieces of about `size` tokens.

    A message counts as `size` at most.
    """
    found: list[MessageRange] = []
    rows = connection.execute(
        "SELECT id, role, min(tokens, ?) FROM messages WHERE session = ? AND id > ? AND id <= ?"
        " ORDER BY id",
        (size, session, _covered(connection, session)[1], up_to),
    )
    for id_, role, tokens in rows:
        if not found or (role == "user" and found[-1].tokens + tokens > size):
            found.append(MessageRange(id_, id_, tokens))
        else:
            last = found[-1]
            found[-1] = MessageRange(last.first, id_, last.tokens + tokens)
    return tuple(found)


def read(connection: sqlite3.Connection, session: int, span: MessageRange) -> tuple[Saved, ...]:
    """The messages of a range, whole, with the names of their pictures."""
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM messages WHERE session = ? AND id BETWEEN ? AND ? ORDER BY id",
        (session, span.first, span.last),
    )
    return tuple(saved(row, named) for row in rows)


def _covered(connection: sqlite3.Connection, session: int) -> tuple[str, int]:
    """The summary, and the last message that it stands for."""
    row = connection.execute("SELECT summary, floor FROM sessions WHERE id = ?", (session,))
    return row.fetchone() or ("", 0)


def _read(
    connection: sqlite3.Connection, session: int, newest_first: list[_Found], known: MessageCache
) -> tuple[Saved, ...]:
    """The messages, of which those that were read before are known already."""
    there = {
        id_: one
        for id_, created, _ in newest_first
        if (one := known.get((id_, created))) is not None
    }
    missing = [id_ for id_, _, _ in newest_first if id_ not in there]
    if missing:
        within = _Pictures(connection)
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM messages WHERE session = ? AND id BETWEEN ? AND ?"
            " ORDER BY id DESC",
            (session, missing[-1], missing[0]),
        )
        for row in rows:
            one = saved(row, within.show)
            there[one.id] = one
            # Pictures are read each time: how many there may be depends on the newer ones.
            if not any(pictures(one.message)):
                known.add(one)
    return tuple([there[id_] for id_, _, _ in reversed(newest_first)])


def _begin_well(found: list[_Found]) -> None:
    """Drop the oldest up to where somebody asks: no outcome may stand without its call."""
    roles = [role for _, _, role in found]
    starts = [at for at, role in enumerate(roles) if role == "user"] or [
        at for at, role in enumerate(roles) if role != "tool"
    ]
    del found[starts[-1] + 1 if starts else 0 :]


class _Pictures:
    """Gives pictures back, the newest first, until there are too many bytes for one prompt."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._left = MOST_IMAGE_BYTES

    def show(self, image: StoredImage) -> Text | Image:
        if image.size > self._left:
            return named(image)
        data = image_data(self._connection, image)
        if data is None:
            return named(image)
        self._left -= image.size
        return Image(data, image.mime_type, image.name)


def search(
    connection: sqlite3.Connection, session: int, text: str, limit: int, outside: int | None
) -> tuple[Saved, ...]:
    """The messages that have most to do with a text, the best first, pictures by name only."""
    where = message_rows.place(session, _epoch(connection, session))
    found: list[Saved] = []
    for message in message_rows.best(connection, where, text, limit, outside):
        row = connection.execute(
            f"SELECT {COLUMNS} FROM messages WHERE id = ? AND session = ?", (message, session)
        ).fetchone()
        if row is not None:
            found.append(saved(row, named))
    return tuple(found)


def compact(connection: sqlite3.Connection, session: int, summary: str, up_to: int) -> None:
    """Let a summary stand for the messages up to one; those that are still to come stay."""
    connection.execute(
        "UPDATE sessions SET summary = ?, floor = max(floor,"
        " min(?, coalesce((SELECT max(id) FROM messages WHERE session = ?), 0))) WHERE id = ?",
        (summary, up_to, session, session),
    )


def reset(connection: sqlite3.Connection, session: int) -> int:
    """Begin anew. Gives how many messages are left behind."""
    left: int = connection.execute(
        "SELECT count(*) FROM messages WHERE session = ? AND epoch = ?",
        (session, _epoch(connection, session)),
    ).fetchone()[0]
    connection.execute(
        "UPDATE sessions SET epoch = epoch + 1, summary = '', title = '',"
        " floor = coalesce((SELECT max(id) FROM messages WHERE session = ?), 0) WHERE id = ?",
        (session, session),
    )
    return left


def choose_model(connection: sqlite3.Connection, session: int, model: str) -> None:
    connection.execute("UPDATE sessions SET chosen_model = ? WHERE id = ?", (model, session))


def _epoch(connection: sqlite3.Connection, session: int) -> int:
    row = connection.execute("SELECT epoch FROM sessions WHERE id = ?", (session,)).fetchone()
    return 0 if row is None else row[0]


def _anything(connection: sqlite3.Connection, session: int, before: int) -> bool:
    row = connection.execute(
        "SELECT 1 FROM messages WHERE session = ? AND id < ? LIMIT 1", (session, before)
    )
    return row.fetchone() is not None
