"""What goes by itself: sessions that nobody named and nobody used for a while, old tasks."""

from __future__ import annotations

import sqlite3
import time

from clawkit.assistant.sessions.conversation import forget
from clawkit.assistant.sessions.database import Database
from clawkit.assistant.sessions.tickets import clear_all_dead

DAYS = 30
_DAY = 86_400.0
_PAGES = 1000
_NOTE = "pruned"


def prune_if_due(database: Database, now: float | None = None) -> int:
    """Prune, unless any process has done so within a day."""
    now = time.time() if now is None else now
    if not database.read(lambda connection: _is_due(connection, now)):
        return 0
    if not database.write(lambda connection: _claim(connection, now)):
        return 0
    return prune(database, DAYS, now)


def prune(database: Database, days: float = DAYS, now: float | None = None) -> int:
    """Delete what is idle for so many days, one session at a time; gives how many went."""
    now = time.time() if now is None else now
    clear_all_dead(database)
    database.write(
        lambda connection: connection.execute("DELETE FROM tasks WHERE expires < ?", (now,))
    )
    gone = 0
    while database.write(lambda connection: _delete_idle(connection, now - days * _DAY)):
        gone += 1
    give_back_space(database)
    return gone


def give_back_space(database: Database) -> None:
    """Return the pages of what was deleted to the disk, a few at a time."""

    def work(connection: sqlite3.Connection) -> int:
        connection.execute(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()
        return connection.execute("PRAGMA freelist_count").fetchone()[0]

    before, left = -1, database.plainly(work)
    while left and left != before:
        before, left = left, database.plainly(work)


def _is_due(connection: sqlite3.Connection, now: float) -> bool:
    row = connection.execute("SELECT value FROM notes WHERE name = ?", (_NOTE,)).fetchone()
    return row is None or not 0 <= now - row[0] < _DAY


def _claim(connection: sqlite3.Connection, now: float) -> bool:
    if not _is_due(connection, now):
        return False
    connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (_NOTE, now))
    return True


def _delete_idle(connection: sqlite3.Connection, before: float) -> bool:
    row = connection.execute(
        "SELECT id FROM sessions WHERE NOT named AND updated < ? AND NOT EXISTS"
        " (SELECT 1 FROM turns WHERE session = sessions.id AND owner IS NOT NULL) LIMIT 1",
        (before,),
    ).fetchone()
    if row is None:
        return False
    forget(connection, row[0])
    return True
