"""The queue of turns across processes: a database row for each turn, numbered as they came.

A turn runs when no earlier one of its session is open. Those of dead processes are not: whoever
meets one clears it away. No number is given twice, so nobody can slip in before a turn that runs.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from clawkit.assistant.sessions import message_rows
from clawkit.assistant.sessions.database import SessionDatabase, explained_os
from clawkit.assistant.sessions.live_processes import directory_for, is_alive, this_process

LOST = "lost"

# The file may be another by now, where the numbers are those of others.
_MINE = "id = ? AND owner = ? AND session = (SELECT id FROM sessions WHERE key = ?)"


class TurnTicket(Struct, eq=False):
    """A place in the queue of one session. `id` is 0 while there is none."""

    key: str
    origin: str
    named: bool
    id: int = 0
    session: int = 0
    model: str = ""
    running: bool = False
    saved: bool = False

    def __repr__(self) -> str:
        return f"TurnTicket({self.id})"  # keys are secrets, and this may be in a traceback


class QueuePosition(Struct, frozen=True):
    """How many are before a ticket, and whether other processes hold any of them."""

    ahead: int
    others: bool
    missing: bool = False


def take(database: SessionDatabase, ticket: TurnTicket) -> QueuePosition:
    """Get in line; the session is made if there is none."""
    owner = owner_here(database.file)

    def work(connection: sqlite3.Connection) -> QueuePosition:
        enter(connection, ticket, owner)
        return _standing(connection, ticket, owner)

    return database.write(work)


def look(database: SessionDatabase, ticket: TurnTicket) -> QueuePosition:
    """Where a ticket stands now that those of dead processes are cleared away."""
    owner = owner_here(database.file)
    directory = directory_for(database.file)

    def owners_ahead(connection: sqlite3.Connection) -> set[str]:
        return {name for _, name in _open_until(connection, ticket)}

    names = database.read(owners_ahead)
    dead = [name for name in names if name != owner and not is_alive(directory, name)]
    if dead:
        database.write(lambda connection: clear(connection, dead))
    return database.read(lambda connection: _standing(connection, ticket, owner))


def enter(connection: sqlite3.Connection, ticket: TurnTicket, owner: str) -> None:
    now = time.time()
    connection.execute(
        "INSERT INTO sessions (key, origin, named, created, updated) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET"
        " named = named OR excluded.named, updated = excluded.updated",
        (ticket.key, ticket.origin, ticket.named, now, now),
    )
    ticket.session, ticket.model = connection.execute(
        "SELECT id, chosen_model FROM sessions WHERE key = ?", (ticket.key,)
    ).fetchone()
    added = connection.execute(
        "INSERT INTO turns (session, owner, began) VALUES (?, ?, ?)", (ticket.session, owner, now)
    )
    ticket.id = added.lastrowid or 0


def renew(database: SessionDatabase, connection: sqlite3.Connection, ticket: TurnTicket) -> bool:
    """Whether the ticket is still there; else the session was deleted in the middle of its turn,
    or the file, and it gets another one.
    """
    owner = owner_here(database.file)
    mine = (ticket.id, owner, ticket.key)
    found = connection.execute(f"SELECT session FROM turns WHERE {_MINE}", mine).fetchone()
    if found is None:
        enter(connection, ticket, owner)
    else:
        ticket.session = found[0]
    return found is not None


def session_of(connection: sqlite3.Connection, ticket: TurnTicket) -> int:
    """The session of the ticket's key, in whichever file; 0 if there is none."""
    row = connection.execute("SELECT id FROM sessions WHERE key = ?", (ticket.key,)).fetchone()
    return 0 if row is None else row[0]


def end(database: SessionDatabase, ticket: TurnTicket, reason: str) -> None:
    """Let the next one begin. The reason counts unless the turn was saved with one.

    A turn that never ran, or had no outcome of any kind, leaves no trace.
    """
    if not ticket.id:
        return
    mine = (ticket.id, owner_here(database.file), ticket.key)

    def work(connection: sqlite3.Connection) -> None:
        if connection.execute(f"SELECT 1 FROM turns WHERE {_MINE}", mine).fetchone() is None:
            return
        if ticket.saved:
            _close(connection, ticket.id)
        elif message_rows.close(connection, ticket.id) or (ticket.running and reason):
            _close(connection, ticket.id, reason or LOST)
        else:
            connection.execute("DELETE FROM turns WHERE id = ?", (ticket.id,))

    database.write(work)


def clear(connection: sqlite3.Connection, dead: Iterable[str]) -> None:
    """Take away the tickets of dead processes. What those which ran have written down stays, with
    a word that its end is lost.
    """
    for owner in dead:
        mine = connection.execute(
            "SELECT id, reason, NOT EXISTS (SELECT 1 FROM turns AS earlier WHERE"
            "  earlier.session = turns.session AND earlier.owner IS NOT NULL"
            "  AND earlier.id < turns.id)"
            " FROM turns WHERE owner = ?",
            (owner,),
        ).fetchall()
        for id_, reason, ran in mine:
            if reason:  # it was saved, and died before it could leave
                _close(connection, id_)
            elif message_rows.close(connection, id_) or ran:
                _close(connection, id_, LOST)
            else:
                connection.execute("DELETE FROM turns WHERE id = ?", (id_,))


def _close(connection: sqlite3.Connection, turn: int, reason: str = "") -> None:
    connection.execute(
        "UPDATE turns SET owner = NULL, ended = ?, reason = coalesce(nullif(?, ''), reason)"
        " WHERE id = ?",
        (time.time(), reason, turn),
    )


def clear_all_dead(database: SessionDatabase) -> None:
    """The same for every session."""
    directory = directory_for(database.file)

    def owners(connection: sqlite3.Connection) -> list[str]:
        rows = connection.execute("SELECT DISTINCT owner FROM turns WHERE owner IS NOT NULL")
        return [owner for (owner,) in rows]

    dead = [owner for owner in database.read(owners) if not is_alive(directory, owner)]
    if dead:
        database.write(lambda connection: clear(connection, dead))


def _open_until(connection: sqlite3.Connection, ticket: TurnTicket) -> list[tuple[int, str]]:
    return connection.execute(
        "SELECT id, owner FROM turns WHERE session = (SELECT id FROM sessions WHERE key = ?)"
        " AND owner IS NOT NULL AND id <= ? ORDER BY id",
        (ticket.key, ticket.id),
    ).fetchall()


def _standing(connection: sqlite3.Connection, ticket: TurnTicket, owner: str) -> QueuePosition:
    rows = _open_until(connection, ticket)
    if not rows or rows[-1] != (ticket.id, owner):
        return QueuePosition(0, others=False, missing=True)
    return QueuePosition(len(rows) - 1, any(name != owner for _, name in rows[:-1]))


def owner_here(file: Path) -> str:
    """The name of this process as an owner of turns and tasks in a store."""
    try:
        return this_process(directory_for(file))
    except OSError as error:
        raise explained_os(file, error) from error
