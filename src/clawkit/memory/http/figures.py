"""What the store says of itself when it is asked for its health and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from clawkit.memory.http.metrics import Labels
from clawkit.memory.worker import EMBED, PATROL

if TYPE_CHECKING:
    from clawkit.memory.keeper import Keeper

_JOBS = "SELECT kind, count(*) FROM jobs GROUP BY kind"
_FAILED = "SELECT kind, count(*) FROM jobs WHERE problem <> '' GROUP BY kind"


def reach(keeper: Keeper) -> None:
    """Raises StoreError where the store does not answer."""
    with keeper.database.registry() as connection:
        connection.rows("SELECT n FROM beings LIMIT 1")


def counted(keeper: Keeper) -> dict[str, tuple[str, Mapping[Labels, float]]]:
    """Beings, and the jobs that wait, run or have failed, each with its explanation."""
    with keeper.database.registry() as connection:
        ((beings,),) = connection.rows("SELECT count(*) FROM beings")
        waiting, failed = connection.rows(_JOBS), connection.rows(_FAILED)
    return {
        "beings": ("Beings in the store.", {(): beings}),
        "jobs": ("Background jobs that wait or run.", _by_kind(waiting)),
        "jobs_failed": ("Background jobs whose last try failed.", _by_kind(failed)),
    }


def _by_kind(rows: Iterable[tuple[Any, ...]]) -> dict[Labels, float]:
    found: dict[str, float] = {PATROL: 0, EMBED: 0}
    found.update({str(kind): count for kind, count in rows})
    return {(("kind", kind),): count for kind, count in found.items()}
