"""Takes what can still be read out of a damaged SQLite file, into a new one with sound tables."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from clawkit.store.schema import tables_since

_CHUNK = 256
_MOST_CHUNKS = 100_000
_MOST_FAILURES = 50_000
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")
_Rows = list[tuple[Any, ...]]


class Salvaged(Struct):
    """How many rows of each table were saved, and the tables of which some could not be read."""

    rows: dict[str, int]
    lost: set[str]


class _Table(Struct, frozen=True):
    name: str
    columns: tuple[str, ...]
    has_rowid: bool


def missing_parts(connection: sqlite3.Connection, sound: sqlite3.Connection) -> list[str]:
    """The tables, indexes and triggers that a sound store has and this one has not."""
    there = _parts(connection)
    return [
        f"the {kind} {name} is missing" for kind, name in _parts(sound) if (kind, name) not in there
    ]


def is_emptied(file: Path) -> bool:
    """Whether a store is a file of no bytes, which SQLite takes for a new one."""
    try:
        return file.stat().st_size == 0
    except OSError:
        return False


def salvage(
    damaged: Path, target: sqlite3.Connection, derived: frozenset[str] = frozenset()
) -> Salvaged:
    """Copy rows of every table but the `derived` ones; the damaged file itself is not touched."""
    found = Salvaged({}, set())
    with tempfile.TemporaryDirectory(dir=damaged.parent) as folder:
        copy = Path(folder) / damaged.name
        for suffix in ("", "-wal"):
            part = damaged.with_name(damaged.name + suffix)
            if part.exists():
                shutil.copyfile(part, copy.with_name(copy.name + suffix))
        with closing(sqlite3.connect(copy, isolation_level=None)) as source:
            source.text_factory = partial(str, encoding="utf-8", errors="replace")
            passed_over = derived | _not_there_yet(source)
            for table in _tables(target):
                if table.name not in passed_over:
                    _copy(source, target, table, found)
    return found


def _not_there_yet(source: sqlite3.Connection) -> frozenset[str]:
    """The tables that came later than a damaged store."""
    try:
        (version,) = source.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError:
        return frozenset()
    return tables_since(version) if version else frozenset()


def drop_orphans(connection: sqlite3.Connection) -> None:
    """Remove rows that belong to others which could not be saved."""
    again = True
    while again:
        before = connection.total_changes
        for table in _tables(connection):
            for _, _, parent, column, to, *_ in connection.execute(
                f"PRAGMA foreign_key_list({table.name})"
            ).fetchall():
                key = to or "rowid"
                connection.execute(
                    f"DELETE FROM {table.name} WHERE {column} IS NOT NULL "
                    f"AND {column} NOT IN (SELECT {key} FROM {parent})"
                )
        again = connection.total_changes > before


def _parts(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    rows = connection.execute(
        "SELECT type, name, coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%'"
        " ESCAPE '\\'"
    )
    return {(kind, name): sql for kind, name, sql in rows}


def _tables(connection: sqlite3.Connection) -> list[_Table]:
    """The tables that are written to; what lies behind a virtual one is written by that."""
    every = {name: sql for (kind, name), sql in _parts(connection).items() if kind == "table"}
    virtual = {name for name, sql in every.items() if sql.startswith("CREATE VIRTUAL")}
    behind = {name + shadow for name in virtual for shadow in _SHADOWS}
    return [
        _Table(name, _columns(connection, name), "WITHOUT ROWID" not in sql)
        for name, sql in every.items()
        if name not in behind | virtual
    ]


def _columns(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    return tuple(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))


def _copy(
    source: sqlite3.Connection, target: sqlite3.Connection, table: _Table, found: Salvaged
) -> None:
    before = target.total_changes
    try:
        source.execute("PRAGMA writable_schema = ON")  # passes over parts of it that are damaged
        there = _columns(source, table.name)
        columns = [name for name in table.columns if name in there]
        if not columns:
            found.lost.add(table.name)
        else:
            names = ", ".join(columns)
            marks = ", ".join("?" * len(columns))
            put = f"INSERT OR IGNORE INTO {table.name} ({names}) VALUES ({marks})"
            select = f"SELECT {names} FROM {table.name}"
            read = _by_rowid if table.has_rowid else _by_key
            for rows in read(source, select, table.name, lambda: found.lost.add(table.name)):
                target.executemany(put, rows)
    except sqlite3.DatabaseError as error:
        if not _is_damage(error):
            raise
        found.lost.add(table.name)
    found.rows[table.name] = target.total_changes - before


def _by_rowid(
    source: sqlite3.Connection, select: str, table: str, lose: Callable[[], None]
) -> Iterator[_Rows]:
    """Piece by piece; one that cannot be read is halved until only the damaged rows are left."""
    try:
        low, high = source.execute(f"SELECT min(rowid), max(rowid) FROM {table}").fetchone()
    except sqlite3.DatabaseError:
        yield from _from_both_ends(source, select, "rowid DESC", lose)
        return
    if low is None:
        return
    failures = 0
    step = max(_CHUNK, (high - low) // _MOST_CHUNKS + 1)
    for start in range(low, high + 1, step):
        pieces = [(start, min(start + step - 1, high))]
        while pieces:
            first, last = pieces.pop()
            try:
                rows = source.execute(
                    f"{select} WHERE rowid BETWEEN ? AND ?", (first, last)
                ).fetchall()
            except sqlite3.DatabaseError:
                lose()
                failures += 1
                if failures > _MOST_FAILURES:
                    return
                if first < last:
                    middle = (first + last) // 2
                    pieces += [(middle + 1, last), (first, middle)]
                continue
            if rows:
                yield rows


def _by_key(
    source: sqlite3.Connection, select: str, table: str, lose: Callable[[], None]
) -> Iterator[_Rows]:
    columns = source.execute(f"PRAGMA table_info({table})").fetchall()
    backwards = ", ".join(f"{column[1]} DESC" for column in columns if column[5])
    yield from _from_both_ends(source, select, backwards, lose)


def _from_both_ends(
    source: sqlite3.Connection, select: str, backwards: str, lose: Callable[[], None]
) -> Iterator[_Rows]:
    """Up to what cannot be read, from either end."""
    for order in ("", f" ORDER BY {backwards}"):
        try:
            for row in source.execute(select + order):
                yield [row]
        except sqlite3.DatabaseError:
            lose()
        else:
            return


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is corrupt; other errors, such as a full disk, are raised."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_INTERNAL) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
