"""❷ Every patrol makes active memories one patrol older; what was read meanwhile counts first."""

from __future__ import annotations

from clawkit.memory.patrol.changes import AGES, key_of
from clawkit.memory.records import Change
from clawkit.memory.store import ledger, touches
from clawkit.memory.store.database import Unit

_ACTIVE = "being = $being AND status = 'active' AND ended IS NULL"


def count_reads(unit: Unit) -> int:
    """Count what read-only readers have read, each memory once, however often they did."""
    read = touches.take(unit)
    unit.many(
        "UPDATE nodes SET session_count = 0, "
        "reactivation_count = reactivation_count + CASE status WHEN 'dead' THEN 2 ELSE 1 END, "
        "last_activated = CASE WHEN last_activated < ? THEN ? ELSE last_activated END "
        "WHERE being = $being AND seq = ?",
        [(last, last, seq) for seq, last in sorted(read.items())],
    )
    return len(read)


def age(unit: Unit, now: float, token: str) -> int:
    """One patrol more since they were last activated; gives how many memories aged."""
    seqs = [seq for (seq,) in unit.rows(f"SELECT seq FROM nodes WHERE {_ACTIVE} ORDER BY seq")]
    if not seqs:
        return 0
    unit.run(f"UPDATE nodes SET session_count = session_count + 1 WHERE {_ACTIVE}")
    change = Change(AGES, key_of(seqs), {"by": 0}, {"by": 1})
    ledger.add(unit, now, "aged", f"{len(seqs)} memories are one patrol older", token, [change])
    return len(seqs)
