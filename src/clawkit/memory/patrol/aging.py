"""❷ What was read counts, and each active memory counts the patrols since it was last activated.

That is the documented `session_count`, which people can see; how alive a memory is, days and use
decide (`strength`).
"""

from __future__ import annotations

from clawkit.memory.changeable import AGES
from clawkit.memory.patrol.changes import counted, key_of
from clawkit.memory.records import Change
from clawkit.memory.store import ledger, nodes, touches
from clawkit.memory.store.database import Database, Unit

AT_ONCE = 20_000
_ACTIVE = "being = $being AND status = 'active' AND ended IS NULL"


def count_reads(unit: Unit) -> int:
    """Count what read-only readers have read, each memory once, however often they did."""
    read = touches.take(unit)
    unit.many(
        "UPDATE nodes SET session_count = CASE status WHEN 'dead' THEN session_count ELSE 0 END, "
        "reactivation_count = reactivation_count + CASE status WHEN 'dead' THEN 2 ELSE 1 END, "
        "last_activated = CASE WHEN last_activated < ? THEN ? ELSE last_activated END "
        "WHERE being = $being AND seq = ?",
        [(last, last, seq) for seq, last in sorted(read.items())],
    )
    return len(read)


def age(database: Database, being: int, now: float, token: str) -> int:
    """One patrol more since they were last activated; gives how many memories that are.

    A large Being is counted part by part, so that nobody who wants to write waits long.
    """
    with database.read(being) as unit:
        top = nodes.top(unit)
    aged = 0
    for first in range(1, top + 1, AT_ONCE):
        with database.write(being) as unit:
            aged += _age(unit, first, first + AT_ONCE, now, token)
    return aged


def _age(unit: Unit, first: int, after: int, now: float, token: str) -> int:
    part = f"{_ACTIVE} AND seq >= ? AND seq < ?"
    found = unit.rows(f"SELECT seq FROM nodes WHERE {part} ORDER BY seq", first, after)
    seqs = [seq for (seq,) in found]
    if not seqs:
        return 0
    sql = f"UPDATE nodes SET session_count = session_count + 1 WHERE {part}"
    unit.run(sql, first, after)
    change = Change(AGES, key_of(seqs), {"by": 0}, {"by": 1})
    why = f"{counted(len(seqs), 'memory', 'memories')} grew one patrol older"
    ledger.add(unit, now, "aged", why, token, [change])
    return len(seqs)
