"""Makes a new store out of what can still be read of a damaged one."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

from clawkit.memory.job_worker import EMBED
from clawkit.memory.recall.index_text import words_of_node
from clawkit.memory.store import jobs, nodes
from clawkit.store.salvage import Salvaged, drop_orphans, salvage
from clawkit.store.schema import UNIQUE_NAMES
from clawkit.store.sqlite import SqliteConnection, SqliteDatabase

_DERIVED = frozenset({"postings", "vectors", "sketches", "jobs", "runs", "calls"})
_AT_ONCE = 500


def make(file: Path) -> None:
    SqliteDatabase(file).close()


def fill(damaged: Path, file: Path) -> Salvaged:
    """Copy what can be read, make the index of words anew, and ask for vectors."""
    database = SqliteDatabase(file)
    try:
        with database.registry(write=True) as connection:
            connection.run("PRAGMA defer_foreign_keys = ON")
            connection.run("DROP INDEX beings_by_name")  # an old store may have a name twice
            saved = salvage(damaged, connection.raw, _DERIVED)
            _mend(connection)
            drop_orphans(connection.raw)
            for table in ("beings", "nodes"):
                saved.rows[table] = connection.rows(f"SELECT count(*) FROM {table}")[0][0]
        _index(database)
    finally:
        database.close()
    return saved


def _mend(connection: SqliteConnection) -> None:
    """Let go of nodes that say nothing any more, and know whose the others are."""
    connection.run("DELETE FROM nodes WHERE NOT json_valid(scene)")
    unknown = connection.rows(
        "SELECT being, min(created) FROM nodes WHERE being NOT IN (SELECT n FROM beings)"
        " GROUP BY being"
    )
    connection.many(
        "INSERT INTO beings (n, id, name, created) VALUES (?, ?, ?, ?)",
        [(n, str(uuid.uuid4()), f"salvaged-{n}", created) for n, created in unknown],
    )
    for statement in UNIQUE_NAMES.split(";"):
        connection.run(statement)
    connection.run(
        "UPDATE beings SET words = 0,"
        " top = max(top, coalesce((SELECT max(seq) FROM nodes WHERE being = beings.n), 0))"
    )


def _index(database: SqliteDatabase) -> None:
    with database.registry() as connection:
        beings = connection.rows("SELECT n, top FROM beings")
    for being, top in beings:
        for start in range(1, top + 1, _AT_ONCE):
            with database.write(being) as unit:
                found = nodes.fetch(unit, range(start, start + _AT_ONCE))
                nodes.index_words(unit, {seq: words_of_node(node) for seq, node in found.items()})
        with database.registry(write=True) as connection:
            jobs.want(connection, being, EMBED, time.time())
