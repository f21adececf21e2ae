"""The embedded driver: one SQLite file, many threads and processes.

Readers see a moment of the write-ahead log and wait for nobody. Writers queue in this process and
then for the file. A transaction is on the disk when it has ended: a killed process loses nothing
that was answered, and nothing is ever half there.
"""

from __future__ import annotations

import enum
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from clawkit.errors import StoreError
from clawkit.store.database import Connection, Unit, no_being
from clawkit.store.schema import SQLITE_STEPS
from clawkit.store.sqlite_failures import explained, explained_os, foreign, gone, too_new
from clawkit.store.sqlite_failures import is_busy as is_busy
from clawkit.store.sqlite_vectors import SqliteVectors
from clawkit.system.files import keep_private, make_private
from clawkit.system.locks import try_lock


def take_lock(file: Path) -> int | None:
    """The lock of this name, as an open file; None if somebody else has it."""
    while True:
        fd = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        if not try_lock(fd):
            os.close(fd)
            return None
        if _is(fd, file):
            return fd
        os.close(fd)  # its last holder took the file away just before


def give_lock_back(file: Path, fd: int) -> None:
    with suppress(OSError):  # some systems keep files that are open
        file.unlink()
    os.close(fd)


def _is(fd: int, file: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(fd), file.stat())
    return False


THING = "the store of memories"
PATIENCE = 20.0
"""For how many seconds another process may hold the store before that is an error."""

_MOMENT = 0.5
"""The same where only counters would be written."""

APPLICATION = int.from_bytes(b"Bein", "big")
_AGAIN = 0.005
_SPARE = 8
_CACHE_KIB = 64 * 1024
_LEAST_SPACE = 64 * 1024


class _Use(enum.Enum):
    """What a connection is for: how its transactions begin, and what it is told beforehand."""

    READING = ("BEGIN", "query_only = ON")
    WRITING = ("BEGIN IMMEDIATE", "query_only = OFF", "synchronous = FULL")
    COUNTING = ("BEGIN IMMEDIATE", "query_only = OFF", "synchronous = NORMAL")


class SqliteConnection(Connection):
    """A connection as `Unit` wants it; a writer is alone in here, so all is unclaimed."""

    raw: sqlite3.Connection

    def __init__(self, raw: sqlite3.Connection, place: tuple[int, int]) -> None:
        self.raw = raw
        self.place = place
        self.use: _Use | None = None


