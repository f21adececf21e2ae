"""Cold start over stdio: from the start of the process to its first reply, in both eras."""

import time
from dataclasses import dataclass

from benchmarks.contenders import OURS, RIVAL, Contender, contenders, start_command
from benchmarks.measure import running
from benchmarks.messages import ERAS, Era, check_opening, opening
from benchmarks.report import Bar, Report, Row, at_least, at_most, times_better
from benchmarks.rounds import Samples, interleaved

COLUMNS = ("CPU ms", "wall ms", "resident MB", "peak MB", "CPU, times better than mcp")
TIMES_LESS_CPU = 8
RESIDENT_MB = 30


@dataclass(frozen=True)
class Start:
    """One cold start."""

    cpu_ms: float
    wall_ms: float
    resident_mb: float
    peak_mb: float


def start_once(contender: Contender, era: Era) -> Start:
    """Start, ask, take the figures at the first reply, kill."""
    began = time.perf_counter()
    with running(start_command(contender, "stdio")) as child:
        reply = child.exchange(opening(era), replies=1).output
        wall = time.perf_counter() - began
        resident, peak = child.resident_mb(), child.peak_mb()
        usage = child.end()
    check_opening(reply)
    return Start(usage.cpu_seconds * 1000, wall * 1000, resident, peak)


def figures(samples: Samples[Start], name: str) -> Row:
    """The medians of one contender."""
    cpu = samples.median(name, lambda start: start.cpu_ms)
    cells = (
        cpu,
        samples.median(name, lambda start: start.wall_ms),
        samples.median(name, lambda start: start.resident_mb),
        samples.median(name, lambda start: start.peak_mb),
        times_better(cpu, samples.median(RIVAL, lambda start: start.cpu_ms)),
    )
    return Row(name, cells)


def bars(samples: Samples[Start], era: Era) -> tuple[Bar, ...]:
    """Judge the two promises."""
    ours = samples.median(OURS, lambda start: start.cpu_ms)
    ratio = times_better(ours, samples.median(RIVAL, lambda start: start.cpu_ms))
    resident = samples.median(OURS, lambda start: start.resident_mb)
    return (
        at_least(f"{era}: CPU at most 1/{TIMES_LESS_CPU} of mcp's", ratio, TIMES_LESS_CPU),
        at_most(f"{era}: at most {RESIDENT_MB} MB resident", resident, RESIDENT_MB, " MB"),
    )


def measure_era(era: Era, rounds: int) -> Report:
    """Compare all contenders in one era."""
    field = contenders("stdio", era)
    interleaved(field, 1, lambda contender: start_once(contender, era))  # bytecode and page cache
    samples = interleaved(field, rounds, lambda contender: start_once(contender, era))
    return Report(
        name="cold_start",
        title=f"stdio, process start to the reply to {opening_method(era)}, median of {rounds}",
        columns=COLUMNS,
        rows=tuple(figures(samples, each.name) for each in field),
        bars=bars(samples, era),
        notes=samples.notes,
    )


def opening_method(era: Era) -> str:
    """What the client asks first."""
    return "initialize" if era == "legacy" else "server/discover"


def run(quick: bool) -> list[Report]:
    """Measure both eras."""
    return [measure_era(era, rounds=3 if quick else 11) for era in ERAS]
