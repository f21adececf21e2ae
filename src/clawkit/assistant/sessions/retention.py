"""Deletes sessions that were not named and not used for a while, and old tasks."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from functools import partial

from clawkit.assistant.sessions.database import SessionDatabase
from clawkit.assistant.sessions.queries import forget
from clawkit.assistant.sessions.turn_queue import clear_all_dead

DAYS = 30
_DAY = 86_400.0
_PAGES = 200
_AT_ONCE = 20
_NOTE = "pruned"


def prune_if_due(database: SessionDatabase, now: float | None = None) -> Iterator[int]:
    """Prune in small steps, unless any process has done so within a day.

    It is noted at the end: what a process that ended too soon has left, the next one goes on with.
    """
    now = time.time() if now is None else now
    if database.read(lambda connection: _is_due(connection, now)):
        yield from prune_in_steps(database, DAYS, now)
        database.write(lambda connection: _note(connection, now))


def prune(database: SessionDatabase, days: float = DAYS, now: float | None = None) -> int:
    """Delete what is idle for so many days; gives how many sessions went."""
    return sum(prune_in_steps(database, days, time.time() if now is None else now))


def prune_in_steps(database: SessionDatabase, days: float, now: float) -> Iterator[int]:
    """The same a few sessions at a time, so that everyone else gets the store in between."""
    clear_all_dead(database)
    database.write(
        lambda connection: connection.execute("DELETE FROM tasks WHERE expires < ?", (now,))
    )
    some = partial(_delete_idle, before=now - days * _DAY)
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
    row = connection.execute("SELECT value FROM notes WHERE name = ?", (_NOTE,)).fetchone()
    return row is None or not 0 <= now - row[0] < _DAY


def _note(connection: sqlite3.Connection, now: float) -> None:
    connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (_NOTE, now))


def _delete_idle(connection: sqlite3.Connection, before: float) -> int:
    rows = connection.execute(
        "SELECT id FROM sessions WHERE NOT named AND updated < ? AND NOT EXISTS"
        " (SELECT 1 FROM turns WHERE session = sessions.id AND owner IS NOT NULL) LIMIT ?",
        (before, _AT_ONCE),
    ).fetchall()
    for (id_,) in rows:
        forget(connection, id_)
    return len(rows)
