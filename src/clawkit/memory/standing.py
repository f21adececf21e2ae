"""How a Being stands: how much it remembers, what waits, what goes on behind it."""

from __future__ import annotations

from typing import Any

from clawkit.memory.records import Being
from clawkit.memory.store import clusters, jobs, nodes, notes
from clawkit.memory.store.database import Database
from clawkit.memory.worker import EMBED


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
