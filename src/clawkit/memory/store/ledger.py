"""The ledger of all changes, and which tables and columns an entry may name.

Entries of the ledger also come from bundles, which anybody can write. Nothing else than what is
named here gets from an entry into a statement. The key of a change of nodes is a list of numbers
and ranges of them, such as `3,7-4000`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clawkit.memory.records import Change, LedgerEntry
from clawkit.store.database import Row, Unit, written

NODES = "nodes"
AGES = "ages"
"""No table: a change of `AGES` says what was added to `session_count`, whatever that was."""

KEYS = {NODES: "seq", "clusters": "n", "notes": "id", "entries": "id", "ledger": "n"}
COLUMNS = {
    NODES: (
        *("cluster", "status", "fresh", "pinned", "importance", "session_count"),
        *("reactivation_count", "last_activated", "ended", "ending", "successor"),
    ),
    AGES: ("by",),
    "clusters": ("id", "name", "parent", "digest", "gone"),
    "notes": ("created", "kind", "body", "speaker", "token", "conversation", "taken", "node"),
    "entries": ("target", "name", "content", "at", "token", "data"),
    "ledger": ("undone_by",),
}
_LARGEST = 1 << 53
_TOGETHER = 200
_NUMBER = r"[1-9]\d{0,8}"
_RANGE = rf"{_NUMBER}(?:-{_NUMBER})?"
_RANGES = re.compile(rf"{_RANGE}(?:,{_RANGE})*")
_FORMS = {
    NODES: _RANGES,
    AGES: _RANGES,
    "clusters": re.compile(_NUMBER),
    "ledger": re.compile(_NUMBER),
}


def is_known(change: Change) -> bool:
    """Whether a change is one that could have been made here."""
    columns = COLUMNS.get(change.table)
    form = _FORMS.get(change.table)
    if columns is None or (form and not form.fullmatch(change.key)):
        return False
    rows = (change.before or {}, change.after or {})
    plain = all(_is_plain(value) for row in rows for value in row.values())
    return plain and {*rows[0], *rows[1]} <= set(columns)


def _is_plain(value: Any) -> bool:
    if isinstance(value, int | float):
        return abs(value) < _LARGEST
    return value is None or isinstance(value, str)


_SELECT = "SELECT n, at, kind, why, token, changes, undone_by FROM ledger WHERE being = $being"


def add(unit: Unit, at: float, kind: str, why: str, token: str, changes: Sequence[Change]) -> int:
    """Write down what was done; gives the entry's number."""
    unit.run("UPDATE beings SET last_ledger = last_ledger + 1 WHERE n = $being")
    n = last(unit)
    put(unit, LedgerEntry(n, at, kind, why, token, tuple(changes)))
    return n


def put(unit: Unit, entry: LedgerEntry) -> None:
    """Write an entry down under its own number."""
    changes = written(entry.changes).encode()
    unit.insert("ledger", {**msgspec.structs.asdict(entry), "changes": changes})


def rewrite(unit: Unit, entry: LedgerEntry) -> None:
    """Replace an entry's text and changes; its number and time stay."""
    unit.run(
        "UPDATE ledger SET kind = ?, why = ?, changes = ? WHERE being = $being AND n = ?",
        entry.kind,
        entry.why,
        written(entry.changes).encode(),
        entry.n,
    )


def last(unit: Unit) -> int:
    """The number of the newest entry."""
    row = unit.row("SELECT last_ledger FROM beings WHERE n = $being")
    return row[0] if row else 0


def get(unit: Unit, n: int) -> LedgerEntry | None:
    row = unit.row(f"{_SELECT} AND n = ?", n)
    return _entry(row) if row else None


def latest(unit: Unit, limit: int = 20, before: int | None = None) -> list[LedgerEntry]:
    """The newest entries, the newest first."""
    sql = f"{_SELECT} AND n < ? ORDER BY n DESC LIMIT ?"
    return [_entry(row) for row in unit.rows(sql, before or 1 << 30, limit)]


def every(unit: Unit) -> Iterator[LedgerEntry]:
    """All entries, the newest first."""
    before: int | None = None
    while found := latest(unit, _TOGETHER, before):
        yield from found
        before = found[-1].n


def at(unit: Unit, moments: Collection[float]) -> list[LedgerEntry]:
    """What was done at these very moments."""
    return [_entry(row) for row in unit.among(f"{_SELECT} AND at IN (??)", sorted(moments))]


def _entry(row: Row) -> LedgerEntry:
    changes = msgspec.json.decode(row[5], type=tuple[Change, ...])
    return LedgerEntry(row[0], row[1], row[2], row[3], row[4], changes, row[6])


def ranges(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as ranges of consecutive ones, each with its first and last."""
    found: list[tuple[int, int]] = []
    for seq in sorted(set(seqs)):
        if found and found[-1][1] == seq - 1:
            found[-1] = (found[-1][0], seq)
        else:
            found.append((seq, seq))
    return found


def key_of(seqs: Iterable[int]) -> str:
    parts = (f"{a}" if a == b else f"{a}-{b}" for a, b in ranges(seqs))
    return ",".join(parts)


def ranges_of(key: str) -> list[tuple[int, int]]:
    """The ranges that a key names."""
    found: list[tuple[int, int]] = []
    for part in key.split(","):
        first, _, last = part.partition("-")
        found.append((int(first), int(last or first)))
    return found


def set_nodes(
    unit: Unit, seqs: Collection[int], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Change:
    """Give the same values to many nodes; `before` is what they all had."""
    write_nodes(unit, ranges(seqs), after)
    return Change(NODES, key_of(seqs), dict(before), dict(after))


def write_nodes(unit: Unit, where: Iterable[tuple[int, int]], values: Mapping[str, Any]) -> None:
    assert values.keys() <= set(COLUMNS[NODES]), values
    settings = ", ".join(f"{column} = ?" for column in values)
    unit.many(
        f"UPDATE nodes SET {settings} WHERE being = $being AND seq BETWEEN ? AND ?",
        [(*values.values(), first, last) for first, last in where],
    )


def created(seqs: Iterable[int]) -> Change:
    """The change that creates nodes."""
    return Change(NODES, key_of(seqs), None, {})


def row(unit: Unit, table: str, key: str) -> dict[str, Any] | None:
    """A row of a table as a `Change` has it; None if there is none."""
    columns = COLUMNS[table]
    found = unit.row(
        f"SELECT {', '.join(columns)} FROM {table} WHERE being = $being AND {KEYS[table]} = ?",
        table_key(table, key),
    )
    return dict(zip(columns, found, strict=True)) if found else None


def write_row(
    unit: Unit, table: str, column: str, key: str | int, values: Mapping[str, Any] | None
) -> None:
    """Give a row these values; None deletes it."""
    if values is None:
        unit.run(f"DELETE FROM {table} WHERE being = $being AND {column} = ?", key)
        return
    settings = ", ".join(f"{name} = ?" for name in values)
    sql = f"UPDATE {table} SET {settings} WHERE being = $being AND {column} = ?"
    unit.run(sql, *values.values(), key)


def table_key(table: str, key: str) -> int | str:
    """The key of a change as its table has it."""
    return int(key) if KEYS[table] == "n" else key
