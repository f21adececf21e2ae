"""What the store says of itself when it is asked for its figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from clawkit.memory.http.metrics import Labels
from clawkit.memory.store import beings, jobs, runs
from clawkit.memory.worker import EMBED, PATROL

if TYPE_CHECKING:
    from clawkit.memory.keeper import Keeper

Gauges = dict[str, tuple[str, Mapping[Labels, float]]]


def counted(keeper: Keeper, per_being: bool = False) -> Gauges:
    """Beings, the jobs that wait, run or have failed, and how those before them ended."""
    now = keeper.clock()
    with keeper.database.registry() as connection:
        ((number,),) = connection.rows("SELECT count(*) FROM beings")
        names = {one.n: one.id for one in beings.every(connection)} if per_being else {}
        waiting = jobs.by_kind(connection, now)
        ended = runs.every(connection)
    every = {kind: jobs.Waiting(kind) for kind in (PATROL, EMBED)}
    every |= {one.kind: one for one in waiting}
    return {
        "beings": ("Beings in the store.", {(): number}),
        "jobs": (
            "Background jobs that wait or run.",
            {_kind(kind): one.jobs for kind, one in every.items()},
        ),
        "jobs_failed": (
            "Background jobs whose last try failed.",
            {_kind(kind): one.failed for kind, one in every.items()},
        ),
        "jobs_longest_wait_seconds": (
            "How long the job has waited that waits the longest.",
            {_kind(kind): one.longest_wait for kind, one in every.items()},
        ),
        **_ended(ended, names),
    }


def _kind(kind: str) -> Labels:
    return (("kind", kind),)


def _ended(found: list[runs.Run], names: Mapping[int, str]) -> Gauges:
    """How often jobs ended in each way, and when and after how long the last of them did.

    By Being, where `names` has them.
    """
    times: dict[Labels, float] = defaultdict(float)
    last: dict[Labels, runs.Run] = {}
    for run in found:
        labels: Labels = (("kind", run.kind), ("outcome", run.outcome))
        if run.being in names:
            labels = (*labels, ("being", names[run.being]))
        times[labels] += run.times
        if labels not in last or last[labels].at < run.at:
            last[labels] = run
    return {
        "job_runs_total": ("Jobs that have ended, by outcome.", times),
        "job_last_run_timestamp_seconds": (
            "When the last job of this outcome ended.",
            {labels: run.at for labels, run in last.items()},
        ),
        "job_last_run_seconds": (
            "How long the last job of this outcome took.",
            {labels: round(run.seconds, 3) for labels, run in last.items()},
        ),
    }
