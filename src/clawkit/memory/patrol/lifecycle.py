"""❷ ❸ ❺ How memories age, fade, die and come back to life.

How alive a memory is, days and use decide (`strength`), not the number of patrols, which people see
as `session_count`: what is tidied up ten times a day must not age ten times as fast. Each doubling
of how often a memory was asked for adds another `LIFE`.

A memory that has faded is dying for a week in which it can be merged or asked for. To be dead is
not to be gone: recall finds the dead, and asking for them revives them. Pinned memories never die,
and what was asked for while it was dying goes back to the living. If more would die than the cap
allows, the weakest do, and the others are left for the next patrol.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from clawkit.memory.patrol import PatrolContext, centroids
from clawkit.memory.records import Change
from clawkit.memory.store import ledger, nodes, reads
from clawkit.memory.store.ledger import AGES, key_of, set_nodes
from clawkit.store.database import Unit
from clawkit.text.counts import counted

DAY = 86_400.0
LIFE = 180.0
"""Days after which a memory that was never asked for has 37 % of its importance left."""

FAINT = 0.05
"""At this strength or below a memory is dying; above it, it lives again."""

GRACE = 7.0
"""Days in which a faint memory is dying and can be merged or asked for, before it is dead."""


class Age:
    """How old memories are at one moment; each is given by what `_LIFE` selects of it."""

    def __init__(self, now: float) -> None:
        self._now = now

    def is_faint(self, importance: float, last_activated: float, uses: int) -> bool:
        return self.strength(importance, last_activated, uses) <= FAINT

    def is_over(self, importance: float, last_activated: float, uses: int) -> bool:
        """Whether it has been faint for as long as a memory may be dying."""
        days = self._days(last_activated) - GRACE
        return days >= 0 and strength(importance, days, uses) <= FAINT

    def strength(self, importance: float, last_activated: float, uses: int) -> float:
        return strength(importance, self._days(last_activated), uses)

    def _days(self, last_activated: float) -> float:
        """A clock that went back makes nothing older."""
        return max(0.0, self._now - last_activated) / DAY


def strength(importance: float, days: float, uses: int = 0) -> float:
    """What is left after `days` without use of a memory that was asked for `uses` times."""
    return importance * math.exp(-days / (LIFE * (1 + math.log2(1 + uses))))


USED = "CASE WHEN last_activated < created THEN created ELSE last_activated END"
"""When a memory was last asked for: when it was made, if never."""

_CURRENT = "FROM nodes WHERE being = $being AND ended IS NULL"
_LIFE = f"importance, {USED}, reactivation_count {_CURRENT}"


def revive(unit: Unit, now: float, token: str) -> int:
    """Bring back the dead that are strong enough; gives how many."""
    rows = unit.rows(f"SELECT seq, session_count, {_LIFE} AND status = 'dead' ORDER BY seq")
    age = Age(now)
    alive = [(seq, sessions) for seq, sessions, *life in rows if not age.is_faint(*life)]
    if alive:
        changes = reactivate(unit, alive, "dead")
        why = f"{counted(len(alive), 'memory')} asked for while dead"
        ledger.add(unit, now, "revived", why, token, changes)
        centroids.recompute(unit, centroids.clusters_of(unit, [seq for seq, _ in alive]))
    return len(alive)


def reactivate(unit: Unit, found: Sequence[tuple[int, int]], was: str) -> list[Change]:
    """Make memories active, given by number and `session_count`, which is reset."""
    changes: list[Change] = []
    for seq, sessions in found:
        before = {"status": was, "session_count": sessions}
        after = {"status": "active", "session_count": 0}
        nodes.change(unit, seq, after)
        changes.append(Change("nodes", str(seq), before, after))
    return changes


AT_ONCE = 20_000


def count_reads(unit: Unit) -> int:
    """Count what read-only readers have read, each memory once, however often they did."""
    read = reads.take(unit)
    unit.many(
        "UPDATE nodes SET session_count = CASE status WHEN 'dead' THEN session_count ELSE 0 END, "
        "reactivation_count = reactivation_count + CASE status WHEN 'dead' THEN 2 ELSE 1 END, "
        "last_activated = CASE WHEN last_activated < ? THEN ? ELSE last_activated END "
        "WHERE being = $being AND seq = ?",
        [(last, last, seq) for seq, last in sorted(read.items())],
    )
    return len(read)


def age(run: PatrolContext) -> int:
    """One patrol more since they were last activated; gives how many memories that are.

    A large Being is counted part by part, so that nobody who wants to write waits long.
    """
    with run.database.read(run.being) as unit:
        top = nodes.top(unit)
    aged = 0
    for first in range(1, top + 1, AT_ONCE):
        with run.database.write(run.being) as unit:
            aged += _age(unit, first, first + AT_ONCE, run.now, run.token)
    return aged


def _age(unit: Unit, first: int, after: int, now: float, token: str) -> int:
    part = "being = $being AND status = 'active' AND ended IS NULL AND seq >= ? AND seq < ?"
    found = unit.rows(f"SELECT seq FROM nodes WHERE {part} ORDER BY seq", first, after)
    seqs = [seq for (seq,) in found]
    if not seqs:
        return 0
    unit.run(f"UPDATE nodes SET session_count = session_count + 1 WHERE {part}", first, after)
    change = Change(AGES, key_of(seqs), {"by": 0}, {"by": 1})
    why = f"{counted(len(seqs), 'memory')} grew one patrol older"
    ledger.add(unit, now, "aged", why, token, [change])
    return len(seqs)


FEWEST_ALLOWED = 20
SHARE_ALLOWED = 0.1
_AT_ONCE = 50_000
_MAY_FADE = f"SELECT seq, {_LIFE} AND status = 'active' AND pinned = 0"


class Faded(msgspec.Struct, frozen=True):
    """How many memories began to die, died, came back, and would have died without the cap."""

    dying: int = 0
    dead: int = 0
    spared: int = 0
    left: int = 0


def step_cap(unit: Unit, cap: int | None) -> int:
    """How many memories one step may take: what is asked for, else twenty or a tenth."""
    if cap is not None:
        return cap
    ((active,),) = unit.rows(f"SELECT count(*) {_CURRENT} AND status = 'active'")
    return max(FEWEST_ALLOWED, int(active * SHARE_ALLOWED))


def fade(unit: Unit, found: Sequence[int], run: PatrolContext) -> Faded:
    """Move faint memories one step towards dead; `found` was faint a moment ago."""
    spared, over = _dying(unit, run.now)
    dead = sorted(over[: step_cap(unit, run.cap)])
    dying = _still_faint(unit, found, run.now)
    changes: list[Change] = reactivate(unit, spared, "dying")
    if dead:
        changes.append(set_nodes(unit, dead, {"status": "dying"}, {"status": "dead"}))
    if dying:
        changes.append(set_nodes(unit, dying, {"status": "active"}, {"status": "dying"}))
    if changes:
        why = f"{len(dying)} began to fade, {len(dead)} died, {len(spared)} came back"
        ledger.add(unit, run.now, "faded", why, run.token, changes)
        moved = [*dying, *(seq for seq, _ in spared)]
        centroids.recompute(unit, centroids.clusters_of(unit, moved))
    return Faded(len(dying), len(dead), len(spared), len(over) - len(dead))


def _dying(unit: Unit, now: float) -> tuple[list[tuple[int, int]], list[int]]:
    """The dying to reactivate, with their `session_count`, and those that die, weakest first."""
    sql = f"SELECT seq, session_count, pinned, {_LIFE} AND status = 'dying' ORDER BY seq"
    age = Age(now)
    spared: list[tuple[int, int]] = []
    over: list[tuple[float, int]] = []
    for seq, sessions, pinned, *life in unit.rows(sql):
        if pinned or not age.is_faint(*life):
            spared.append((seq, sessions))
        elif age.is_over(*life):
            over.append((age.strength(*life), seq))
    return spared, [seq for _, seq in sorted(over)]


def _still_faint(unit: Unit, found: Sequence[int], now: float) -> list[int]:
    """Those that nobody has asked for since they were found."""
    sql, age = f"{_MAY_FADE} AND seq IN (??)", Age(now)
    return sorted(seq for seq, *life in unit.among(sql, found) if age.is_faint(*life))


def faint(unit: Unit, now: float) -> list[int]:
    """The active memories that are faint now. All are looked at, so do it where nobody waits."""
    found: list[int] = []
    age, after = Age(now), 0
    while rows := unit.rows(f"{_MAY_FADE} AND seq > ? ORDER BY seq LIMIT ?", after, _AT_ONCE):
        found += [seq for seq, *life in rows if age.is_faint(*life)]
        after = rows[-1][0]
    return found
