"""Prometheus metrics: requests and their durations, refusals, the state of the store.

Names of tools and methods are the known ones, so no caller can make new series. Beings are named
only where that is asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from clawkit.memory.job_worker import EMBED, PATROL
from clawkit.memory.store import beings, jobs

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_PREFIX = "clawkit_being_"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = tuple[tuple[str, str], ...]


class Histogram:
    """How many seconds requests took, cumulated when it is written."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str, labels: Labels) -> Iterable[str]:
        total = 0
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self._counts, strict=True):
            total += count
            yield _line(f"{name}_bucket", (*labels, ("le", bound)), total)
        yield _line(f"{name}_sum", labels, round(self._sum, 6))
        yield _line(f"{name}_count", labels, total)


class Metrics:
    """Everything counted since this process began."""

    def __init__(self, *, per_being: bool = False) -> None:
        self._per_being = per_being
        self._requests: Counter[Labels] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._limited: Counter[Labels] = Counter()
        self.bridges_opened = 0

    def count(self, *, tool: str, method: str, status: int, seconds: float, being: str) -> None:
        """One request that is over."""
        labels = {"tool": tool, "method": method, "status": str(status)}
        if self._per_being:
            labels["being"] = being
        self._requests[tuple(labels.items())] += 1
        if tool:
            self._seconds.setdefault(tool, Histogram()).add(seconds)
        if status == 429:
            self._limited[()] += 1

    def text(self, gauges: Mapping[str, tuple[str, Mapping[Labels, float]]]) -> str:
        """All of it in Prometheus' words; `gauges` say what there is at this moment."""
        found = [
            *_family("requests_total", "counter", "Requests by tool and status."),
            *_lines("requests_total", self._requests),
            *_family("rate_limited_total", "counter", "Requests refused as too many."),
            *_lines("rate_limited_total", self._limited or {(): 0}),
            *_family("bridges_opened_total", "counter", "Connections of bridges."),
            *_lines("bridges_opened_total", {(): self.bridges_opened}),
            *_family("request_seconds", "histogram", "How long tool calls took."),
        ]
        for tool, histogram in sorted(self._seconds.items()):
            found += histogram.lines(f"{_PREFIX}request_seconds", (("tool", tool),))
        for name, (explanation, values) in gauges.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            found += [*_family(name, kind, explanation), *_lines(name, values)]
        return "\n".join(found) + "\n"


def _family(name: str, kind: str, explanation: str) -> tuple[str, str]:
    return f"# HELP {_PREFIX}{name} {explanation}", f"# TYPE {_PREFIX}{name} {kind}"


def _lines(name: str, values: Mapping[Labels, float]) -> list[str]:
    return [_line(_PREFIX + name, labels, value) for labels, value in sorted(values.items())]


def _line(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{{{inner}}} {value}" if inner else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


Gauges = dict[str, tuple[str, Mapping[Labels, float]]]


def store_gauges(keeper: BeingStore, per_being: bool = False) -> Gauges:
    """Beings, the jobs that wait, run or have failed, and how those before them ended."""
    now = keeper.clock()
    with keeper.database.registry() as connection:
        ((number,),) = connection.rows("SELECT count(*) FROM beings")
        names = {one.n: one.id for one in beings.every(connection)} if per_being else {}
        waiting = jobs.by_kind(connection, now)
        ended = jobs.runs(connection)
    every = {kind: jobs.WaitingJobs(kind) for kind in (PATROL, EMBED)}
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


def _ended(found: list[jobs.Run], names: Mapping[int, str]) -> Gauges:
    """How often jobs ended in each way, and when and after how long the last of them did.

    By Being, where `names` has them.
    """
    times: dict[Labels, float] = defaultdict(float)
    last: dict[Labels, jobs.Run] = {}
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
