"""❸ Memories that have faded are dying; those that were dying already, and still are, die.

So each has one patrol in which it can be merged or asked for. To be dead is not to be gone: recall
finds the dead, and asking for them revives them. Pinned memories never die, and what was asked for
while it was dying goes back to the living. If more would die than the cap allows, nothing happens.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clawkit.memory.patrol import clusters
from clawkit.memory.patrol.changes import set_nodes
from clawkit.memory.patrol.reviving import back_to_life
from clawkit.memory.patrol.strength import is_faint
from clawkit.memory.records import Change
from clawkit.memory.store import ledger
from clawkit.memory.store.database import Unit

FEWEST_ALLOWED = 20
SHARE_ALLOWED = 0.1
_AT_ONCE = 50_000


class CapReached(Exception):
    """More memories would go than one patrol may take."""


class Faded(msgspec.Struct, frozen=True):
    """How many memories began to die, died, and came back before they did."""

    dying: int = 0
    dead: int = 0
    spared: int = 0


def cap_of(unit: Unit, cap: int | None) -> int:
    """How many memories one patrol may take: what is asked for, else twenty or a tenth."""
    if cap is not None:
        return cap
    row = unit.row(
        "SELECT count(*) FROM nodes WHERE being = $being AND status = 'active' AND ended IS NULL"
    )
    return max(FEWEST_ALLOWED, int((row[0] if row else 0) * SHARE_ALLOWED))


def check_cap(unit: Unit, cap: int | None, wanted: int, what: str) -> None:
    allowed = cap_of(unit, cap)
    if wanted > allowed:
        raise CapReached(
            f"{wanted} memories would {what}, and one patrol may take {allowed}: "
            "nothing of that was done; `claw memory patrol --cap N` allows more"
        )


def fade(unit: Unit, found: Sequence[int], cap: int | None, now: float, token: str) -> Faded:
    """Let go what has faded, one step at a time; `found` is what was faint a moment ago."""
    dead: list[int] = []
    spared: list[tuple[int, int, int]] = []
    for seq, importance, pinned, sessions, asked_for in _dying(unit):
        if pinned or not is_faint(importance, sessions, asked_for):
            spared.append((seq, sessions, asked_for))
        else:
            dead.append(seq)
    check_cap(unit, cap, len(dead), "die")
    dying = _still_faint(unit, found)
    changes: list[Change] = back_to_life(unit, spared, "dying")
    if dead:
        changes.append(set_nodes(unit, dead, {"status": "dying"}, {"status": "dead"}))
    if dying:
        changes.append(set_nodes(unit, dying, {"status": "active"}, {"status": "dying"}))
    if changes:
        why = f"{len(dying)} began to fade, {len(dead)} died, {len(spared)} came back"
        ledger.add(unit, now, "faded", why, token, changes)
        clusters.recompute_around(unit, [*dying, *(seq for seq, _, _ in spared)])
    return Faded(len(dying), len(dead), len(spared))


def _dying(unit: Unit) -> list[tuple[int, float, int, int, int]]:
    rows = unit.rows(
        "SELECT seq, importance, pinned, session_count, reactivation_count FROM nodes "
        "WHERE being = $being AND status = 'dying' AND ended IS NULL ORDER BY seq"
    )
    return [(row[0], row[1], row[2], row[3], row[4]) for row in rows]


def _still_faint(unit: Unit, found: Sequence[int]) -> list[int]:
    """Somebody may have asked for them since they were found."""
    sql = (
        "SELECT seq, importance, session_count FROM nodes WHERE being = $being "
        "AND status = 'active' AND ended IS NULL AND pinned = 0 AND seq IN (??)"
    )
    rows = unit.among(sql, found)
    return sorted(seq for seq, importance, sessions in rows if is_faint(importance, sessions))


def faint(unit: Unit) -> list[int]:
    """The active memories that are faint now. All are looked at, so do it where nobody waits."""
    found: list[int] = []
    after = 0
    while True:
        rows = unit.rows(
            "SELECT seq, importance, session_count FROM nodes WHERE being = $being "
            "AND status = 'active' AND ended IS NULL AND pinned = 0 AND seq > ? "
            "ORDER BY seq LIMIT ?",
            after,
            _AT_ONCE,
        )
        found += [seq for seq, importance, sessions in rows if is_faint(importance, sessions)]
        if len(rows) < _AT_ONCE:
            return found
        after = rows[-1][0]
