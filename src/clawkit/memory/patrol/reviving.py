"""❺ The dead that were asked for live again.

Each time that a memory was asked for counts as a patrol that has not been. What is counted so when
it comes back to life is used up: it lives on for that long, and does not come back for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from clawkit.memory.patrol import clusters
from clawkit.memory.patrol.changes import counted
from clawkit.memory.patrol.strength import is_faint
from clawkit.memory.records import Change
from clawkit.memory.store import ledger, nodes
from clawkit.memory.store.database import Unit


def revive(unit: Unit, now: float, token: str) -> int:
    """Bring back the dead that are strong enough; gives how many."""
    rows = unit.rows(
        "SELECT seq, importance, session_count, reactivation_count FROM nodes "
        "WHERE being = $being AND status = 'dead' AND ended IS NULL ORDER BY seq"
    )
    alive = [
        (seq, sessions, asked_for)
        for seq, importance, sessions, asked_for in rows
        if not is_faint(importance, sessions, asked_for)
    ]
    if alive:
        changes = back_to_life(unit, alive, "dead")
        why = f"{counted(len(alive), 'memory', 'memories')} asked for while dead"
        ledger.add(unit, now, "revived", why, token, changes)
        clusters.recompute_around(unit, [seq for seq, _, _ in alive])
    return len(alive)


def back_to_life(unit: Unit, found: Sequence[tuple[int, int, int]], was: str) -> list[Change]:
    """Make memories active: their number, their `session_count`, their `reactivation_count`."""
    changes: list[Change] = []
    for seq, sessions, asked_for in found:
        before = {"status": was, "session_count": sessions, "reactivation_count": asked_for}
        after = {
            "status": "active",
            "session_count": max(0, sessions - asked_for),
            "reactivation_count": 0,
        }
        nodes.change(unit, seq, after)
        changes.append(Change("nodes", str(seq), before, after))
    return changes
