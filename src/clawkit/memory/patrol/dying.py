"""❸ Memories that have faded are dying; those that have been for some days, and still are, die.

So each has a week in which it can be merged or asked for. To be dead is not to be gone: recall
finds the dead, and asking for them revives them. Pinned memories never die, and what was asked for
while it was dying goes back to the living. If more would die than the cap allows, the weakest do,
and the others are left for the next patrol.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clawkit.memory.patrol import clusters
from clawkit.memory.patrol.changes import set_nodes
from clawkit.memory.patrol.reviving import USED, back_to_life
from clawkit.memory.patrol.strength import Age
from clawkit.memory.records import Change
from clawkit.memory.store import ledger
from clawkit.memory.store.database import Unit

FEWEST_ALLOWED = 20
SHARE_ALLOWED = 0.1
_AT_ONCE = 50_000


class Faded(msgspec.Struct, frozen=True):
    """How many memories began to die, died, came back, and would have died without the cap."""

    dying: int = 0
    dead: int = 0
    spared: int = 0
    left: int = 0


def cap_of(unit: Unit, cap: int | None) -> int:
    """How many memories one step may take: what is asked for, else twenty or a tenth."""
    if cap is not None:
        return cap
    row = unit.row(
        "SELECT count(*) FROM nodes WHERE being = $being AND status = 'active' AND ended IS NULL"
    )
    return max(FEWEST_ALLOWED, int((row[0] if row else 0) * SHARE_ALLOWED))


def fade(unit: Unit, found: Sequence[int], cap: int | None, now: float, token: str) -> Faded:
    """Let go what has faded, one step at a time; `found` is what was faint a moment ago."""
    spared, over = _dying(unit, now)
    dead = sorted(over[: cap_of(unit, cap)])
    dying = _still_faint(unit, found, now)
    changes: list[Change] = back_to_life(unit, spared, "dying")
    if dead:
        changes.append(set_nodes(unit, dead, {"status": "dying"}, {"status": "dead"}))
    if dying:
        changes.append(set_nodes(unit, dying, {"status": "active"}, {"status": "dying"}))
    if changes:
        why = f"{len(dying)} began to fade, {len(dead)} died, {len(spared)} came back"
        ledger.add(unit, now, "faded", why, token, changes)
        clusters.recompute_around(unit, [*dying, *(seq for seq, _ in spared)])
    return Faded(len(dying), len(dead), len(spared), len(over) - len(dead))


def _dying(unit: Unit, now: float) -> tuple[list[tuple[int, int]], list[int]]:
    """The dying that live again, with their `session_count`, and those to let go, weakest first."""
    rows = unit.rows(
        f"SELECT seq, session_count, pinned, importance, {USED}, reactivation_count FROM nodes "
        "WHERE being = $being AND status = 'dying' AND ended IS NULL ORDER BY seq"
    )
    age = Age(now)
    spared: list[tuple[int, int]] = []
    over: list[tuple[float, int]] = []
    for seq, sessions, pinned, *life in rows:
        if pinned or not age.is_faint(*life):
            spared.append((seq, sessions))
        elif age.is_over(*life):
            over.append((age.strength(*life), seq))
    return spared, [seq for _, seq in sorted(over)]


def _still_faint(unit: Unit, found: Sequence[int], now: float) -> list[int]:
    """Somebody may have asked for them since they were found."""
    sql = (
        f"SELECT seq, importance, {USED}, reactivation_count FROM nodes WHERE being = $being "
        "AND status = 'active' AND ended IS NULL AND pinned = 0 AND seq IN (??)"
    )
    age = Age(now)
    return sorted(seq for seq, *life in unit.among(sql, found) if age.is_faint(*life))


def faint(unit: Unit, now: float) -> list[int]:
    """The active memories that are faint now. All are looked at, so do it where nobody waits."""
    found: list[int] = []
    age, after = Age(now), 0
    while True:
        rows = unit.rows(
            f"SELECT seq, importance, {USED}, reactivation_count FROM nodes WHERE being = $being "
            "AND status = 'active' AND ended IS NULL AND pinned = 0 AND seq > ? "
            "ORDER BY seq LIMIT ?",
            after,
            _AT_ONCE,
        )
        found += [seq for seq, *life in rows if age.is_faint(*life)]
        if len(rows) < _AT_ONCE:
            return found
        after = rows[-1][0]
