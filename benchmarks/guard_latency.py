"""What a guard costs: one call after the other through each of them, and a cold start."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.contenders import ROOT
from benchmarks.guards import DIRECT, FASTMCP, FIREWALL, OURS_10, OURS_500, Guard, guards
from benchmarks.measure import running
from benchmarks.messages import call, check_opening, check_reply, opening, ready
from benchmarks.report import Report, Row, at_least, at_most, times_better
from benchmarks.rounds import Samples, interleaved

WARM_UP = 50
RESIDENT_MB = 30
BIG = 64 * 1024
LATENCY_COLUMNS = ("p50 µs", "p99 µs", "times direct", "resident MB")
START_COLUMNS = ("CPU ms", "wall ms", "wall added ms", "resident MB")


@dataclass(frozen=True)
class Latency:
    """The round trips of one run, in seconds."""

    p50: float
    p99: float
    resident_mb: float


@dataclass(frozen=True)
class Start:
    """One cold start, of the proxy and its server together."""

    cpu_ms: float
    wall_ms: float
    resident_mb: float


def round_trips(guard: Guard, home: Path, text: str, calls: int) -> Latency:
    """One call at a time, each checked."""
    times: list[float] = []
    with running(guard.start(home)) as child:
        check_opening(child.exchange(opening("legacy"), replies=1).output)
        child.exchange(ready("legacy"), replies=0)
        for number in range(1, calls + WARM_UP + 1):
            exchange = child.exchange(call("legacy", number, "echo", text=text), replies=1)
            if number in (1, calls):
                check_reply(exchange.output, text)
            times.append(exchange.seconds)
        resident = child.resident_mb()
    measured = sorted(times[WARM_UP:])
    return Latency(median(measured), measured[int(len(measured) * 0.99)], resident)


def compare_latency(
    title: str, text: str, calls: int, rounds: int
) -> tuple[Samples[Latency], Report]:
    """All guards with the same call."""
    with guards() as (field, home):
        samples = interleaved(field, rounds, lambda guard: round_trips(guard, home, text, calls))
        names = [guard.name for guard in field]
    direct = samples.median(DIRECT, lambda run: run.p50)
    rows = tuple(_latency_row(name, samples, direct) for name in names)
    return samples, Report("guard_latency", title, LATENCY_COLUMNS, rows, (), samples.notes)


def _latency_row(name: str, samples: Samples[Latency], direct: float) -> Row:
    p50 = samples.median(name, lambda run: run.p50)
    p99 = samples.median(name, lambda run: run.p99)
    resident = samples.median(name, lambda run: run.resident_mb)
    return Row(name, (p50 * 1e6, p99 * 1e6, p50 / direct, resident))


def small_calls(calls: int, rounds: int) -> Report:
    """A hundred bytes a call: what a guard costs by itself."""
    title = f"{calls:,} calls one after the other, 100 bytes, median of {rounds}"
    samples, report = compare_latency(title, "x" * 100, calls, rounds)

    def p50(name: str) -> float:
        return samples.median(name, lambda run: run.p50)

    bars = (
        at_most("p50 ≤ 3 × direct", p50(OURS_10) / p50(DIRECT), 3),
        at_least("p50 ≤ 1/4 of mcp-firewall's", times_better(p50(OURS_10), p50(FIREWALL)), 4),
        at_most("500 rules ≤ 1.2 × 10 rules", p50(OURS_500) / p50(OURS_10), 1.2),
        at_most(
            f"≤ {RESIDENT_MB} MB",
            samples.median(OURS_500, lambda run: run.resident_mb),
            RESIDENT_MB,
            " MB",
        ),
    )
    return _with_bars(report, bars)


def big_texts() -> dict[str, str]:
    """64 KB of what people send: it depends on the text how much there is to look at."""
    code = "".join(file.read_text() for file in sorted((ROOT / "src/clawkit/wire").glob("*.py")))
    texts = {
        "prose": "The quick brown fox jumps over the lazy dog. ",
        "paths": "See docs/guide/intro.md and https://example.org/a/b?c=d for src/app/main.py. ",
        "source code": code,
    }
    return {name: (text * (BIG // len(text) + 1))[:BIG] for name, text in texts.items()}


def big_calls(kind: str, text: str, calls: int, rounds: int) -> Report:
    """64 KB there and back."""
    title = f"{calls:,} calls one after the other, 64 KB of {kind}, median of {rounds}"
    samples, report = compare_latency(title, text, calls, rounds)
    ours = samples.median(OURS_10, lambda run: run.p50)
    direct = samples.median(DIRECT, lambda run: run.p50)
    bar = at_most(f"64 KB of {kind}: p50 ≤ 2.5 × direct", ours / direct, 2.5)
    return _with_bars(report, (bar,))


def start_once(guard: Guard, home: Path) -> Start:
    """Start, ask, take the figures at the first reply, kill."""
    began = time.perf_counter()
    with running(guard.start(home)) as child:
        reply = child.exchange(opening("legacy"), replies=1).output
        wall = time.perf_counter() - began
        resident, cpu = child.resident_mb(), child.cpu_seconds()
    check_opening(reply)
    return Start(cpu * 1000, wall * 1000, resident)


def cold_starts(rounds: int) -> Report:
    """The CPU that a proxy itself needs until the first reply; its server's is not in it."""
    with guards() as (field, home):
        proxies: Sequence[Guard] = [guard for guard in field if guard.name != DIRECT]
        interleaved(proxies, 1, lambda guard: start_once(guard, home))
        samples = interleaved(field, rounds, lambda guard: start_once(guard, home))
        names = [guard.name for guard in field]
    direct = samples.median(DIRECT, lambda start: start.wall_ms)
    rows = tuple(_start_row(name, samples, direct) for name in names)
    ours = samples.median(OURS_10, lambda start: start.cpu_ms)
    theirs = samples.median(FASTMCP, lambda start: start.cpu_ms)
    bar = at_least("CPU ≤ 1/8 of the fastmcp proxy's", times_better(ours, theirs), 8)
    title = f"cold start to the reply to initialize, median of {rounds}"
    return Report("guard_latency", title, START_COLUMNS, rows, (bar,), samples.notes)


def _start_row(name: str, samples: Samples[Start], direct: float) -> Row:
    cpu = samples.median(name, lambda start: start.cpu_ms)
    wall = samples.median(name, lambda start: start.wall_ms)
    return Row(
        name, (cpu, wall, wall - direct, samples.median(name, lambda start: start.resident_mb))
    )


def _with_bars(report: Report, bars: tuple) -> Report:
    return Report(report.name, report.title, report.columns, report.rows, bars, report.notes)


def run(quick: bool) -> list[Report]:
    """Measure small calls, big calls and starts."""
    rounds = 3 if quick else 5
    return [
        small_calls(500 if quick else 3000, rounds),
        *(
            big_calls(kind, text, 200 if quick else 1000, rounds)
            for kind, text in big_texts().items()
        ),
        cold_starts(3 if quick else 11),
    ]
