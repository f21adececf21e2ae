"""The driver for many machines: PostgreSQL with pgvector, any number of processes.

Readers see one moment; a writer holds the row of its Being, so that Beings do not wait for each
other. When a connection breaks before a transaction has ended, what was done in it is done again
on another, if it comes to the same; a broken COMMIT is told, and never repeated.
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

from clawkit.store.database import Connection, Gives, Row, Unit, no_being
from clawkit.store.postgres_failures import (
    bad_address,
    broken,
    busy,
    comes_back,
    explained,
    moved_on,
    too_new,
    unknown_outcome,
)
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
_CLIMBING = int.from_bytes(b"Being", "big")
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
            self._climb(raw)
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

    def _climb(self, raw: psycopg.Connection) -> None:
        """Bring the tables up to date, once, whoever comes first."""
        if _version(raw, self._shown) == len(POSTGRES_STEPS):
            return
        with raw.transaction():
            raw.execute(b"SELECT pg_advisory_xact_lock(%s)", (_CLIMBING,))
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
