"""What a person sees of a Being at a glance: its clusters, its recent memories, what waits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from clawkit.errors import BeingError
from clawkit.memory.records import Being, Cluster, Node, Note
from clawkit.memory.store import clusters, nodes, notes
from clawkit.memory.store.database import Unit

if TYPE_CHECKING:
    from clawkit.memory.store.database import Database

_SHORTEST_ID = 4
_ID = re.compile(r"[0-9a-fA-F-]+")
_MOST_WAITING = 20


class Branch(Struct, frozen=True):
    """A cluster with how many memories it has by status, and what is below it."""

    cluster: Cluster
    counts: dict[str, int]
    branches: tuple[Branch, ...] = ()


class View(Struct, frozen=True):
    """A Being at one moment; `last_patrol` in seconds since 1970."""

    being: Being
    memories: int
    tree: tuple[Branch, ...]
    recent: tuple[Node, ...]
    waiting_scenes: int
    waiting: tuple[Note, ...]
    notes: tuple[Note, ...]
    last_patrol: float | None


def view(database: Database, being: Being, recent: int = 10) -> View:
    with database.read(being.n) as unit:
        counts = nodes.counts(unit)
        return View(
            being,
            sum(counts.values()),
            _tree(clusters.every(unit), counts),
            tuple(nodes.page(unit, order="created DESC, seq DESC", limit=recent)),
            notes.count(unit, "scene"),
            tuple(notes.waiting(unit, "scene", _MOST_WAITING)),
            tuple(notes.waiting(unit, "note", _MOST_WAITING)),
            last_patrol(unit),
        )


def last_patrol(unit: Unit) -> float | None:
    """When the last patrol was; None if there was none that had anything to age."""
    row = unit.row("SELECT max(at) FROM ledger WHERE being = $being AND kind = 'aged'")
    return row[0] if row else None


def node_called(unit: Unit, called: str) -> Node:
    """The node of an id, or of the beginning of one that no other has."""
    called = called.strip().lower()
    if len(called) < _SHORTEST_ID or not _ID.fullmatch(called):
        raise BeingError(
            f"{called[:60]!r} is no id of a memory: `claw memory` and `claw recall` show them"
        )
    sql = "SELECT id FROM nodes WHERE being = $being AND id LIKE ? ORDER BY seq LIMIT 3"
    found = [i for (i,) in unit.rows(sql, f"{called}%")]
    if len(found) > 1 and called not in found:
        raise BeingError(f"several memories have ids that begin with {called}: give more of it")
    if not found:
        raise BeingError(f"there is no memory {called}: `claw memory search` shows the ids")
    wanted = called if called in found else found[0]
    return nodes.by_ids(unit, [wanted])[wanted]


def _tree(
    every: list[Cluster], counts: dict[tuple[int, str], int], parent: int | None = None
) -> tuple[Branch, ...]:
    return tuple(
        Branch(
            cluster,
            {status: number for (n, status), number in counts.items() if n == cluster.n},
            _tree(every, counts, cluster.n),
        )
        for cluster in every
        if cluster.parent == parent
    )
