"""Figures and overviews of a Being and of a whole store."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from clawkit.errors import BeingError
from clawkit.memory.job_worker import EMBED
from clawkit.memory.records import Being, Cluster, Node, Note
from clawkit.memory.store import beings, clusters, jobs, nodes, notes
from clawkit.store.database import Database, Unit


def figures(database: Database, being: Being) -> dict[str, Any]:
    """Counts of what there is."""
    with database.read(being.n) as unit:
        by_status: dict[str, int] = {"active": 0, "dying": 0, "dead": 0}
        for (_, status), number in nodes.counts(unit).items():
            by_status[status] += number
        current, erased = sum(by_status.values()), nodes.count_erased(unit)
        found: dict[str, Any] = {
            "nodes": current,
            **by_status,
            "ended": nodes.top(unit) - current - erased,
            **({"erased": erased} if erased else {}),
            "clusters": len(clusters.every(unit)),
            "waiting_scenes": notes.count(unit, "scene"),
            "notes": notes.count(unit, "note"),
            "vectors": unit.vectors.counts(),
        }
    with database.registry() as connection:
        waiting = jobs.waiting(connection, being.n)
    found["jobs"] = [
        {"kind": kind, "tries": tries, "problem": problem} for kind, tries, problem in waiting
    ]
    return found


def wants_vectors(database: Database, being: Being, model: str) -> bool:
    """Whether memories lack vectors of a model and nobody is at it yet."""
    with database.registry() as connection:
        if any(kind == EMBED for kind, _, _ in jobs.waiting(connection, being.n)):
            return False
    with database.read(being.n) as unit:
        return bool(unit.vectors.missing(model, 1))


_FEW = 200


def lacks_few_vectors(database: Database, being: Being, model: str) -> bool:
    """Whether a search would go by words for want of a few vectors, which are made in a moment.

    One memory without a vector would let the whole search go by words. A Being whose vectors are
    of another model is left alone: to change the model is a decision, not a side effect.
    """
    with database.read(being.n) as unit:
        ours = unit.vectors.counts()
        missing = len(unit.vectors.missing(model, _FEW + 1))
    return 0 < missing <= _FEW and (model in ours or not ours)


_SHORTEST_ID = 4
_ID = re.compile(r"[0-9a-fA-F-]+")
_MOST_WAITING = 20


class ClusterBranch(Struct, frozen=True):
    """A cluster with how many memories it has by status, and what is below it."""

    cluster: Cluster
    counts: dict[str, int]
    branches: tuple[ClusterBranch, ...] = ()


class BeingView(Struct, frozen=True):
    """A Being at one moment; `last_patrol` in seconds since 1970."""

    being: Being
    memories: int
    tree: tuple[ClusterBranch, ...]
    recent: tuple[Node, ...]
    waiting_scenes: int
    waiting: tuple[Note, ...]
    notes: tuple[Note, ...]
    last_patrol: float | None


def view(database: Database, being: Being, recent: int = 10) -> BeingView:
    with database.read(being.n) as unit:
        counts = nodes.counts(unit)
        return BeingView(
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
        ).of_usage()
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
) -> tuple[ClusterBranch, ...]:
    return tuple(
        ClusterBranch(
            cluster,
            {status: number for (n, status), number in counts.items() if n == cluster.n},
            _tree(every, counts, cluster.n),
        )
        for cluster in every
        if cluster.parent == parent
    )


_MOST_PROBLEMS = 5


class BeingState(Struct, frozen=True):
    """How one Being stands; `last_patrol` in seconds since 1970."""

    name: str
    id: str
    memories: int
    waiting_scenes: int
    last_patrol: float | None


class JobProblem(Struct, frozen=True):
    """Work behind a Being that failed and will be tried again."""

    being: str
    kind: str
    tries: int
    problem: str


class StoreOverview(Struct, frozen=True):
    """A store: `memories` are all that were ever made, `jobs` those that went wrong."""

    beings: int
    memories: int
    own: BeingState | None
    jobs: tuple[JobProblem, ...]


def overview(database: Database, own: str) -> StoreOverview:
    """The store, and the Being of that name or id in it, if there is one."""
    with database.registry() as connection:
        counted = connection.rows("SELECT count(*), coalesce(sum(top), 0) FROM beings")
        failed = connection.rows(
            "SELECT b.name, j.kind, j.tries, j.problem FROM jobs j JOIN beings b ON b.n = j.being "
            "WHERE j.problem <> '' ORDER BY j.wanted LIMIT ?",
            (_MOST_PROBLEMS,),
        )
        found = connection.rows(
            "SELECT id FROM beings WHERE id = ? OR name = ? ORDER BY n LIMIT 1", (own, own)
        )
        being = beings.by_id(connection, found[0][0]) if found else None
    return StoreOverview(
        counted[0][0],
        int(counted[0][1]),
        None if being is None else being_state(database, being),
        tuple(JobProblem(*row) for row in failed),
    )


def being_state(database: Database, being: Being) -> BeingState:
    """How a Being stands."""
    with database.read(being.n) as unit:
        memories = sum(nodes.counts(unit).values())
        waiting = notes.count(unit, "scene")
        return BeingState(being.name, being.id, memories, waiting, last_patrol(unit))
