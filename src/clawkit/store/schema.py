"""The tables in `migrations/`, and the steps from one version of them to the next.

Step 2 is `2.sql`, and `2.sqlite.sql` or `2.postgres.sql` where only one of the two needs something.
"""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

_TYPES = {
    "sqlite": {
        "%SERIAL%": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "%REAL%": "REAL",
        "%BIGINT%": "INTEGER",
        "%BLOB%": "BLOB",
        "%CLUSTERED%": "WITHOUT ROWID",
    },
    "postgres": {
        "%SERIAL%": "INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY",
        "%REAL%": "DOUBLE PRECISION",
        "%BIGINT%": "BIGINT",
        "%BLOB%": "BYTEA",
        "%CLUSTERED%": "",
        " TEXT ": ' TEXT COLLATE "C" ',  # sorted as SQLite does, whatever the server's language
    },
}
_FOLDER = Path(__file__).with_name("migrations")


def _steps(database: str) -> tuple[str, ...]:
    found: list[str] = []
    for number in count(1):
        files = [_FOLDER / f"{number}.sql", _FOLDER / f"{number}.{database}.sql"]
        text = "".join(file.read_text(encoding="utf-8") for file in files if file.exists())
        if not text:
            break
        for mark, written in _TYPES[database].items():
            text = text.replace(mark, written)
        found.append(text)
    return tuple(found)


SQLITE_STEPS = _steps("sqlite")
POSTGRES_STEPS = _steps("postgres")
"""What leads from each version to the next; the number of steps is the newest version."""
_MADE = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)


def tables_since(version: int) -> frozenset[str]:
    """The tables that a store of this version does not have yet."""
    return frozenset(name for step in SQLITE_STEPS[version:] for name in _MADE.findall(step))


UNIQUE_NAMES = SQLITE_STEPS[2]
"""The step that gives each Being a name of its own."""
