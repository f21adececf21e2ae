"""What was done to a Being's memory, with all it takes to show it and to undo it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clawkit.memory.records import Change, LedgerEntry
from clawkit.memory.store.database import Row, Unit
from clawkit.memory.store.texts import written

_SELECT = "SELECT n, at, kind, why, token, changes, undone_by FROM ledger WHERE being = $being"


def add(unit: Unit, at: float, kind: str, why: str, token: str, changes: Sequence[Change]) -> int:
    """Write down what was done; gives the entry's number."""
    unit.run("UPDATE beings SET last_ledger = last_ledger + 1 WHERE n = $being")
    n = last(unit)
    unit.insert(
        "ledger",
        {
            "n": n,
            "at": at,
            "kind": kind,
            "why": why,
            "token": token,
            "changes": written(changes).encode(),
        },
    )
    return n


def rewrite(unit: Unit, entry: LedgerEntry) -> None:
    """Put another text and other changes into an entry, whose number and time stay."""
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


def one(unit: Unit, n: int) -> LedgerEntry | None:
    row = unit.row(f"{_SELECT} AND n = ?", n)
    return _entry(row) if row else None


def latest(unit: Unit, limit: int = 20, before: int | None = None) -> list[LedgerEntry]:
    """The newest entries, the newest first."""
    sql = f"{_SELECT} AND n < ? ORDER BY n DESC LIMIT ?"
    return [_entry(row) for row in unit.rows(sql, before or 1 << 30, limit)]


def _entry(row: Row) -> LedgerEntry:
    changes = msgspec.json.decode(row[5], type=tuple[Change, ...])
    return LedgerEntry(row[0], row[1], row[2], row[3], row[4], changes, row[6])
