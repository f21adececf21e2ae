"""❺ The dead that were asked for live again, for as long as their use makes them last."""

from __future__ import annotations

from collections.abc import Sequence

from clawkit.memory.patrol import clusters
from clawkit.memory.patrol.changes import counted
from clawkit.memory.patrol.strength import Age
from clawkit.memory.records import Change
from clawkit.memory.store import ledger, nodes
from clawkit.memory.store.database import Unit

USED = "CASE WHEN last_activated < created THEN created ELSE last_activated END"
"""When a memory was last asked for: when it was made, if never."""


def revive(unit: Unit, now: float, token: str) -> int:
    """Bring back the dead that are strong enough; gives how many."""
    rows = unit.rows(
        f"SELECT seq, session_count, importance, {USED}, reactivation_count FROM nodes "
        "WHERE being = $being AND status = 'dead' AND ended IS NULL ORDER BY seq"
    )
    age = Age(now)
    alive = [(seq, sessions) for seq, sessions, *life in rows if not age.is_faint(*life)]
    if alive:
        changes = back_to_life(unit, alive, "dead")
        why = f"{counted(len(alive), 'memory', 'memories')} asked for while dead"
        ledger.add(unit, now, "revived", why, token, changes)
        clusters.recompute_around(unit, [seq for seq, _ in alive])
    return len(alive)


def back_to_life(unit: Unit, found: Sequence[tuple[int, int]], was: str) -> list[Change]:
    """Make memories active: their number and their `session_count`, which begins anew."""
    changes: list[Change] = []
    for seq, sessions in found:
        before = {"status": was, "session_count": sessions}
        after = {"status": "active", "session_count": 0}
        nodes.change(unit, seq, after)
        changes.append(Change("nodes", str(seq), before, after))
    return changes
