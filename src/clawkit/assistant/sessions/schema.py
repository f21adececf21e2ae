"""The tables, and the ladder from one version of them to the next.

Times are seconds since 1970. A turn with an `owner` waits or runs in that process; the lowest such
id of a session is the one that runs. `floor` is the last message that history leaves out. What was
said is found through `said`, where each word begins with the session and its epoch.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from clawkit.assistant.sessions.failures import foreign, too_new

_APPLICATION = int.from_bytes(b"Claw", "big")

_FIRST = """
PRAGMA application_id = 1131176311;

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    origin TEXT NOT NULL,
    named INTEGER NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    chosen_model TEXT NOT NULL DEFAULT '',
    last_model TEXT NOT NULL DEFAULT '',
    epoch INTEGER NOT NULL DEFAULT 0,
    floor INTEGER NOT NULL DEFAULT 0,
    summary TEXT NOT NULL DEFAULT ''
);
CREATE INDEX sessions_idle ON sessions (updated) WHERE NOT named;

CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    owner TEXT,
    began REAL NOT NULL,
    ended REAL,
    reason TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    input INTEGER NOT NULL DEFAULT 0,
    output INTEGER NOT NULL DEFAULT 0,
    cached INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX turns_of_session ON turns (session, id);
CREATE INDEX turns_open ON turns (session, id) WHERE owner IS NOT NULL;

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    turn INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE,
    epoch INTEGER NOT NULL,
    created REAL NOT NULL,
    tokens INTEGER NOT NULL,
    role TEXT NOT NULL,
    parts BLOB NOT NULL
);
CREATE INDEX messages_of_session ON messages (session, id, turn, epoch);
CREATE INDEX messages_of_turn ON messages (turn);

CREATE TABLE images (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    data BLOB NOT NULL
);
CREATE TABLE image_uses (
    message INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
    image INTEGER NOT NULL REFERENCES images,
    PRIMARY KEY (message, image)
) WITHOUT ROWID;
CREATE INDEX image_uses_of_image ON image_uses (image);
CREATE TRIGGER image_unused AFTER DELETE ON image_uses
    WHEN NOT EXISTS (SELECT 1 FROM image_uses WHERE image = old.image)
    BEGIN DELETE FROM images WHERE id = old.image; END;

CREATE VIRTUAL TABLE said USING fts5 (words, tokenize = 'porter ascii');

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    process TEXT NOT NULL,
    status TEXT NOT NULL,
    expires REAL,
    record BLOB NOT NULL
);
CREATE INDEX tasks_expiring ON tasks (expires);

CREATE TABLE notes (name TEXT PRIMARY KEY, value REAL NOT NULL);
"""

# A key, not a number: a task is there before its session is.
_TASKS_OF_SESSIONS = """
ALTER TABLE tasks ADD COLUMN session TEXT;
CREATE INDEX tasks_of_session ON tasks (session);
"""

_LADDER = (_FIRST, _TASKS_OF_SESSIONS)
"""The step at index n leads from version n to n + 1."""

VERSION = len(_LADDER)


def look(connection: sqlite3.Connection, file: Path) -> int:
    """The version of the tables, 0 in an empty file. Changes nothing."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    if application != _APPLICATION:
        if version or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise foreign(file)
        return 0
    if version > VERSION:
        raise too_new(file, version, VERSION)
    return version


def climb(connection: sqlite3.Connection, file: Path) -> None:
    """Bring the tables up to date, in one transaction; whoever comes second finds it done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = look(connection, file)
        for number in range(version, VERSION):
            for statement in _statements(_LADDER[number]):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def sound_store() -> sqlite3.Connection:
    """An empty store in memory, with every table that there should be."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    climb(connection, Path())
    return connection


def _statements(script: str) -> list[str]:
    """One by one: `executescript` would end the transaction first."""
    statements, statement = list[str](), ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            statements.append(statement)
            statement = ""
    return statements
