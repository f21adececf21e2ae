"""SQL of sessions: list, history within a token budget, search, summary, reset, delete, prune."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from clawkit.assistant.compaction import cut_down
from clawkit.assistant.sessions import message_rows
from clawkit.assistant.sessions.database import SessionDatabase
from clawkit.assistant.sessions.message_rows import (
    Showing,
    StoredFile,
    StoredImage,
    StoredOutcome,
    StoredPart,
    decode_parts,
    shown,
)
from clawkit.assistant.sessions.records import (
    LAST,
    MessageCache,
    MessageRange,
    Saved,
    SessionHistory,
    SessionInfo,
)
from clawkit.assistant.sessions.turn_queue import TurnTicket, clear_all_dead
from clawkit.assistant.token_estimate import of_message
from clawkit.models.messages import pictures, shown_earlier
from clawkit.models.protocol import Image, Message, Text, Usage

IsAlive = Callable[[str], bool]

_QUERY = """
SELECT key, origin, named, created, updated,
    (SELECT count(*) FROM messages WHERE session = s.id AND epoch >= :since),
    (SELECT count(DISTINCT turn) FROM messages WHERE session = s.id AND epoch >= :since),
    CASE last_model WHEN '' THEN chosen_model ELSE last_model END,
    (SELECT group_concat(DISTINCT owner) FROM turns WHERE session = s.id AND owner IS NOT NULL),
    (SELECT reason FROM turns WHERE session = s.id AND ended IS NOT NULL
        ORDER BY id DESC LIMIT 1),
    title, epoch