class SqliteDatabase:
    """All Beings in one file."""

    def __init__(self, file: Path, *, patience: float = PATIENCE) -> None:
        self.file = file
        self._patience = patience
        self._spare: list[SqliteConnection] = []
        self._guard = threading.Lock()
        self._writing = threading.Lock()
        self._closed = False
        self._make()
        with self._connected():
            pass

    @property
    def address(self) -> str:
        return f"sqlite:{self.file}"

    @contextmanager
    def registry(self, *, write: bool = False) -> Generator[SqliteConnection]:
        with self._transaction(_Use.WRITING if write else _Use.READING) as connection:
            yield connection

    @contextmanager
    def read(self, being: int) -> Generator[Unit]:
        with self._transaction(_Use.READING) as connection:
            yield Unit(connection, being, SqliteVectors)

    @contextmanager
    def write(self, being: int) -> Generator[Unit]:
        with self._transaction(_Use.WRITING) as connection:
            if not connection.rows("SELECT n FROM beings WHERE n = ?", (being,)):
                raise no_being(being)
            yield Unit(connection, being, SqliteVectors)

    @contextmanager
    def write_counters(self, being: int) -> Generator[Unit]:
        with self._transaction(_Use.COUNTING) as connection:
            yield Unit(connection, being, SqliteVectors)

    @contextmanager
    def patrolling(self, being: int) -> Generator[bool]:
        file = self.file.with_name(f"{self.file.name}-patrol-{being}")
        try:
            held = take_lock(file)
        except OSError as error:
            raise explained_os(file, error, THING) from error
        try:
            yield held is not None
        finally:
            if held is not None:
                give_lock_back(file, held)

    def probe(self) -> None:
        with self._transaction(_Use.COUNTING) as connection:
            (version,) = connection.rows("PRAGMA user_version")[0]
            connection.run(f"PRAGMA user_version = {version}")
        # Space that the log of writes has already may do for this, and for little more.
        if shutil.disk_usage(self.file.parent).free < _LEAST_SPACE:
            raise StoreError(
                f"{self.file}: {THING}: its disk is full: free space on it", "its disk is full"
            )

    def grow(self) -> None:
        """A file needs nothing built."""

    def scrub(self) -> str:
        """Write the file anew without what was deleted, and empty the write-ahead log."""
        with self._turn_to_write(self._patience), self._connected() as connection:
            self._tell(connection, _Use.WRITING)
            connection.raw.execute("VACUUM")
            busy, *_ = connection.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        log = f"{self.file}-wal"
        return f"another process is reading, so {log} has some of it until it is done" * busy

    def close(self) -> None:
        with self._guard:
            self._closed = True
            spare, self._spare = self._spare, []
        for connection in spare:
            connection.raw.close()

    @contextmanager
    def _transaction(self, use: _Use) -> Generator[SqliteConnection]:
        turn = nullcontext() if use is _Use.READING else self._turn_to_write(self._waits(use))
        with turn, self._connected() as connection:
            raw = connection.raw
            self._begin(connection, use)
            try:
                yield connection
                raw.execute("COMMIT")
            finally:
                if raw.in_transaction:
                    with suppress(sqlite3.Error):  # what went wrong first is what is told
                        raw.execute("ROLLBACK")

    def _begin(self, connection: SqliteConnection, use: _Use) -> None:
        """Only the beginning waits for others, so nothing is ever done twice."""
        self._tell(connection, use)
        until = time.monotonic() + self._waits(use)
        while True:
            try:
                connection.raw.execute(use.value[0])
                return
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() >= until:
                    raise
                time.sleep(_AGAIN)

    def _tell(self, connection: SqliteConnection, use: _Use) -> None:
        """Tell a connection what it is for, if that was something else.

        One for each use would have to read again what another of them has written.
        """
        if connection.use is not use:
            for setting in (*use.value[1:], f"busy_timeout = {int(self._waits(use) * 1000)}"):
                connection.raw.execute(f"PRAGMA {setting}")
            connection.use = use

    def _waits(self, use: _Use) -> float:
        """How many seconds to wait for another writer."""
        return _MOMENT if use is _Use.COUNTING else self._patience

    @contextmanager
    def _turn_to_write(self, patience: float) -> Generator[None]:
        if not self._writing.acquire(timeout=patience):
            raise StoreError(f"{self.file}: {THING} was busy for {patience:g} s: try again")
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def _connected(self) -> Generator[SqliteConnection]:
        """A connection that nobody else uses; one that failed is not used again."""
        connection: SqliteConnection | None = None
        try:
            connection = self._taken()
            yield connection
        except sqlite3.Error as error:
            if connection is not None:
                connection.raw.close()
                connection = None
            raise explained(self.file, error, self._patience, THING) from error
        finally:
            if connection is not None:
                self._give_back(connection)

    def _taken(self) -> SqliteConnection:
        """A spare connection, or a new one; none to a file that is in this place no more."""
        try:
            place = self._place()
            while True:
                with self._guard:
                    connection = self._spare.pop() if self._spare else None
                if connection is None:
                    return self._opened(place)
                if connection.place == place:
                    return connection
                connection.raw.close()
        except FileNotFoundError:
            raise gone(self.file, THING) from None
        except OSError as error:
            raise explained_os(self.file, error, THING) from error

    def _place(self) -> tuple[int, int]:
        """Which file it is, whatever its name."""
        found = self.file.stat()
        return found.st_dev, found.st_ino

    def _give_back(self, connection: SqliteConnection) -> None:
        with self._guard:
            if not self._closed and len(self._spare) < _SPARE:
                self._spare.append(connection)
                return
        connection.raw.close()

    def _make(self) -> None:
        """Make the file if there is none; only here, so that one that is lost stays missed."""
        try:
            make_private(self.file.parent)
            with suppress(FileExistsError):
                os.close(os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            raise explained_os(self.file, error, THING) from error

    def _opened(self, place: tuple[int, int]) -> SqliteConnection:
        """A new connection, also while a restore puts another file into this place."""
        until = time.monotonic() + self._patience
        while True:
            try:
                return self._open(place)
            except sqlite3.OperationalError as error:
                moved = error.sqlite_errorcode == sqlite3.SQLITE_READONLY_DBMOVED
                if not moved or time.monotonic() >= until:
                    raise
                time.sleep(_AGAIN)
                place = self._place()

    def _open(self, place: tuple[int, int]) -> SqliteConnection:
        raw = sqlite3.connect(
            self.file, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        try:
            self._set_up(raw)
        except BaseException:
            raw.close()
            raise
        return SqliteConnection(raw, place)

    def _set_up(self, raw: sqlite3.Connection) -> None:
        (application,) = raw.execute("PRAGMA application_id").fetchone()
        (version,) = raw.execute("PRAGMA user_version").fetchone()
        (tables,) = raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and application != APPLICATION:
            raise foreign(self.file, "a store of memories")
        if version > len(SQLITE_STEPS):
            raise too_new(self.file, version, len(SQLITE_STEPS), THING)
        keep_private(self.file)
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute("PRAGMA secure_delete = FAST")  # what is deleted is overwritten
        raw.create_function("folded", 1, str.lower, deterministic=True)
        raw.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        if version < len(SQLITE_STEPS):
            _migrate(raw)


def sound_store() -> sqlite3.Connection:
    """An empty store in memory, with every table that there should be."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _migrate(connection)
    return connection


def _migrate(raw: sqlite3.Connection) -> None:
    """Bring the tables up to date, once, whoever comes first."""
    raw.execute("BEGIN IMMEDIATE")
    try:
        (version,) = raw.execute("PRAGMA user_version").fetchone()
        for step in SQLITE_STEPS[version:]:
            for statement in step.split(";"):
                if statement.strip():
                    raw.execute(statement)
        raw.execute(f"PRAGMA application_id = {APPLICATION}")
        raw.execute(f"PRAGMA user_version = {len(SQLITE_STEPS)}")
        raw.execute("COMMIT")
    finally:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
