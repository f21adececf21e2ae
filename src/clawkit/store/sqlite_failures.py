"""Explains SQLite errors: which file failed, and what to do about it."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from clawkit.errors import StoreError

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
_DAMAGED = "`claw doctor --fix` sets it aside, and a new one is begun"
_NO_RIGHT = "give this user the right to read and write it and its directory"
_NO_SPACE = "free space on its disk, then try again"

_EXPLAINED = {
    sqlite3.SQLITE_FULL: ("its disk is full", _NO_SPACE),
    sqlite3.SQLITE_IOERR: (
        "it could not be read or written to the end",
        "free space on its disk, or raise the limit of a file's size; then try again",
    ),
    sqlite3.SQLITE_READONLY: ("it is read-only", _NO_RIGHT),
    sqlite3.SQLITE_PERM: ("this user may not", _NO_RIGHT),
    sqlite3.SQLITE_AUTH: ("this user may not", _NO_RIGHT),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", _NO_RIGHT),
    sqlite3.SQLITE_NOTADB: ("it is not a database", _DAMAGED),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", _DAMAGED),
    sqlite3.SQLITE_ERROR: ("its tables are not as they should be", _DAMAGED),
    sqlite3.SQLITE_TOOBIG: ("one message is too large for it", "send less at once"),
    sqlite3.SQLITE_NOMEM: ("there is not enough memory", "end other programs, then try again"),
}

_EXPLAINED_OS = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: _NO_SPACE,
    errno.ENOTDIR: "something that is no directory is in its way: move that",
    errno.EISDIR: "a directory is in its place: move that",
    errno.EMFILE: "too many files are open: raise the limit",
    errno.ENFILE: "too many files are open: raise the limit",
}


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process had the store, so that the same may work in a moment."""
    return _primary(error) in _BUSY


def is_damage(error: StoreError) -> bool:
    """Whether the file itself is at fault, so that setting it aside would help."""
    cause = error.__cause__
    return isinstance(cause, sqlite3.Error) and is_damaged(cause)


def is_damaged(error: sqlite3.Error) -> bool:
    return _primary(error) in _DAMAGE and not _lacks(error)


def explained(file: Path, error: sqlite3.Error, patience: float, thing: str) -> StoreError:
    """The error for people. It repeats SQLite's words, which never contain what is stored."""
    if is_busy(error):
        return StoreError(
            f"{file}: another process has kept {thing} locked for {patience:g} s: "
            "end the program that uses it, or try again",
            "another process keeps it locked",
        )
    if _lacks(error):
        return StoreError(
            f"{file}: the SQLite of this Python cannot search ({error}): install another"
        )
    what, advice = _EXPLAINED.get(
        _primary(error), ("the database failed", "try again; if it stays so, `claw doctor` looks")
    )
    return StoreError(f"{file}: {thing}: {what} ({error}): {advice}", what)


def explained_os(file: Path, error: OSError, thing: str) -> StoreError:
    what = error.strerror or type(error).__name__
    advice = _EXPLAINED_OS.get(error.errno or 0, _NO_RIGHT)
    where = error.filename or file
    return StoreError(f"{where}: {thing} cannot be used ({what}): {advice}", what.lower())


def foreign(file: Path, thing: str) -> StoreError:
    return StoreError(f"{file}: this is a database, but not {thing}: move it, or name another file")


def gone(file: Path, thing: str) -> StoreError:
    return StoreError(
        f"{file}: {thing} was moved or deleted while it was in use: put it back, "
        "or start this program again to begin a new one",
        "it was moved or deleted",
    )


def too_new(file: Path, version: int, known: int, thing: str) -> StoreError:
    return StoreError(
        f"{file}: {thing} has version {version}, and this program knows only "
        f"version {known}: install a newer clawkit; nothing was changed"
    )


def _lacks(error: sqlite3.Error) -> bool:
    return "no such module" in str(error)


def _primary(error: sqlite3.Error) -> int:
    # Errors that the Python module raises by itself have no code; those are faults of ours.
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_INTERNAL) & 0xFF
