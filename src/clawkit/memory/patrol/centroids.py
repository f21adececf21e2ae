"""Which cluster a memory belongs to, and each cluster's centroid vector.

A centroid is the mean of a cluster's active nodes; of a very large cluster, of its newest ones, so
that what a patrol costs does not grow with all that was ever remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from clawkit.memory.patrol.importance import is_business
from clawkit.memory.records import Change, Cluster, Scene
from clawkit.memory.store import clusters
from clawkit.store.database import Unit

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

NEAR = 0.45
"""The cosine at which a memory joins a cluster, or a small cluster its neighbour."""

BUSINESS, PRIVATE = clusters.ROOTS
_MOST_IN_A_MEAN = 4096
_NEAR_FROM_ORIGIN = 0.3
_ROUNDING = 1e-4  # vectors are kept in half precision


def add(unit: Unit, name: str, parent: int | None, digest: str = "") -> tuple[Cluster, Change]:
    """A new cluster, and what the ledger says of it."""
    cluster = Cluster(clusters.next_number(unit), str(uuid4()), name, parent, digest)
    clusters.add(unit, cluster)
    row = {"id": cluster.id, "name": name, "parent": parent, "digest": digest, "gone": None}
    return cluster, Change("clusters", str(cluster.n), None, row)


def root(unit: Unit, name: str) -> int:
    """The root of that name, made when it is first needed; it stays, whatever is undone."""
    for cluster in clusters.every(unit):
        if cluster.parent is None and cluster.name == name:
            return cluster.n
    cluster, _ = add(unit, name, None)
    return cluster.n


def root_for(scene: Scene) -> str:
    """Which root a scene belongs to when it is near to nothing."""
    words = " ".join((scene.action, scene.setting, *scene.themes))
    return BUSINESS if is_business(words) else PRIVATE


def nearest(unit: Unit, model: str, vectors: Floats) -> list[int | None]:
    """For each vector the nearest topic, else the nearest root; None where none is near."""
    import numpy as np

    middles = clusters.middles(unit, model)
    if not middles or not len(vectors):
        return [None] * len(vectors)
    roots = [c.n for c in clusters.every(unit) if c.parent is None and c.n in middles]
    topics = sorted(middles.keys() - set(roots))
    origin = np.stack(list(middles.values())).mean(axis=0) if len(middles) > 1 else None
    found = _of(topics, near(vectors, _stacked(middles, topics), origin))
    if len(topics) and None not in found:
        return found
    near_roots = _of(roots, near(vectors, _stacked(middles, roots)))
    return [topic or root for topic, root in zip(found, near_roots, strict=True)]


def near(vectors: Floats, middles: Floats, origin: Floats | None = None) -> list[int | None]:
    """For each vector which middle is nearest, None where none is near.

    With an origin it must be near from there too: all that one person says has much in common, and
    only what is left of it tells topics apart.
    """
    if not len(middles):
        return [None] * len(vectors)
    cosines = vectors @ unit_length(middles).T
    seen = cosines
    fits = cosines >= NEAR - _ROUNDING
    if origin is not None:
        seen = unit_length(vectors - origin) @ unit_length(middles - origin).T
        fits &= seen >= _NEAR_FROM_ORIGIN
    best = seen.argmax(axis=1).tolist()
    return [at if fits[row, at] else None for row, at in enumerate(best)]


def _of(numbers: Sequence[int], found: Sequence[int | None]) -> list[int | None]:
    return [None if at is None else numbers[at] for at in found]


def _stacked(middles: Mapping[int, Floats], numbers: Sequence[int]) -> Floats:
    import numpy as np

    return np.array([middles[n] for n in numbers], np.float32)


def recompute(unit: Unit, cluster: int, model: str) -> None:
    """Put the middle of a cluster where its active nodes are."""
    if not model:
        return
    rows = unit.rows(
        "SELECT seq FROM nodes WHERE being = $being AND cluster = ? AND status = 'active' "
        "AND ended IS NULL ORDER BY seq DESC LIMIT ?",
        cluster,
        _MOST_IN_A_MEAN,
    )
    found = unit.vectors.fetch(model, [seq for (seq,) in rows])
    clusters.place(unit, cluster, model, _mean(found))


def recompute_all(unit: Unit, numbers: Iterable[int], model: str) -> None:
    for n in sorted(set(numbers)):
        recompute(unit, n, model)


def recompute_around(unit: Unit, seqs: Sequence[int]) -> None:
    """The same for the clusters of these nodes, after some of them woke or fell asleep."""
    # Not DISTINCT: for that, SQLite reads all nodes by their cluster, each time.
    sql = "SELECT cluster FROM nodes WHERE being = $being AND seq IN (??)"
    recompute_as_they_are(unit, {cluster for (cluster,) in unit.among(sql, seqs)})


def recompute_as_they_are(unit: Unit, numbers: Iterable[int]) -> None:
    """The same, each in the space where its middle was."""
    there = dict(unit.rows("SELECT n, model FROM clusters WHERE being = $being"))
    for n in sorted(set(numbers)):
        recompute(unit, n, there.get(n, ""))


def unit_length(rows: Floats) -> Floats:
    """Rows of length one; what has no direction stays zero."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.maximum(lengths, 1e-9)).astype(np.float32)


def _mean(vectors: dict[int, Floats]) -> Floats | None:
    import numpy as np

    if not vectors:
        return None
    return np.stack([vectors[seq] for seq in sorted(vectors)]).mean(axis=0, dtype=np.float32)
