"""❼ Topics that have become small join their nearest neighbour or their root; empty ones go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clawkit.memory.patrol import clusters
from clawkit.memory.patrol.changes import counted, set_nodes
from clawkit.memory.records import Change, Cluster
from clawkit.memory.store import clusters as stored
from clawkit.memory.store import ledger, nodes
from clawkit.memory.store.database import Unit

if TYPE_CHECKING:
    from clawkit.memory.arrays import Floats

SMALL = 2
"""A topic with this many active memories or fewer is no topic of its own."""


def join(unit: Unit, model: str, now: float, token: str) -> int:
    """Dissolve small topics; gives how many are gone."""
    active = _active(unit)
    there = {cluster.n: cluster for cluster in stored.every(unit)}
    changes: list[Change] = []
    for cluster in [c for c in there.values() if c.parent is not None]:
        if active.get(cluster.n, 0) > SMALL:
            continue
        target = _neighbour(unit, cluster, list(there.values()), model)
        changes += _dissolve(unit, cluster, target, now)
        del there[cluster.n]
        active[target] = active.get(target, 0) + active.pop(cluster.n, 0)
        clusters.recompute(unit, target, model)
    gone = sum(change.table == "clusters" for change in changes)
    if changes:
        why = f"{counted(gone, 'small topic', 'small topics')} joined others"
        ledger.add(unit, now, "joined", why, token, changes)
    return gone


def move(unit: Unit, seqs: list[int], source: int, target: int) -> list[Change]:
    """Put memories into another cluster."""
    return [set_nodes(unit, seqs, {"cluster": source}, {"cluster": target})] if seqs else []


def _active(unit: Unit) -> dict[int, int]:
    counted = nodes.counts(unit)
    return {cluster: n for (cluster, status), n in counted.items() if status == "active"}


def _dissolve(unit: Unit, cluster: Cluster, target: int, now: float) -> list[Change]:
    # Memories that have ended move too: one that an undo brings back must have a place.
    rows = unit.rows("SELECT seq FROM nodes WHERE being = $being AND cluster = ?", cluster.n)
    moved = move(unit, [seq for (seq,) in rows], cluster.n, target)
    stored.set_gone(unit, cluster.n, now)
    return [*moved, Change("clusters", str(cluster.n), {"gone": None}, {"gone": now})]


def _neighbour(unit: Unit, cluster: Cluster, there: list[Cluster], model: str) -> int:
    """The nearest topic under the same root, if it is near; else the root."""
    assert cluster.parent is not None
    middles = stored.middles(unit, model) if model else {}
    own = middles.get(cluster.n)
    siblings = [
        other.n
        for other in there
        if other.parent == cluster.parent and other.n != cluster.n and other.n in middles
    ]
    if own is None or not siblings:
        return cluster.parent
    cosines = {n: _cosine(own, middles[n]) for n in siblings}
    best = max(siblings, key=lambda n: (cosines[n], -n))
    return best if cosines[best] > clusters.NEAR else cluster.parent


def _cosine(a: Floats, b: Floats) -> float:
    one, other = clusters.unit_length(a[None, :]), clusters.unit_length(b[None, :])
    return float((one @ other.T)[0, 0])
