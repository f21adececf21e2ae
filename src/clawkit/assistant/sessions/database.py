"""The SQLite database of sessions: migrations, one connection, its errors in words; and the
thread that works on it for the event loop.

Times are seconds since 1970. A turn with an `owner` waits or runs in that process; the lowest such
id of a session is the one that runs. `floor` is the last message that history leaves out. What was
said is found through `said`, where each word begins with the session and its epoch.

`synchronous` is NORMAL: a killed process loses nothing that it had committed, and the order of
turns is worthless after a power cut. What was said is written with FULL, so that an answer which
somebody has read is there after a power cut, too; that is one wait for the disk a turn.

The thread is a daemon: a process may end at any moment, and a transaction that was not committed
is none.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from clawkit.assistant.sessions.records import MessageCache
from clawkit.errors import StoreError
from clawkit.store import sqlite_failures
from clawkit.store.sqlite_failures import is_busy as is_busy
from clawkit.store.sqlite_failures import is_damage as is_damage
from clawkit.system.files import keep_alike, keep_private, make_private

log = logging.getLogger("clawkit.assistant")

_STORE_NAME = "the store of sessions"

explained = partial(sqlite_failures.explained, thing=_STORE_NAME)
explained_os = partial(sqlite_failures.explained_os, thing=_STORE_NAME)
foreign = partial(sqlite_failures.foreign, thing="a store of sessions")
too_new = partial(sqlite_failures.too_new, thing=_STORE_NAME)


_APPLICATION = int.from_bytes(b"Claw", "big")

SCHEMA_VERSION = 2
"""`schema_N.sql` leads from version N - 1 to N."""


def schema_version(connection: sqlite3.Connection, file: Path) -> int:
    """The version of the tables, 0 in an empty file. Changes nothing."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    if application != _APPLICATION:
        if version or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise foreign(file)
        return 0
    if version > SCHEMA_VERSION:
        raise too_new(file, version, SCHEMA_VERSION)
    return version


def migrate(connection: sqlite3.Connection, file: Path) -> None:
    """Migrate the tables in one transaction; a second process finds it done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = schema_version(connection, file)
        for number in range(version + 1, SCHEMA_VERSION + 1):
            for statement in _statements(_migration(number)):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def empty_store() -> sqlite3.Connection:
    """An empty store in memory, with every table that there should be."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, Path())
    return connection


def _migration(number: int) -> str:
    return Path(__file__).with_name(f"schema_{number}.sql").read_text(encoding="utf-8")


def _statements(script: str) -> list[str]:
    """Splits a script into statements: `executescript` would end the transaction."""
    statements, statement = list[str](), ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            statements.append(statement)
            statement = ""
    return statements


T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

PATIENCE = 10.0
"""For how many seconds another process may hold the store before that is an error."""

_AGAIN = 0.01
_LARGEST_JOURNAL = 16 << 20
_SMALLEST = 512

# SQLite's locks belong to the process, and closing any descriptor of a file gives up all of them:
# the one that makes the file is closed before anyone here can have opened it as a database.
_making = threading.Lock()


