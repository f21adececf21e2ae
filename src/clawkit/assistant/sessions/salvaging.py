"""Replaces a damaged store of sessions by a new one with all that can still be read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
from msgspec import Struct

from clawkit.assistant.sessions import coding, searching
from clawkit.assistant.sessions.database import Database, companions
from clawkit.assistant.sessions.failures import explained, explained_os
from clawkit.assistant.sessions.setting_aside import (
    contents,
    left_aside,
    set_aside,
    take_back_journal,
)
from clawkit.memory.store.salvage import Salvaged, drop_orphans, salvage
from clawkit.models.protocol import Message, Text

_MADE_ANEW = """
INSERT OR IGNORE INTO sessions (id, key, origin, named, created, updated)
    SELECT session, 'salvaged-' || session, 'salvaged', 1, min(created), max(created)
    FROM messages GROUP BY session;
INSERT OR IGNORE INTO turns (id, session, began, ended, reason)
    SELECT turn, session, min(created), max(created), 'salvaged' FROM messages GROUP BY turn;
"""
"""What messages belong to, where only the messages could be read."""


class Replaced(Struct, frozen=True):
    """Where the damaged file is now, and what of it is in the new one."""

    aside: Path
    sessions: int
    messages: int
    lost: tuple[str, ...]
    """The tables of which something could not be read."""


def replace_damaged(file: Path) -> Replaced:
    """Set the file aside and put a new one in its place. Raises StoreError."""
    aside, saved = fill_anew(file, _make, _fill)
    counts = saved.rows
    return Replaced(
        aside, counts.get("sessions", 0), counts.get("messages", 0), tuple(sorted(saved.lost))
    )


def fill_anew(
    file: Path,
    make: Callable[[Path], None],
    fill: Callable[[Path, Path], Salvaged],
    thing: str = "the store of sessions",
) -> tuple[Path, Salvaged]:
    """A new store in the place of a damaged one; gives where that is now, and what was saved.

    The damaged one stays in its place until the new one is whole. Where a process died in between,
    or the place is empty for another reason, it is the one that was set aside which is read.
    Raises StoreError.
    """
    left = left_aside(file)
    damaged = left or file
    beside = file.with_name(f".{file.name}.salvage")
    every = (beside, *companions(beside))
    try:
        for part in every:
            part.unlink(missing_ok=True)
        take_back_journal(file)
        known = contents(file)
        make(beside)
        saved = fill(damaged, beside)
        aside = left or set_aside(file, known)
        os.link(beside, file)  # not over one that somebody has begun meanwhile
        return aside, saved
    except sqlite3.Error as error:
        raise explained(damaged, error, 0, thing=thing) from error
    except OSError as error:
        raise explained_os(file, error, thing=thing) from error
    finally:
        for part in every:
            part.unlink(missing_ok=True)


def _make(file: Path) -> None:
    database = Database(file)
    try:
        database.read(lambda _: None)
    finally:
        database.close()


def _fill(damaged: Path, file: Path) -> Salvaged:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        saved = salvage(damaged, connection)
        for statement in _MADE_ANEW.split(";"):
            connection.execute(statement)
        _index(connection)
        drop_orphans(connection)
        for table in ("sessions", "messages"):
            (saved.rows[table],) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return saved


def _index(connection: sqlite3.Connection) -> None:
    """Let what was said be found again; what no longer says anything is let go."""
    rows = connection.execute("SELECT id, session, epoch, role, parts FROM messages").fetchall()
    for id_, session, epoch, role, parts in rows:
        try:
            shown = coding.shown(coding.decode_parts(parts), lambda _: Text(""))
            words = coding.encode(Message(role, shown)).words
        except (msgspec.DecodeError, TypeError, ValueError):
            connection.execute("DELETE FROM messages WHERE id = ?", (id_,))
            continue
        searching.add(connection, id_, searching.place(session, epoch), words)
