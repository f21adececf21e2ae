"""A whole store at a glance, for whoever runs it: how many Beings, how much, what goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from clawkit.memory.records import Being
from clawkit.memory.store import beings, nodes, notes
from clawkit.memory.viewing import last_patrol

if TYPE_CHECKING:
    from clawkit.memory.store.database import Database

_MOST_PROBLEMS = 5


class OneState(Struct, frozen=True):
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


class Overview(Struct, frozen=True):
    """A store: `memories` are all that were ever made, `jobs` those that went wrong."""

    beings: int
    memories: int
    own: OneState | None
    jobs: tuple[JobProblem, ...]


def overview(database: Database, own: str) -> Overview:
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
    return Overview(
        counted[0][0],
        int(counted[0][1]),
        None if being is None else _one(database, being),
        tuple(JobProblem(*row) for row in failed),
    )


def _one(database: Database, being: Being) -> OneState:
    with database.read(being.n) as unit:
        memories = sum(nodes.counts(unit).values())
        waiting = notes.count(unit, "scene")
        return OneState(being.name, being.id, memories, waiting, last_patrol(unit))
