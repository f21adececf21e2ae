"""The structured memory of one Being: entries under a target, each with a key of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from clawkit.memory.records import Entry
from clawkit.memory.store.ledger import write_row
from clawkit.store.database import Unit, written

COLUMNS = "id, target, name, content, at, data"
_SELECT = f"SELECT {COLUMNS} FROM entries WHERE being = $being"


def add(unit: Unit, entry: Entry, token: str) -> None:
    row = msgspec.structs.asdict(entry)
    name, data = row.pop("key"), written(row.pop("data"))
    unit.insert("entries", {**row, "name": name, "token": token, "data": data})


def found(unit: Unit, target: str, key: str | None = None, limit: int = 1000) -> list[Entry]:
    """The entries of a target, the newest last; with a key, those of that key or id."""
    keyed, values = ("", ()) if key is None else (" AND (name = ? OR id = ?)", (key, key))
    sql = f"{_SELECT} AND target = ?{keyed} ORDER BY at DESC, id LIMIT ?"
    rows = unit.rows(sql, target, *values, limit)
    return [entry(row) for row in reversed(rows)]


def since(unit: Unit, target: str, moment: float) -> list[Entry]:
    rows = unit.rows(f"{_SELECT} AND target = ? AND at >= ? ORDER BY at, id", target, moment)
    return [entry(row) for row in rows]


def replace(unit: Unit, entry: Entry, token: str) -> None:
    """Update an existing entry."""
    values = {"name": entry.key, "content": entry.content, "at": entry.at, "token": token}
    write_row(unit, "entries", "id", entry.id, {**values, "data": written(entry.data)})


def remove(unit: Unit, entry_id: str) -> None:
    write_row(unit, "entries", "id", entry_id, None)


def entry(row: Sequence[Any]) -> Entry:
    """An entry from a row of `COLUMNS`."""
    data = msgspec.json.decode(row[5], type=dict[str, Any])
    return Entry(row[0], row[1], row[2], row[3], row[4], data)