FROM sessions AS s
"""


def describe(connection: sqlite3.Connection, session: int, is_alive: IsAlive) -> SessionInfo | None:
    """One session; its messages and turns are counted since it last began anew."""
    epoch = connection.execute("SELECT epoch FROM sessions WHERE id = ?", (session,)).fetchone()
    if epoch is None:
        return None
    values = {"session": session, "since": epoch[0]}
    row = connection.execute(f"{_QUERY} WHERE s.id = :session", values).fetchone()
    return _info(row, is_alive)


def find(connection: sqlite3.Connection, key: str, is_alive: IsAlive) -> SessionInfo | None:
    values = {"key": key, "since": 0}
    row = connection.execute(f"{_QUERY} WHERE key = :key", values).fetchone()
    return None if row is None else _info(row, is_alive)


def every(
    connection: sqlite3.Connection, is_alive: IsAlive, since: float = 0
) -> tuple[SessionInfo, ...]:
    """All sessions that were used since then, the last used first."""
    values = {"active": since, "since": 0}
    rows = connection.execute(
        f"{_QUERY} WHERE updated >= :active ORDER BY updated DESC, s.id DESC", values
    )
    return tuple(_info(row, is_alive) for row in rows)


def _info(row: tuple[Any, ...], is_alive: IsAlive) -> SessionInfo:
    key, origin, named, *counted, owners, reason, title, epoch = row
    running = any(is_alive(owner) for owner in str(owners or "").split(",") if owner)
    rest: tuple[Any, ...] = (*counted, running, reason or "", title, epoch)
    return SessionInfo(key, origin, bool(named), *rest)


MOST_IMAGE_BYTES = 20 << 20
"""Pictures in one prompt; of older ones only the name is given."""

COLUMNS = "id, turn, epoch, created, tokens, role, parts"
Row = tuple[int, int, int, float, int, Any, bytes]
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
    return replace(one, message=message, tokens=of_message(message))


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


def named(image: StoredImage) -> Text:
    return shown_earlier(image.name)


def image_data(connection: sqlite3.Connection, image: StoredImage | StoredFile) -> bytes | None:
    row = connection.execute("SELECT data FROM images WHERE digest = ?", (image.digest,)).fetchone()
    return None if row is None else row[0]


def saved(row: Row, showing: Showing) -> Saved:
    id_, turn, epoch, created, tokens, role, parts = row
    message = Message(role, shown(decode_parts(parts), showing))
    return Saved(id_, message, created, tokens, turn, epoch)


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


def forget(connection: sqlite3.Connection, session: int) -> None:
    """Delete a session with everything in it."""
    connection.execute(
        "DELETE FROM said WHERE rowid IN (SELECT id FROM messages WHERE session = ?)", (session,)
    )
    connection.execute(
        "DELETE FROM tasks WHERE session = (SELECT key FROM sessions WHERE id = ?)", (session,)
    )
    connection.execute("DELETE FROM sessions WHERE id = ?", (session,))


def _epoch(connection: sqlite3.Connection, session: int) -> int:
    row = connection.execute("SELECT epoch FROM sessions WHERE id = ?", (session,)).fetchone()
    return 0 if row is None else row[0]


def _anything(connection: sqlite3.Connection, session: int, before: int) -> bool:
    row = connection.execute(
        "SELECT 1 FROM messages WHERE session = ? AND id < ? LIMIT 1", (session, before)
    )
    return row.fetchone() is not None


class StoredMessage(Struct, frozen=True):
    """A message as it is stored, for a person to look at."""

    id: int
    turn: int
    epoch: int
    created: float
    role: str
    parts: tuple[StoredPart, ...]


class StoredTurn(Struct, frozen=True):
    """A turn: who answered, how it ended, and the tokens that the provider counted."""

    id: int
    began: float
    ended: float | None
    reason: str
    model: str
    usage: Usage


class SessionPage(Struct, frozen=True):
    """A part of a session, and what all of it took, by model."""

    info: SessionInfo
    summary: str
    messages: tuple[StoredMessage, ...]
    turns: tuple[StoredTurn, ...]
    usage: dict[str, Usage]
    more: bool


class StoredMedia(Struct, frozen=True):
    """A picture, or a file, with its bytes."""

    data: bytes
    mime_type: str
    name: str


def page(connection: sqlite3.Connection, info: SessionInfo, before: int, count: int) -> SessionPage:
    """Some messages of a session, oldest first, with the turns that they are of."""
    session, summary = connection.execute(
        "SELECT id, summary FROM sessions WHERE key = ?", (info.key,)
    ).fetchone()
    rows = connection.execute(
        "SELECT id, turn, epoch, created, role, parts FROM messages"
        " WHERE session = ? AND id < ? ORDER BY id DESC LIMIT ?",
        (session, before, count + 1),
    ).fetchall()
    messages = [
        StoredMessage(*row[:5], parts=decode_parts(row[5])) for row in reversed(rows[:count])
    ]
    numbers = sorted({message.turn for message in messages})
    marks = ", ".join("?" * len(numbers))
    turns = connection.execute(
        "SELECT id, began, ended, reason, model, input, output, cached FROM turns"
        f" WHERE id IN ({marks}) ORDER BY id",
        numbers,
    )
    return SessionPage(
        info,
        summary,
        tuple(messages),
        tuple(StoredTurn(*row[:5], usage=Usage(*row[5:])) for row in turns),
        usage(connection, info.key),
        len(rows) > count,
    )


def usage(connection: sqlite3.Connection, key: str) -> dict[str, Usage]:
    """The tokens of a session, by the model that answered."""
    rows = connection.execute(
        "SELECT turns.model, sum(input), sum(output), sum(cached) FROM turns, sessions"
        " WHERE turns.session = sessions.id AND key = ? GROUP BY turns.model"
        " HAVING sum(input) + sum(output) > 0 ORDER BY turns.model",
        (key,),
    )
    return {model: Usage(*counts) for model, *counts in rows}


def media(connection: sqlite3.Connection, key: str, digest: str) -> StoredMedia | None:
    """A picture or a file of a session; one of another session is none of it."""
    rows = connection.execute(
        "SELECT parts, data FROM messages, sessions, image_uses, images"
        " WHERE messages.session = sessions.id AND key = ? AND image_uses.message = messages.id"
        " AND image_uses.image = images.id AND digest = ? LIMIT 1",
        (key, digest),
    )
    for parts, data in rows:
        for one in _media_in(decode_parts(parts)):
            if one.digest == digest:
                return StoredMedia(data, one.mime_type, one.name)
    return None


def _media_in(parts: tuple[StoredPart, ...]) -> Iterator[StoredImage | StoredFile]:
    for part in parts:
        if isinstance(part, StoredImage | StoredFile):
            yield part
        elif isinstance(part, StoredOutcome):
            yield from (one for one in part.parts if isinstance(one, StoredImage))


DAYS = 30
_DAY = 86_400.0
_PAGES = 200
_AT_ONCE = 20
_PRUNED = "pruned"


def prune_if_due(database: SessionDatabase) -> Iterator[int]:
    """Prune in small steps, unless any process has done so within a day.

    It is noted at the end: what a process that ended too soon has left, the next one goes on with.
    """
    now = time.time()
    if database.read(lambda connection: _is_due(connection, now)):
        yield from prune_in_steps(database, now)
        note = "INSERT OR REPLACE INTO notes VALUES (?, ?)"
        database.write(lambda connection: connection.execute(note, (_PRUNED, now)))


def prune_in_steps(database: SessionDatabase, now: float) -> Iterator[int]:
    """Delete what is idle for 30 days, a few sessions at a time; gives how many went.

    Everyone else gets the store in between.
    """
    clear_all_dead(database)
    database.write(
        lambda connection: connection.execute("DELETE FROM tasks WHERE expires < ?", (now,))
    )
    some = partial(_delete_idle, before=now - DAYS * _DAY)
    while gone := database.write(some):
        yield gone
    for _ in _returned_pages(database):
        yield 0


def give_back_space(database: SessionDatabase) -> None:
    """Return the pages of what was deleted to the disk."""
    for _ in _returned_pages(database):
        pass


def _returned_pages(database: SessionDatabase) -> Iterator[int]:
    """How many are left, a few fewer each time."""

    def work(connection: sqlite3.Connection) -> int:
        connection.execute(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()
        return connection.execute("PRAGMA freelist_count").fetchone()[0]

    before, left = -1, database.plainly(work)
    while left and left != before:
        yield left
        before, left = left, database.plainly(work)


def _is_due(connection: sqlite3.Connection, now: float) -> bool:
    row = connection.execute("SELECT value FROM notes WHERE name = ?", (_PRUNED,)).fetchone()
    return row is None or not 0 <= now - row[0] < _DAY


def _delete_idle(connection: sqlite3.Connection, before: float) -> int:
    rows = connection.execute(
        "SELECT id FROM sessions WHERE NOT named AND updated < ? AND NOT EXISTS"
        " (SELECT 1 FROM turns WHERE session = sessions.id AND owner IS NOT NULL) LIMIT ?",
        (before, _AT_ONCE),
    ).fetchall()
    for (id_,) in rows:
        forget(connection, id_)
    return len(rows)
