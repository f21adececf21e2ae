"""Throughput over stdio: `tools/call` lines pipelined into a real process, replies counted."""

from dataclasses import dataclass

from benchmarks.contenders import OURS, RIVAL, Contender, contenders, start_command
from benchmarks.measure import running
from benchmarks.messages import (
    ERAS,
    Era,
    call,
    check_opening,
    check_replies,
    check_reply,
    opening,
    ready,
)
from benchmarks.report import Report, Row, at_least, times_better
from benchmarks.rounds import interleaved

COLUMNS = ("calls/s", "CPU µs a call", "times mcp's calls/s", "CPU, times better")
TIMES_THROUGHPUT = 15
TIMEOUT = 300.0


@dataclass(frozen=True)
class Run:
    """One pipelined run."""

    seconds_a_call: float
    cpu_seconds_a_call: float


def pipeline_once(contender: Contender, era: Era, calls: int) -> Run:
    """Open, warm up with one call, then send everything at once and wait for every reply."""
    ids = range(2, calls + 2)
    lines = b"".join(call(era, number, "add", a=2, b=3) for number in ids)
    with running(start_command(contender, "stdio")) as child:
        check_opening(child.exchange(opening(era), replies=1).output)
        warm_up = ready(era) + call(era, 1, "add", a=2, b=3)
        check_reply(child.exchange(warm_up, replies=1).output, "5")
        before = child.cpu_seconds()
        exchange = child.exchange(lines, replies=calls, timeout=TIMEOUT)
        spent = child.cpu_seconds() - before
    check_replies(exchange.output, ids, "5")
    return Run(exchange.seconds / calls, spent / calls)


def measure_era(era: Era, calls: int, rounds: int) -> Report:
    """Compare all contenders in one era."""
    field = contenders("stdio", era)
    samples = interleaved(field, rounds, lambda contender: pipeline_once(contender, era, calls))
    wall = {each.name: samples.median(each.name, lambda r: r.seconds_a_call) for each in field}
    cpu = {each.name: samples.median(each.name, lambda r: r.cpu_seconds_a_call) for each in field}
    ratios = {name: times_better(wall[name], wall[RIVAL]) for name in wall}
    rows = tuple(
        Row(
            name,
            (1 / wall[name], cpu[name] * 1e6, ratios[name], times_better(cpu[name], cpu[RIVAL])),
        )
        for name in wall
    )
    return Report(
        name="stdio_throughput",
        title=f"{calls:,} pipelined tools/call, {era} era, median of {rounds}",
        columns=COLUMNS,
        rows=rows,
        bars=(at_least(f"{era}: ≥ {TIMES_THROUGHPUT} times mcp", ratios[OURS], TIMES_THROUGHPUT),),
        notes=samples.notes,
    )


def run(quick: bool) -> list[Report]:
    """Measure both eras."""
    calls: dict[Era, int] = {"legacy": 20_000, "modern": 5_000}  # the slow ones take half a minute
    return [measure_era(era, 2_000 if quick else calls[era], rounds=3) for era in ERAS]
