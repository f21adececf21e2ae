"""The clusters of one Being, and their centroid vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.memory.records import Cluster
from clawkit.store.database import Unit

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

ROOTS = ("Business", "Private")
_SELECT = "SELECT n, id, name, parent, digest FROM clusters WHERE being = $being AND gone IS NULL"


def every(unit: Unit) -> list[Cluster]:
    """The clusters that are not gone, roots first."""
    return [Cluster(*row) for row in unit.rows(f"{_SELECT} ORDER BY n")]


def by_number(unit: Unit) -> dict[int, Cluster]:
    return {cluster.n: cluster for cluster in every(unit)}


def by_id(unit: Unit, cluster_id: str) -> Cluster | None:
    row = unit.row(f"{_SELECT} AND id = ?", cluster_id)
    return Cluster(*row) if row else None


def next_number(unit: Unit) -> int:
    row = unit.row("SELECT max(n) FROM clusters WHERE being = $being")
    return (row[0] or 0) + 1 if row else 1


def add(unit: Unit, cluster: Cluster) -> None:
    unit.insert("clusters", msgspec.structs.asdict(cluster))


def describe(unit: Unit, n: int, name: str, digest: str) -> None:
    unit.run(
        "UPDATE clusters SET name = ?, digest = ? WHERE being = $being AND n = ?", name, digest, n
    )


def set_gone(unit: Unit, n: int, gone: float | None) -> None:
    unit.run("UPDATE clusters SET gone = ? WHERE being = $being AND n = ?", gone, n)


def set_centroid(unit: Unit, n: int, model: str, vector: Floats | None) -> None:
    data = None if vector is None else vector.astype("<f4").tobytes()
    unit.run(
        "UPDATE clusters SET model = ?, vector = ? WHERE being = $being AND n = ?", model, data, n
    )


def centroids(unit: Unit, model: str) -> dict[int, Floats]:
    """The centroids in this model's space; clusters placed by another model are left out."""
    rows = unit.rows(
        "SELECT n, vector FROM clusters "
        "WHERE being = $being AND gone IS NULL AND model = ? AND vector IS NOT NULL",
        model,
    )
    return {n: np.frombuffer(data, dtype="<f4") for n, data in rows}
