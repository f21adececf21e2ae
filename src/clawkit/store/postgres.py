"""The driver for many machines: PostgreSQL with pgvector, any number of processes.

Readers see one moment; a writer holds the row of its Being, so that Beings do not wait for each
other. When a connection breaks before a transaction has ended, what was done in it is done again
on another, if it comes to the same; a broken COMMIT is told, and never repeated.

What went wrong is told in words, with what to do about it. Of what libpq and the server say, the
password is taken out; a fault in the address itself is told without their words, since those may
repeat any part of it.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, NamedTuple, cast

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from clawkit.errors import StoreError
from clawkit.store.database import Connection, Gives, Row, Unit, no_being
from clawkit.store.postgres_vectors import PostgresVectors, grow, know_vectors
from clawkit.store.schema import POSTGRES_STEPS
from clawkit.system.addresses import shown_address

PATIENCE = 20.0
"""For how many seconds the server may be away, or a Being locked, before that is an error."""

REPEATED = 50_000
"""How many rows a transaction may write, or values it may give, and still be done again."""

_READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = b"BEGIN ISOLATION LEVEL READ COMMITTED"
_LOCK = b"SELECT n FROM beings WHERE n = %s FOR NO KEY UPDATE"
_MIGRATING = int.from_bytes(b"Being", "big")
_PATROLLING = int.from_bytes(b"Walk", "big")
_CONNECTIONS = 20
_AGAIN = 0.1
_GLANCE = 0.5
_DEFAULTS = {
    "connect_timeout": "5",
    "application_name": "clawkit",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
}
# Each table is reached by its Being, also when it is new and the server has not counted it yet;
# and compiling takes longer than any query of ours.
_SETTINGS = "-c jit=off -c enable_seqscan=off"
_SCRUBBED = ("nodes", "postings", "vectors", "messages", "notes", "entries", "clusters", "ledger")
_PORTS = re.compile(r"[\d,]*")
_FOLDED = re.compile(r"folded\((\w+)\)")
_OCTETS = re.compile(r"length\(CAST\((\w+) AS BLOB\)\)")
_LETTERS = ("pg_c_utf8", "C.utf8", "und-x-icu", "default")

# A pool tells the log what it could not connect to; whoever wants a connection is told anyway.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class _Step(NamedTuple):
    """One statement of a transaction."""

    gives: Gives
    sql: bytes
    values: Sequence[Any]

    def on(self, raw: psycopg.Connection) -> Any:
        if self.gives == "many":
            raw.cursor().executemany(self.sql, self.values)
            return 0
        # Prepared once for all values, a plan finds neither a Being's own index nor the best way.
        cursor = raw.execute(self.sql, self.values, prepare=False, binary=True)
        return cursor.fetchall() if self.gives == "rows" else cursor.rowcount


class PostgresConnection(Connection):
    """One transaction as `Unit` wants it, which outlives the connection that it began on."""

    unclaimed = "FOR UPDATE SKIP LOCKED"

    def __init__(self, database: PostgresDatabase, being: int | None, write: bool) -> None:
        self._database = database
        self._being = being
        self._write = write
        self._done: list[tuple[_Step, int]] = []
        self._values = 0
        self._raw: psycopg.Connection | None = None

    def begin(self) -> None:
        self._resume(time.monotonic() + self._database.patience)

    def commit(self) -> None:
        assert self._raw is not None
        try:
            self._raw.execute(b"COMMIT")
        except psycopg.Error as error:
            if not self._write:
                return
            if self._raw.closed or comes_back(error, self._raw):
                raise unknown_outcome(self._database.address) from error
            raise

    def end(self) -> None:
        """Give the connection back; what was not committed is undone."""
        raw, self._raw = self._raw, None
        if raw is None:
            return
        if raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):  # what went wrong first is what is told
                raw.execute(b"ROLLBACK")
        self._database.give_back(raw)

    def execute(self, gives: Gives, sql: str, values: Iterable[Any]) -> Any:
        step, until = _Step(gives, _translated(sql, self._database.letters), list(values)), None
        while True:
            assert self._raw is not None
            try:
                result = step.on(self._raw)
            except psycopg.Error as error:
                until = until or time.monotonic() + self._database.patience
                if not comes_back(error, self._raw) or time.monotonic() >= until:
                    raise
                self._resume(until)
            else:
                self._remember(step, result)
                return result

    def _remember(self, step: _Step, result: Any) -> None:
        """Keep what was done, to do it again, unless that has become too much to keep."""
        self._values += len(step.values)
        if self._values <= REPEATED:
            self._done.append((step, _digest(result)))
        else:
            self._done.clear()

    def _resume(self, until: float) -> None:
        """Begin, on a connection that works, and do again what was done."""
        if self._values > REPEATED:
            raise broken(self._database.address)
        while True:
            self.end()
            self._raw = self._database.take(until)
            try:
                self._begin(self._raw)
                for step, digest in self._done:
                    if _digest(step.on(self._raw)) != digest:
                        raise moved_on(self._database.address)
                return
            except psycopg.Error as error:
                if not comes_back(error, self._raw) or time.monotonic() >= until:
                    raise
                time.sleep(_AGAIN)

    def _begin(self, raw: psycopg.Connection) -> None:
        raw.execute(_WRITE if self._write else _READ)
        if (
            self._write
            and self._being is not None
            and not raw.execute(_LOCK, (self._being,)).fetchone()
        ):
            raise no_being(self._being)


class PostgresDatabase:
    """All Beings in one database of a server."""

    def __init__(self, address: str, *, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._shown = shown_address(address)
        parts = {**_DEFAULTS, **_parts(address)}
        self._secret = str(parts.get("password") or "")
        settings = f"{_SETTINGS} -c lock_timeout={int(patience * 1000)}"
        parts["options"] = f"{parts.get('options') or ''} {settings}".strip()
        self._whole = make_conninfo("", **parts)
        with self._told(), self._alone() as raw:
            self._migrate(raw)
            self.letters = _letters(raw)
        self._pool: ConnectionPool[psycopg.Connection] = ConnectionPool(
            self._whole,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=_CONNECTIONS,
            configure=know_vectors,
            reconnect_timeout=_GLANCE,
            open=True,
        )

    @property
    def address(self) -> str:
        return self._shown

    @contextmanager
    def registry(self, *, write: bool = False) -> Generator[PostgresConnection]:
        with self._transaction(None, write) as connection:
            yield connection

    @contextmanager
    def read(self, being: int) -> Generator[Unit]:
        with self._transaction(being, write=False) as connection:
            yield Unit(connection, being, PostgresVectors)

    @contextmanager
    def write(self, being: int) -> Generator[Unit]:
        with self._transaction(being, write=True) as connection:
            yield Unit(connection, being, PostgresVectors)

    @contextmanager
    def write_counters(self, being: int) -> Generator[Unit]:
        with self._transaction(being, write=True) as connection:
            connection.run("SET LOCAL synchronous_commit = off")
            yield Unit(connection, being, PostgresVectors)

    @contextmanager
    def patrolling(self, being: int) -> Generator[bool]:
        with self._told():
            raw = self._connect(time.monotonic() + self.patience)
        try:
            with self._told():
                lock = b"SELECT pg_try_advisory_lock(%s, %s)"
                row = raw.execute(lock, (_PATROLLING, being)).fetchone()
            alone = bool(row and row[0])
            yield alone
            if alone:  # The server may be slow to notice that a connection was closed.
                with suppress(psycopg.Error):
                    raw.execute(b"SELECT pg_advisory_unlock(%s, %s)", (_PATROLLING, being))
        finally:
            raw.close()  # which lets go, also if the server did before

    def probe(self) -> None:
        with self._transaction(None, write=True) as connection:
            connection.run("SET LOCAL synchronous_commit = off")
            connection.run("UPDATE clawkit_memory SET version = version")

    def grow(self) -> None:
        with self._told(), self._alone() as raw:
            grow(raw)

    def scrub(self) -> str:
        """Let the server use the place of deleted rows again; its log and backups it keeps."""
        with self._told(), self._alone() as raw:
            raw.execute(b"SET lock_timeout = 0")
            for table in _SCRUBBED:
                raw.execute(sql.SQL("VACUUM {}").format(sql.Identifier(table)))
        return f"{self._shown}: its write-ahead log and its free pages are the server's to clear"

    def close(self) -> None:
        self._pool.close()

    def take(self, until: float) -> psycopg.Connection:
        """A connection that nobody else uses."""
        while True:
            try:
                return self._pool.getconn(timeout=max(0.01, min(_GLANCE, until - time.monotonic())))
            except PoolTimeout:
                if time.monotonic() < until:
                    continue
            # The pool does not say why; connecting does.
            with self._alone(until):
                raise busy(self._shown, self.patience)

    def give_back(self, raw: psycopg.Connection) -> None:
        self._pool.putconn(raw)

    @contextmanager
    def _transaction(self, being: int | None, write: bool) -> Generator[PostgresConnection]:
        with self._told():
            connection = PostgresConnection(self, being, write)
            try:
                connection.begin()
                yield connection
                connection.commit()
            finally:
                connection.end()

    @contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except psycopg.Error as error:
            # Not `from error`: its words may have the password.
            raise explained(self._shown, self._secret, error) from None

    @contextmanager
    def _alone(self, until: float | None = None) -> Generator[psycopg.Connection]:
        """A connection outside of the pool; a server that starts is waited for."""
        with self._connect(time.monotonic() + self.patience if until is None else until) as raw:
            yield raw

    def _connect(self, until: float) -> psycopg.Connection:
        while True:
            try:
                return psycopg.connect(self._whole, autocommit=True)
            except psycopg.Error as error:
                if not _starting(error) or time.monotonic() >= until:
                    raise
                time.sleep(_AGAIN)

    def _migrate(self, raw: psycopg.Connection) -> None:
        """Bring the tables up to date, once, whoever comes first."""
        if _version(raw, self._shown) == len(POSTGRES_STEPS):
            return
        with raw.transaction():
            raw.execute(b"SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
            version = _version(raw, self._shown)
            for step in POSTGRES_STEPS[version:]:
                raw.execute(step.encode())
            raw.execute(b"CREATE TABLE IF NOT EXISTS clawkit_memory (version INTEGER NOT NULL)")
            raw.execute(b"DELETE FROM clawkit_memory")
            raw.execute(b"INSERT INTO clawkit_memory VALUES (%s)", (len(POSTGRES_STEPS),))


def _parts(address: str) -> dict[str, Any]:
    """What an address says; an error if parts of a password may have become others."""
    with suppress(psycopg.Error):
        parts = conninfo_to_dict(address)
        misread = "@" in f"{parts.get('host')}{parts.get('dbname')}"
        if not misread and _PORTS.fullmatch(str(parts.get("port") or "")):
            return parts
    raise bad_address(shown_address(address))


def _version(raw: psycopg.Connection, address: str) -> int:
    # Not to_regclass: that a table was not there before is cached until the transaction ends.
    found = raw.execute(
        b"SELECT 1 FROM pg_catalog.pg_class"
        b" WHERE relname = 'clawkit_memory' AND pg_catalog.pg_table_is_visible(oid)"
    )
    if found.fetchone() is None:
        return 0
    row = raw.execute(b"SELECT version FROM clawkit_memory").fetchone()
    version = row[0] if row else 0
    if version > len(POSTGRES_STEPS):
        raise too_new(address, version, len(POSTGRES_STEPS))
    return version


def _letters(raw: psycopg.Connection) -> str:
    """A collation that knows the small letters of all languages."""
    rows = raw.execute(
        b"SELECT collname FROM pg_collation WHERE collname = ANY(%s) "
        b"AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding()))",
        (list(_LETTERS),),
    ).fetchall()
    return min((name for (name,) in rows), key=_LETTERS.index)


def _starting(error: psycopg.Error) -> bool:
    """Whether a server is there that is not ready yet: one that is not there is told at once."""
    said = str(error)
    return "starting up" in said or "recovery mode" in said or "not yet accepting" in said


def _digest(result: Any) -> int:
    return hash(tuple(cast("list[Row]", result)) if isinstance(result, list) else result)


@lru_cache(maxsize=512)
def _translated(sql: str, letters: str) -> bytes:
    """A statement of ours as psycopg and PostgreSQL have it."""
    text = sql.replace("%", "%%").replace("?", "%s").replace("instr(", "strpos(")
    text = _OCTETS.sub(r"octet_length(\1)", text)
    return _FOLDED.sub(rf'lower(\1 COLLATE "{letters}")', text).encode()


THING = "the store of memories"

_COMING_BACK = frozenset(
    {
        "57P01",  # an administrator ends the connection, or the server
        "57P02",  # another connection crashed
        "57P03",  # the server starts or stops
        "40001",  # two transactions in each other's way
        "40P01",
        "53300",  # no connection is free
    }
)
_COMING_BACK_WORDS = (
    "starting up",
    "shutting down",
    "in recovery mode",
    "not yet accepting connections",
    "too many clients",
    "remaining connection slots",
    "connection refused",
    "no such file or directory",  # the socket of a server that is down
    "server closed the connection",
    "terminating connection",
    "timeout expired",
    "connection timeout",
)

_EXPLAINED = {
    "53100": ("its disk is full", "free space on the server's disk, then try again"),
    "53200": ("the server has not enough memory", "give it more, then try again"),
    "53300": ("no connection is free", "raise max_connections of the server, or stop other users"),
    "58030": ("the server could not read or write its disk", "look into its log"),
    "55P03": ("another process has kept it locked", "end that process, or try again"),
    "25006": ("the server is read-only or in recovery", "name the address of the primary server"),
    "42501": ("this user may not", "give the user all rights on the database and its schema"),
    "42P07": ("there are other tables of these names", "name a database of its own"),
    "42P01": ("its tables are not as they should be", "name another database, or restore this one"),
    "42703": ("its tables are not as they should be", "name another database, or restore this one"),
    "XX001": ("it is damaged", "restore the database from a copy"),
    "XX002": ("an index is damaged", "run REINDEX DATABASE, or restore from a copy"),
    "54000": ("a value is too large for it", "send less at once"),
}

_EXPLAINED_CONNECTING = (
    ("password authentication failed", "the user or the password is wrong", "correct the address"),
    ("no password supplied", "a password is wanted", "put it into the address or into PGPASSWORD"),
    ("no pg_hba.conf entry", "the server does not let this user in from here", "see pg_hba.conf"),
    ("role", "the server does not know the user", "correct the address, or run CREATE ROLE"),
    ("database", "there is no such database", "run CREATE DATABASE, or correct the address"),
)

_NO_VECTORS = (
    "install pgvector 0.8 or newer on the server, and let an administrator run "
    "CREATE EXTENSION vector (or ALTER EXTENSION vector UPDATE) in the database"
)
_UNREACHED = "start the server, or correct the host and port in the address"


def comes_back(error: psycopg.Error, raw: psycopg.Connection | None = None) -> bool:
    """Whether the same may work in a moment, on another connection."""
    if error.sqlstate is not None:
        return error.sqlstate in _COMING_BACK or error.sqlstate.startswith("08")
    if raw is not None and raw.closed:
        return True
    said = str(error).lower()
    return isinstance(error, psycopg.OperationalError) and any(
        words in said for words in _COMING_BACK_WORDS
    )


def explained(address: str, secret: str, error: psycopg.Error) -> StoreError:
    said = " ".join(str(error).split())
    if secret:
        said = said.replace(secret, "…")
    what, advice = _words(error, said)
    return StoreError(f"{address}: {THING}: {what} ({said}): {advice}", what)


def bad_address(address: str) -> StoreError:
    return StoreError(
        f"{address}: this is no address of a database: it is "
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and in a password any of : / ? # @ % "
        "is written as %3A %2F %3F %23 %40 %25"
    )


def busy(address: str, patience: float) -> StoreError:
    return StoreError(
        f"{address}: {THING}: all connections of this process were busy for {patience:g} s: "
        "try again, or start another server process",
        "all connections are busy",
    )


def unknown_outcome(address: str) -> StoreError:
    return StoreError(
        f"{address}: {THING}: the connection broke while a change was being committed, and it is "
        "not known whether it was made: look before you try again"
    )


def moved_on(address: str) -> StoreError:
    return StoreError(
        f"{address}: {THING}: the connection broke, and what had been read has changed since; "
        "nothing was written: try again"
    )


def broken(address: str) -> StoreError:
    return StoreError(
        f"{address}: {THING}: the connection broke in the middle of a large transaction; "
        "nothing was written: try again"
    )


def too_new(address: str, version: int, known: int) -> StoreError:
    return StoreError(
        f"{address}: {THING} has version {version}, and this program knows only "
        f"version {known}: install a newer clawkit; nothing was changed"
    )


def _words(error: psycopg.Error, said: str) -> tuple[str, str]:
    """What happened, and what to do."""
    if 'extension "vector"' in said or 'type "halfvec"' in said:
        return "pgvector is missing or too old", _NO_VECTORS
    if error.sqlstate in _EXPLAINED:
        return _EXPLAINED[error.sqlstate]
    if error.sqlstate is None and isinstance(error, psycopg.OperationalError):
        return _connecting(said)
    if comes_back(error):
        return "the server ended the connection", "try again when it runs"
    return "the database failed", "try again; if it stays so, look into the server's log"


def _connecting(said: str) -> tuple[str, str]:
    """Connecting has no codes, only words."""
    for words, what, advice in _EXPLAINED_CONNECTING:
        if words in said and (" " in words or f'{words} "' in said):
            return what, advice
    return "the server cannot be reached", _UNREACHED
