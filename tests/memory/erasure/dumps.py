"""Every row of every table of a store, as text to search in."""

from __future__ import annotations

from clawkit.store.database import Connection, Database

_SQLITE = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_POSTGRES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


def dump(database: Database) -> dict[str, list[str]]:
    """The rows by table; bytes are read as letters, whatever they are."""
    with database.registry() as connection:
        return {table: _rows(connection, table) for table in _tables(connection, database)}


def where(database: Database, *words: str) -> list[str]:
    """The rows, with their tables, in which one of these words is, in whatever case."""
    return [
        f"{table}: {row}"
        for table, rows in dump(database).items()
        for row in rows
        if any(word.lower() in row.lower() for word in words)
    ]


def _tables(connection: Connection, database: Database) -> list[str]:
    sql = _SQLITE if database.address.startswith("sqlite:") else _POSTGRES
    return sorted(name for (name,) in connection.rows(sql))


def _rows(connection: Connection, table: str) -> list[str]:
    return [
        " | ".join(
            bytes(one).decode("latin-1") if isinstance(one, bytes | memoryview) else str(one)
            for one in row
        )
        for row in connection.rows(f"SELECT * FROM {table}")
    ]
