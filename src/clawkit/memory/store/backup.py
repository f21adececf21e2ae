"""A copy of a SQLite store that is whole while others write, and a store out of such a copy.

A copy is of one moment, in one file, for its owner only. It is looked at from end to end before it
is given its name or takes the place of anything.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from clawkit.errors import StoreError
from clawkit.store.schema import SQLITE_STEPS
from clawkit.store.sqlite import APPLICATION, PATIENCE, THING
from clawkit.store.sqlite_failures import (
    explained,
    explained_os,
    foreign,
    is_busy,
    is_damaged,
    too_new,
)
from clawkit.system.files import make_private

_COPY = "the copy of a store"


class StoreContents(Struct, frozen=True):
    """What a store or a copy of one holds; `version` is that of its tables."""

    beings: int
    memories: int
    version: int


class RestoredStore(Struct, frozen=True):
    """What was restored, and where the previous store is kept."""

    held: StoreContents
    before: Path | None


def back_up(store: Path, target: Path) -> StoreContents:
    """Copy a store, as it is at this moment; whoever writes to it meanwhile goes on."""
    if not store.exists():
        raise StoreError(f"{store}: there is no {THING.removeprefix('the ')} yet to copy")
    if not target.parent.is_dir():
        raise StoreError(f"{target}: there is no such directory: make it, or name another file")
    with _temporary(target) as new:
        _copy(store, new, THING)
        held = look(new)
        new.replace(target)
    return held


def restore(copy: Path, store: Path) -> RestoredStore:
    """Put a copy in the place of a store; what was there is kept beside it.

    StoreError if another process has the store open, or if the copy is not whole.
    """
    if not copy.is_file():
        raise StoreError(f"{copy}: there is no such file")
    with _explained(store, THING):
        make_private(store.parent)
    with _temporary(store) as new:
        _copy(copy, new, _COPY)
        held = look(new, copy)
        if not store.exists():
            with _explained(store, THING):
                os.link(new, store)  # not over one that somebody has begun meanwhile
            return RestoredStore(held, None)
        with _exclusive(store), _explained(store, THING):
            before = _set_aside(store)
            new.replace(store)
        return RestoredStore(held, before)


def look(file: Path, called: Path | None = None) -> StoreContents:
    """What a copy holds; StoreError if it is damaged, of something else, or of a newer version."""
    called = called or file
    with _explained(called, _COPY), closing(_connect(file)) as raw:
        (application,) = raw.execute("PRAGMA application_id").fetchone()
        (version,) = raw.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION or version < 1:
            raise foreign(called, "a store of memories")
        if version > len(SQLITE_STEPS):
            raise too_new(called, version, len(SQLITE_STEPS), _COPY)
        problems = [text for (text,) in raw.execute("PRAGMA integrity_check(3)") if text != "ok"]
        if problems:
            raise StoreError(f"{called}: {_COPY} is damaged ({'; '.join(problems)}): use another")
        (beings,) = raw.execute("SELECT count(*) FROM beings").fetchone()
        (memories,) = raw.execute("SELECT count(*) FROM nodes WHERE ended IS NULL").fetchone()
        return StoreContents(beings, memories, version)


def _copy(source: Path, target: Path, thing: str) -> None:
    with _explained(source, thing), closing(_connect(source)) as old:
        old.execute("PRAGMA schema_version").fetchone()  # tells of what is no database, by name
        with closing(_connect(target)) as new:
            old.backup(new)  # in one piece: of one moment, however much is written meanwhile
            new.execute("PRAGMA journal_mode = DELETE")  # all in one file, without companions


def _connect(file: Path) -> sqlite3.Connection:
    """Open an existing file; writable where possible, else SQLite leaves its side files behind."""
    return sqlite3.connect(
        f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None
    )


@contextmanager
def _temporary(target: Path) -> Generator[Path]:
    """A new file for its owner only, beside the one that it is to become."""
    new = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        with _explained(target, _COPY):
            os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            yield new
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            new.with_name(new.name + suffix).unlink(missing_ok=True)


@contextmanager
def _exclusive(store: Path) -> Generator[None]:
    """Hold an exclusive lock on a store; a damaged one cannot be locked."""
    with closing(_connect(store)) as raw:
        raw.execute("PRAGMA busy_timeout = 0")
        try:
            raw.execute("PRAGMA locking_mode = EXCLUSIVE")
            # Only whoever is alone may leave the mode in which a store is written; and what is
            # still in the log of writes comes into the file by it.
            raw.execute("PRAGMA journal_mode = DELETE").fetchone()
            raw.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if is_busy(error):
                raise StoreError(
                    f"{store}: another process has {THING} open: stop `claw being serve`, clients "
                    "that started `claw being stdio`, and the assistant, then try again; nothing "
                    "was changed"
                ) from error
        yield


def _set_aside(store: Path) -> Path:
    """Hard-link the store under another name before it is replaced."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(100):
        name = f"{store.name}.before-restore-{stamp}" + (f"-{number}" if number else "")
        aside = store.with_name(name)
        with suppress(FileExistsError):
            os.link(store, aside)
            for suffix in ("-wal", "-shm"):  # of a damaged one, which could not be held
                part = store.with_name(store.name + suffix)
                if part.exists():
                    part.replace(aside.with_name(aside.name + suffix))
            return aside
    raise StoreError(f"{store}: too many copies are beside it: remove some")


@contextmanager
def _explained(file: Path, thing: str) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        problem = explained(file, error, PATIENCE, thing)
        if thing == _COPY and is_damaged(error):
            problem = StoreError(f"{file}: {thing}: {problem.reason} ({error}): use another")
        raise problem from error
    except OSError as error:
        raise explained_os(file, error, thing) from error
