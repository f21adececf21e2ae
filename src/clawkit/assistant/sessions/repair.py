"""Moves a damaged database aside and rebuilds it with all that can be read. Deletes nothing."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from clawkit.assistant.sessions import message_rows
from clawkit.assistant.sessions.database import SessionDatabase, companions, explained, explained_os
from clawkit.errors import StoreError
from clawkit.models.protocol import Message, Text
from clawkit.store.salvage import Salvaged, drop_orphans, salvage

_MARK = ".damaged-"

# Where SQLite locks a file that is open as a database, on every system that has `fcntl`.
_LOCKED_AT = 0x40000002
_LOCKED_BYTES = 510


def left_aside(file: Path) -> Path | None:
    """The damaged store that was set aside last, where nothing has taken its place."""
    if os.path.lexists(file):
        return None
    try:
        found = [one for one in file.parent.iterdir() if _is_aside(one, file)]
    except OSError:
        return None
    return max(found, default=None)


def left_problem(file: Path) -> str:
    """What is to be said where only a damaged store is left."""
    aside = left_aside(file)
    return f"{file}: it is not there; {aside}, set aside, was not saved into a new one" * bool(
        aside
    )


def _is_aside(one: Path, file: Path) -> bool:
    return one.name.startswith(f"{file.name}{_MARK}") and not one.name.endswith(("-wal", "-shm"))


def take_back_journal(file: Path) -> None:
    """Undo what a process did that died after it moved the journal, and before the store."""
    journal, _ = companions(file)
    if journal.exists() or not file.exists():
        return
    for moved in sorted(file.parent.glob(f"{file.name}{_MARK}*-wal")):
        if not moved.with_name(moved.name.removesuffix("-wal")).exists():
            moved.rename(journal)
            return


def contents(file: Path) -> tuple[tuple[int, int], ...]:
    """What changes when somebody writes to a store or its journal."""
    every = (one for one in (file, companions(file)[0]) if one.exists())
    return tuple((found.st_size, found.st_mtime_ns) for found in (one.stat() for one in every))


def set_aside(file: Path, known: tuple[tuple[int, int], ...] | None = None) -> Path:
    """Move a damaged store and its journal beside itself; gives its new name.

    Raises StoreError while another process has it open: that one would, when it closes, delete
    the journal of whatever file has taken its place. So it does if its `contents` are no longer
    those that are `known`.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    target, number = file.with_name(f"{file.name}{_MARK}{stamp}"), 1
    while target.exists():
        number += 1
        target = file.with_name(f"{file.name}{_MARK}{stamp}-{number}")
    # The journal first: beside a new file, it would be taken for that one's and emptied.
    pairs = zip((*companions(file), file), (*companions(target), target), strict=True)
    try:
        with _alone(file):
            if known is not None and contents(file) != known:
                raise BlockingIOError
            for old, new in pairs:
                if old == file or old.exists():
                    old.rename(new)
    except BlockingIOError:
        raise StoreError(
            f"{file}: a running program has the store open: end the MCP clients, servers and "
            "chats that use it, then set it aside"
        ) from None
    except OSError as error:
        raise explained_os(file, error) from error
    return target


if sys.platform == "win32":

    @contextmanager
    def _alone(file: Path) -> Generator[None]:
        """Windows moves no file that anyone has open."""
        if not file.exists():
            raise FileNotFoundError(2, os.strerror(2), str(file))
        yield

else:
    import fcntl

    @contextmanager
    def _alone(file: Path) -> Generator[None]:
        """Hold the lock that every process with an open database shares."""
        fd = os.open(file, os.O_RDWR)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCKED_BYTES, _LOCKED_AT)
            yield
        finally:
            os.close(fd)


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
    database = SessionDatabase(file)
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
            shown = message_rows.shown(message_rows.decode_parts(parts), lambda _: Text(""))
            words = message_rows.encode(Message(role, shown)).words
        except (msgspec.DecodeError, TypeError, ValueError):
            connection.execute("DELETE FROM messages WHERE id = ?", (id_,))
            continue
        message_rows.index(connection, id_, message_rows.place(session, epoch), words)
