"""A store of version 1 with real rows: step 1 of the ladder, filled from a store of today."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
from msgspec import Struct

from clawkit.memory import tokens
from clawkit.memory.being_store import BeingStore
from clawkit.memory.records import Note, Scene
from clawkit.memory.store import notes
from clawkit.memory.structured_memory import EntryRequest
from clawkit.memory.tokens import Caller
from clawkit.store import open_store
from clawkit.store.schema import POSTGRES_STEPS, SQLITE_STEPS
from clawkit.store.sqlite import APPLICATION
from tests.memory.store.records import MODEL, vectors

KNOWN = "Anna is allergic to peanuts"
WAITS = "Ben forgot his umbrella in Kyoto"
ASKED = "What is Anna allergic to?"
_TABLES = (
    *("beings", "tokens", "nodes", "postings", "clusters", "notes", "entries", "messages"),
    *("ledger", "touches", "told", "marks", "jobs"),
)


class Old(Struct, frozen=True):
    """What was in the store before it was brought up to date."""

    being: str
    full: str
    reader: str


def fill(address: str) -> Old:
    """A Being that remembers something, with a note that waits and two tokens."""
    store = BeingStore(open_store(address), "none")
    being = store.create("Ida")
    full, _ = tokens.issue(store, being, label="Claude Code")
    reader, _ = tokens.issue(store, being, scope="read-only")
    memory = store.open(being)
    node = memory.remember(KNOWN, Caller(), actors=["Anna"], when=["2026-01-02"])
    memory.structured(Caller(), EntryRequest("preferences", "append", content="Answers are brief"))
    waiting = Note(str(uuid4()), store.clock(), Scene(WAITS, ("Ben",), ("2026-01-05",)))
    with store.database.write(being.n) as unit:
        notes.add(unit, [waiting])  # as version 1 did: a patrol makes a memory of it
        unit.vectors.put(MODEL, [node.seq], vectors(1, 7))
    store.close()
    return Old(being.id, full, reader)


def make_sqlite(today: Path, file: Path) -> None:
    """Version 1 of a store of today, in a file of its own."""
    with closing(sqlite3.connect(file, isolation_level=None)) as raw:
        raw.executescript(SQLITE_STEPS[0])
        raw.execute(f"PRAGMA application_id = {APPLICATION}")
        raw.execute("PRAGMA user_version = 1")
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("ATTACH ? AS today", (str(today),))
        for table in (*_TABLES, "vectors", "sketches"):
            names = ", ".join(row[1] for row in raw.execute(f"PRAGMA main.table_info({table})"))
            raw.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM today.{table}")


def make_postgres(today: str, address: str) -> None:
    """Version 1 of a store of today, in a database with nothing in it."""
    with psycopg.connect(today) as old, psycopg.connect(address, autocommit=True) as raw:
        raw.execute(POSTGRES_STEPS[0].encode())
        raw.execute(b"CREATE TABLE clawkit_memory (version INTEGER NOT NULL)")
        raw.execute(b"INSERT INTO clawkit_memory VALUES (1)")
        for table in (*_TABLES, "spaces", "vectors"):
            _copy_rows(old, raw, table)
        raw.execute(b"SELECT setval(pg_get_serial_sequence('beings', 'n'), max(n)) FROM beings")


def _copy_rows(old: psycopg.Connection, raw: psycopg.Connection, table: str) -> None:
    columns = raw.execute(
        b"SELECT column_name, udt_name FROM information_schema.columns "
        b"WHERE table_name = %s ORDER BY ordinal_position",
        (table,),
    ).fetchall()
    names = ", ".join(name for name, _ in columns)
    read = ", ".join(f"{name}::text" if kind == "halfvec" else name for name, kind in columns)
    marks = ", ".join("%s::halfvec" if kind == "halfvec" else "%s" for _, kind in columns)
    put = f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE VALUES ({marks})".encode()
    for row in old.execute(f"SELECT {read} FROM {table}".encode()).fetchall():
        raw.execute(put, row)
