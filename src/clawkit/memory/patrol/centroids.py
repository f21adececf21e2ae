"""Which cluster a memory belongs to, and each cluster's centroid vector and digest.

A centroid is the mean of a cluster's active nodes; of a very large cluster, of its newest ones, so
that what a patrol costs does not grow with all that was ever remembered. The digest here is the one
that needs no model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4

from clawkit.memory.records import Change, Cluster, Node, Scene
from clawkit.memory.store import clusters, nodes
from clawkit.store.database import Unit
from clawkit.text.normalization import shortened
from clawkit.text.tables import table, unbroken

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

NEAR = 0.45
"""The cosine at which a memory joins a cluster, or a small cluster its neighbour."""

BUSINESS, PRIVATE = clusters.ROOTS
_MOST_DESCRIBED = 20
_ACTIONS, _LONGEST_ACTION = 3, 120
_NAMES = 4
_NOBODY = frozenset(("user", "assistant", "i", "me"))
_MODELS = "SELECT n, model FROM clusters WHERE being = $being"
_MOST_IN_A_MEAN = 4096
_NEAR_FROM_ORIGIN = 0.3
_ROUNDING = 1e-4  # vectors are kept in half precision


def add(unit: Unit, name: str, parent: int | None, digest: str = "") -> tuple[Cluster, Change]:
    """Adds a cluster; returns it with its ledger change."""
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
    """The root cluster of a scene that is near to no cluster."""
    words = " ".join((scene.action, scene.setting, *scene.themes))
    return BUSINESS if _business().search(words) else PRIVATE


@cache
def _business() -> re.Pattern[str]:
    return re.compile(unbroken(table("importance")["business"]), re.IGNORECASE)


def nearest(unit: Unit, model: str, vectors: Floats) -> list[int | None]:
    """For each vector the nearest topic, else the nearest root; None where none is near."""
    import numpy as np

    centroids = clusters.centroids(unit, model)
    if not centroids or not len(vectors):
        return [None] * len(vectors)
    roots = [c.n for c in clusters.every(unit) if c.parent is None and c.n in centroids]
    topics = sorted(centroids.keys() - set(roots))
    origin = np.stack(list(centroids.values())).mean(axis=0) if len(centroids) > 1 else None
    found = _of(topics, near(vectors, _stacked(centroids, topics), origin))
    if len(topics) and None not in found:
        return found
    near_roots = _of(roots, near(vectors, _stacked(centroids, roots)))
    return [topic or root for topic, root in zip(found, near_roots, strict=True)]


def near(vectors: Floats, centroids: Floats, origin: Floats | None = None) -> list[int | None]:
    """For each vector which centroid is nearest, None where none is near.

    With an origin it must be near from there too: all that one person says has much in common, and
    only what is left of it tells topics apart.
    """
    if not len(centroids):
        return [None] * len(vectors)
    cosines = vectors @ unit_length(centroids).T
    seen = cosines
    fits = cosines >= NEAR - _ROUNDING
    if origin is not None:
        seen = unit_length(vectors - origin) @ unit_length(centroids - origin).T
        fits &= seen >= _NEAR_FROM_ORIGIN
    best = seen.argmax(axis=1).tolist()
    return [at if fits[row, at] else None for row, at in enumerate(best)]


def _of(numbers: Sequence[int], found: Sequence[int | None]) -> list[int | None]:
    return [None if at is None else numbers[at] for at in found]


def _stacked(centroids: Mapping[int, Floats], numbers: Sequence[int]) -> Floats:
    import numpy as np

    return np.array([centroids[n] for n in numbers], np.float32)


def recompute(unit: Unit, numbers: Iterable[int], model: str | None = None) -> None:
    """Compute centroids anew; without a model, each in the space where it was."""
    there = {} if model is not None else dict(unit.rows(_MODELS))
    for n in sorted(set(numbers)):
        space = model if model is not None else there.get(n)
        if space:
            rows = unit.rows(
                "SELECT seq FROM nodes WHERE being = $being AND cluster = ? AND status = 'active' "
                "AND ended IS NULL ORDER BY seq DESC LIMIT ?",
                n,
                _MOST_IN_A_MEAN,
            )
            found = unit.vectors.fetch(space, [seq for (seq,) in rows])
            clusters.set_centroid(unit, n, space, _mean(found))


def refresh(unit: Unit, numbers: Iterable[int]) -> None:
    """Recompute centroids and plain digests after memories have moved or ended."""
    numbers = set(numbers)
    recompute(unit, numbers)
    for cluster in clusters.every(unit):
        if cluster.n in numbers and cluster.digest:
            clusters.describe(unit, cluster.n, cluster.name, digest(unit, cluster.n))


def clusters_of(unit: Unit, seqs: Sequence[int]) -> set[int]:
    """The clusters that these nodes are in."""
    # Not DISTINCT: for that, SQLite reads all nodes by their cluster, each time.
    sql = "SELECT cluster FROM nodes WHERE being = $being AND seq IN (??)"
    return {cluster for (cluster,) in unit.among(sql, seqs)}


def unit_length(rows: Floats) -> Floats:
    """Rows normalised to length one; a zero row stays zero."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.maximum(lengths, 1e-9)).astype(np.float32)


def _mean(vectors: dict[int, Floats]) -> Floats | None:
    import numpy as np

    if not vectors:
        return None
    return np.stack([vectors[seq] for seq in sorted(vectors)]).mean(axis=0, dtype=np.float32)


def most_important(unit: Unit, cluster: int) -> list[Node]:
    """The most important active memories of a cluster."""
    return nodes.page(unit, cluster=cluster, statuses=("active",), limit=_MOST_DESCRIBED)


def digest(unit: Unit, cluster: int) -> str:
    """A digest without a model: who a cluster is about, and its most important memories."""
    found = most_important(unit, cluster)
    people = Counter(name for node in found for name in node.scene.actors)
    names = [name for name, _ in people.most_common() if name.casefold() not in _NOBODY][:_NAMES]
    actions = [
        shortened(" ".join(node.scene.action.split()), _LONGEST_ACTION) for node in found[:_ACTIONS]
    ]
    said = "; ".join(dict.fromkeys(actions))
    return f"{', '.join(names)}: {said}" if names and said else said
