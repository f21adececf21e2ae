"""Whole sessions as rows: what they are, pages of them, what they cost, their end and pruning."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from msgspec import Struct

from clawkit.assistant.sessions.database import SessionDatabase
from clawkit.assistant.sessions.message_rows import (
    StoredFile,
    StoredImage,
    StoredOutcome,
    StoredPart,
    decode_parts,
)
from clawkit.assistant.sessions.records import SessionInfo
from clawkit.assistant.sessions.turn_queue import clear_all_dead
from clawkit.models.protocol import Usage

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


def forget(connection: sqlite3.Connection, session: int) -> None:
    """Delete a session with everything in it."""
    connection.execute(
        "DELETE FROM said WHERE rowid IN (SELECT id FROM messages WHERE session = ?)", (session,)
    )
    connection.execute(
        "DELETE FROM tasks WHERE session = (SELECT key FROM sessions WHERE id = ?)", (session,)
    )
    connection.execute("DELETE FROM sessions WHERE id = ?", (session,))


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