class SessionDatabase:
    """The store in one file, and what is known of it. Used by one thread at a time."""

    def __init__(self, file: Path, *, patience: float = PATIENCE) -> None:
        self.file = file
        self._patience = patience
        self.known = MessageCache()
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)

    def read(self, work: Work[T]) -> T:
        """What `work` finds, all of it at the same moment."""
        return self._run("BEGIN", work)

    def write(self, work: Work[T], *, lasting: bool = False) -> T:
        """What `work` does, all of it or nothing; if `lasting`, not even a power cut undoes it."""
        if not lasting:
            return self._run("BEGIN IMMEDIATE", work)
        try:
            return self._run("BEGIN IMMEDIATE", work, "FULL")
        finally:
            if self._connection is not None:
                self._connection.execute("PRAGMA synchronous = NORMAL")

    def plainly(self, work: Work[T]) -> T:
        """What `work` does outside of a transaction."""
        return self._run("", work)

    def close(self) -> None:
        self.known.clear()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _run(self, begin: str, work: Work[T], synchronous: str = "") -> T:
        until = time.monotonic() + self._patience
        while True:
            try:
                connection = self._opened()
                if synchronous:
                    connection.execute(f"PRAGMA synchronous = {synchronous}")
                with _transaction(connection, begin):
                    return work(connection)
            except sqlite3.Error as error:
                if not is_busy(error) or time.monotonic() >= until:
                    self.close()
                    raise explained(self.file, error, self._patience) from error
                time.sleep(_AGAIN)
            except OSError as error:
                self.close()
                raise explained_os(self.file, error) from error

    def _opened(self) -> sqlite3.Connection:
        """The connection, if the file is still the one in its place."""
        if self._connection is not None:
            if _identity(self.file) == self._identity:
                return self._connection
            self._abandon(self._connection)
        self._connection = self._open()
        self._identity = _identity(self.file)
        return self._connection

    def _abandon(self, connection: sqlite3.Connection) -> None:
        """Close a file that was moved or deleted. Its journal's name may be another's by now."""
        if sys.version_info >= (3, 12):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        self.close()

    def _open(self) -> sqlite3.Connection:
        with _making:
            _make(self.file)
        connection = sqlite3.connect(
            self.file, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        try:
            _set_up(connection, self.file)
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Generator[None]:
    if not begin:
        yield
        return
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # what went wrong first is what is told
                connection.execute("ROLLBACK")


def _set_up(connection: sqlite3.Connection, file: Path) -> None:
    with _transaction(connection, "BEGIN"):  # another process may be making it right now
        version = schema_version(connection, file)
    keep_private(file, *companions(file))  # now that it is known to be ours
    if version == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA journal_size_limit = {_LARGEST_JOURNAL}")
    if version < SCHEMA_VERSION:
        migrate(connection, file)


def _make(file: Path) -> None:
    """See that the file is there; a new one is only for its owner."""
    make_private(file.parent)
    try:
        found = file.stat()
    except FileNotFoundError:
        with suppress(FileExistsError):  # another process was quicker
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        return
    keep_alike(file, *companions(file))
    tiny = stat.S_ISREG(found.st_mode) and 0 < found.st_size < _SMALLEST
    if tiny and not file.with_name(f"{file.name}-journal").exists():
        # SQLite takes so little for nothing, and would write over it.
        error = sqlite3.DatabaseError("file is not a database")
        error.sqlite_errorcode = sqlite3.SQLITE_NOTADB
        raise error


def companions(file: Path) -> tuple[Path, Path]:
    """The files that SQLite keeps beside a database."""
    return file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")


def _identity(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_dev, found.st_ino


Job = Callable[[SessionDatabase], T]
IdleJob = Callable[[SessionDatabase], Iterator[object]]
"""Work of no hurry, in small steps."""

_TRY_AGAIN = 1.0
_IDLE_PAUSE = 0.03
"""Between two steps of a job, so that other processes get the store, too."""
_LAST_STEPS = 5
"""Of an idle job, when the thread ends: programs that live for one turn do their part."""


class DatabaseThread:
    """Runs jobs in the order in which they come. The thread starts with the first."""

    def __init__(self, database: SessionDatabase) -> None:
        self.database = database
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._unwritten: list[Job[object]] = []
        self._tried = 0.0
        self._idle_jobs: list[Iterator[object]] = []
        self._thread: threading.Thread | None = None
        self._closed = False
        self._starting = threading.Lock()

    def do(self, job: Job[T]) -> asyncio.Future[T]:
        """The outcome of a job. It is done even if nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            settle: Callable[[Any], None] = outcome.set_result
            value: Any = None
            try:
                value = job(self.database)
            except Exception as error:  # noqa: BLE001 - handed to the waiting coroutine
                settle, value = outcome.set_exception, error
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(_settle, outcome, settle, value)

        self._put(run)
        return outcome

    def read(self, work: Work[T]) -> asyncio.Future[T]:
        """What `work` finds, all of it at the same moment."""
        return self.do(lambda database: database.read(work))

    def do_when_idle(self, job: IdleJob) -> None:
        """Do a job step by step, whenever nobody waits for anything; if it fails, it ends."""
        with suppress(StoreError):  # the store may be closed by now
            self._put(lambda: self._idle_jobs.append(job(self.database)))

    def do_eventually(self, job: Job[object], done: Callable[[], None] | None = None) -> None:
        """Do a job that must be done: while the store cannot be written it is tried again."""

        def run() -> None:
            self._try(job)
            if done is not None:
                done()

        self._put(run)

    async def done(self, job: Job[object]) -> None:
        """Wait until such a job was tried for the first time."""
        await self.do(lambda _: self._try(job))

    def stop(self) -> threading.Thread | None:
        """Let the thread end after what is still to be done; gives it, if it ever started."""
        with self._starting:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
            return self._thread

    async def close(self) -> None:
        """End the thread and the connection, when everything is done."""
        thread = self.stop()
        if thread is not None:
            await asyncio.to_thread(thread.join)

    def _put(self, run: Callable[[], object]) -> None:
        with self._starting:
            if self._closed:
                raise StoreError(f"{self.database.file}: the store of sessions was closed")
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="claw-sessions", daemon=True
                )
                self._thread.start()
            self._jobs.put(run)

    def _work(self) -> None:
        try:
            while True:
                try:
                    run = self._jobs.get(timeout=self._pause())
                    if run is None:
                        break
                    run()
                except queue.Empty:
                    self._step()
                if self._unwritten and time.monotonic() - self._tried >= _TRY_AGAIN:
                    self._retry_unwritten()
            self._retry_unwritten()
            for _ in range(_LAST_STEPS):
                self._step()
        finally:
            self.database.close()

    def _pause(self) -> float | None:
        """How long to wait for a job before there is something else to do."""
        if self._idle_jobs:
            return _IDLE_PAUSE
        return _TRY_AGAIN if self._unwritten else None

    def _step(self) -> None:
        """Go on with the first job; one that has come to its end, or failed, is done with."""
        if self._idle_jobs:
            job, done = self._idle_jobs[0], list[object]()
            self._attempt(lambda _: done.extend(islice(job, 1)))
            if not done:
                del self._idle_jobs[0]

    def _try(self, job: Job[object]) -> None:
        if not self._attempt(job):
            self._unwritten.append(job)
            self._tried = time.monotonic()

    def _retry_unwritten(self) -> None:
        self._tried = time.monotonic()
        self._unwritten = [job for job in self._unwritten if not self._attempt(job)]

    def _attempt(self, job: Job[object]) -> bool:
        try:
            job(self.database)
        except StoreError as error:
            log.warning("%s", error)
            return False
        except Exception:
            log.exception("a job of the store of sessions failed")
        return True


def _settle(outcome: asyncio.Future[Any], settle: Callable[[Any], None], value: Any) -> None:
    if not outcome.done():
        settle(value)
