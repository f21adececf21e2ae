"""What went wrong with a PostgreSQL store, in words: which it is and what to do about it.

Of what libpq and the server say, the password is taken out; a fault in the address itself is told
without their words, since those may repeat any part of it.
"""

from __future__ import annotations

import psycopg

from clawkit.errors import StoreError

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
    """The error for people."""
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
