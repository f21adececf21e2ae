"""The queue of turns across processes: a database row for each turn, numbered as they came; and who
waits for one in this process.

A turn runs when no earlier one of its session is open. Those of dead processes are not: whoever
meets one clears it away. No number is given twice, so nobody can slip in before a turn that runs.

A process is alive while it holds the lock on a file of its own, which the kernel releases when the
process dies, however it dies. A name is never used twice, so a file that nobody holds can be
removed by anyone.

Who waits for a turn is woken by those of this process, and polls for those of others.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import sqlite3
import sys
import threading
import time
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from clawkit.assistant.sessions import message_rows
from clawkit.assistant.sessions.database import SessionDatabase, explained_os
from clawkit.errors import SessionError
from clawkit.system.files import make_private
from clawkit.system.locks import try_lock

LOST = "lost"
LONGEST_KEY = 512

# The file may be another by now, where the numbers are those of others.
_MINE = "id = ? AND owner = ? AND session = (SELECT id FROM sessions WHERE key = ?)"


def new_session_key(origin: str) -> str:
    """A key that nobody else has: `{origin}-{timestamp}-{random}`."""
    return f"{origin}-{int(time.time() * 1000)}-{secrets.token_hex(8)}"


def check_key(key: str) -> None:
    """Raise SessionError if a session cannot have this key. The error does not show it."""
    if not 1 <= len(key) <= LONGEST_KEY:
        raise SessionError(
            f"the session key has {len(key)} characters: choose one with 1 to {LONGEST_KEY}"
        ).of_usage()
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in key):
        problem = "the session key contains a control character: choose one without"
        raise SessionError(problem).of_usage()


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


def take(
    database: SessionDatabase, ticket: TurnTicket, wake_up: WakeUp | None = None
) -> QueuePosition:
    """Get in line, to be woken; the session is made if there is none."""
    owner = owner_here(database.file)

    def work(connection: sqlite3.Connection) -> QueuePosition:
        enter(connection, ticket, owner)
        return _standing(connection, ticket, owner)

    position = database.write(work)
    if not position.ahead or wake_up is None:
        return position
    with _lock:
        _waiting.setdefault((database.file, ticket.key), {})[ticket.id] = wake_up
    return look(database, ticket)  # the one ahead may have left before


def look(database: SessionDatabase, ticket: TurnTicket) -> QueuePosition:
    """A ticket's position in the queue, after those of dead processes are removed."""
    owner = owner_here(database.file)
    directory = directory_for(database.file)
    names = database.read(lambda found: {name for _, name in _open_until(found, ticket)})
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
    mine = (ticket.id, owner_here(database.file), ticket.key)

    def work(connection: sqlite3.Connection) -> None:
        if connection.execute(f"SELECT 1 FROM turns WHERE {_MINE}", mine).fetchone() is not None:
            ran = ticket.running and bool(reason)
            _finish(connection, ticket.id, reason or LOST, saved=ticket.saved, ran=ran)

    if ticket.id:
        database.write(work)
    remove_waiter(database.file, ticket)
    _wake_next(database.file, ticket.key)


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
            # With a reason it was saved, and died before it could leave.
            _finish(connection, id_, LOST, saved=bool(reason), ran=bool(ran))


def _finish(
    connection: sqlite3.Connection, turn: int, reason: str, *, saved: bool, ran: bool
) -> None:
    """Close a turn with this reason, unless it has one; one without a trace is deleted."""
    if not saved and not message_rows.close(connection, turn) and not ran:
        connection.execute("DELETE FROM turns WHERE id = ?", (turn,))
        return
    connection.execute(
        "UPDATE turns SET owner = NULL, ended = ?, reason = coalesce(nullif(?, ''), reason)"
        " WHERE id = ?",
        (time.time(), "" if saved else reason, turn),
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


_LOCK = ".lock"
_held: dict[Path, tuple[str, int]] = {}
_entering = threading.Lock()


def directory_for(file: Path) -> Path:
    """Where the processes that use a store have their locks."""
    return file.parent / "owners"


def this_process(directory: Path) -> str:
    """The name of this process, alive from now on until it ends."""
    with _entering:
        if directory not in _held or not _lock_file(directory, _held[directory][0]).exists():
            _let_go(directory)
            make_private(directory)
            sweep(directory)
            _held[directory] = _new_name(directory)
        return _held[directory][0]


def is_alive(directory: Path, owner: str) -> bool:
    """Whether the process of this name still runs. The file of a dead one is removed."""
    held = _held.get(directory)
    if held is not None and held[0] == owner:
        return True
    file = _lock_file(directory, owner)
    try:
        fd = os.open(file, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # it cannot be known: rather wait than work in the middle of another's turn
    try:
        dead = try_lock(fd)
        if dead and sys.platform != "win32":
            # Under the lock: one who has made the file and not locked it yet finds it gone.
            file.unlink(missing_ok=True)
    finally:
        os.close(fd)
    if dead and sys.platform == "win32":
        with suppress(OSError):  # no file can be removed there that another process has open
            file.unlink()
    return not dead


def sweep(directory: Path) -> int:
    """Remove the files of the dead; gives how many there were."""
    names = [file.stem for file in directory.glob(f"*{_LOCK}")]
    return sum(not is_alive(directory, name) for name in names)


def _lock_file(directory: Path, owner: str) -> Path:
    return directory / f"{owner}{_LOCK}"


def _new_name(directory: Path) -> tuple[str, int]:
    while True:
        owner = secrets.token_hex(12)
        fd = os.open(_lock_file(directory, owner), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if try_lock(fd) and _lock_file(directory, owner).exists():
            return owner, fd
        os.close(fd)  # a sweep came between making and locking it


def _let_go(directory: Path) -> None:
    owner, fd = _held.pop(directory, ("", -1))
    if fd == -1:
        return
    os.close(fd)
    with suppress(OSError):
        _lock_file(directory, owner).unlink()


def _leave() -> None:
    with _entering:
        for directory in list(_held):
            _let_go(directory)


def _forget() -> None:
    """A forked child shares its parent's locks, and must neither keep them nor give them up."""
    global _entering  # noqa: PLW0603 - another thread of the parent may have held it
    _entering = threading.Lock()
    for _, fd in _held.values():
        os.close(fd)
    _held.clear()


atexit.register(_leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


_waiting: dict[tuple[Path, str], dict[int, WakeUp]] = {}
"""Of each session in a store: the tickets that wait."""
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


def remove_waiter(file: Path, ticket: TurnTicket) -> None:
    with _lock:
        waiters = _waiting.get((file, ticket.key), {})
        waiters.pop(ticket.id, None)
        if not waiters:
            _waiting.pop((file, ticket.key), None)


def is_next(file: Path, ticket: TurnTicket) -> bool:
    """Whether nobody else of this process waits before this one."""
    with _lock:
        return ticket.id == min(_waiting.get((file, ticket.key), {ticket.id: None}))


def _wake_next(file: Path, key: str) -> None:
    with _lock:
        waiters = _waiting.get((file, key))
        if waiters:
            waiters[min(waiters)].wake()
