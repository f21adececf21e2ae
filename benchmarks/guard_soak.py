"""A guard on a long day: a million calls through one proxy; memory stays, the log's chain holds."""

import time

from benchmarks.guards import OURS_10, guards
from benchmarks.measure import Child, running
from benchmarks.messages import call, check_opening, opening, ready
from benchmarks.report import Bar, Report, Row, at_most
from clawkit.guard.audit.verification import verify

COLUMNS = ("calls", "calls/s", "MB after a tenth", "MB at the end", "records", "log MB")
BATCH = 1000
GROWTH_MB = 2
TIMEOUT = 120.0


def send(child: Child, first: int, calls: int) -> None:
    """Calls in batches, each batch answered before the next."""
    for start in range(first, first + calls, BATCH):
        lines = [call("legacy", n, "echo", text=f"call {n}") for n in range(start, start + BATCH)]
        child.exchange(b"".join(lines), replies=BATCH, timeout=TIMEOUT)


def soak(calls: int) -> Report:
    """Memory after a tenth of the calls against memory at the end, and every hash of the log."""
    with guards() as (field, home):
        guard = next(each for each in field if each.name == OURS_10)
        with running(guard.start(home)) as child:
            check_opening(child.exchange(opening("legacy"), replies=1).output)
            child.exchange(ready("legacy"), replies=0)
            began = time.perf_counter()
            send(child, 1, calls // 10)
            early = child.resident_mb()
            send(child, calls // 10 + 1, calls - calls // 10)
            seconds = time.perf_counter() - began
            late = child.resident_mb()
        folder = home / "claw" / "data" / "claw" / "guard" / "audit"
        verdict = verify(folder)
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    row = Row(OURS_10, (calls, calls / seconds, early, late, verdict.records, size))
    bars = (
        at_most(f"memory grows by at most {GROWTH_MB} MB", late - early, GROWTH_MB, " MB"),
        Bar(
            "the log's chain is intact",
            str(verdict.problem) if verdict.problem else "intact",
            verdict.ok,
        ),
    )
    title = f"{calls:,} calls through one guard, {BATCH:,} at a time"
    return Report("guard_soak", title, COLUMNS, (row,), bars)


def run(quick: bool) -> list[Report]:
    """One soak."""
    return [soak(50_000 if quick else 1_000_000)]
