"""One `tools/call` in process: a line of bytes in, a line of bytes out, arguments validated."""

import json

from benchmarks.contenders import OURS, RIVAL, Contender, contenders, inline_command
from benchmarks.measure import running
from benchmarks.messages import ERAS, Era
from benchmarks.report import Report, Row, at_least, times_better
from benchmarks.rounds import interleaved

COLUMNS = ("CPU µs a call", "times faster than mcp")
TIMES_FASTER = 15
TIMEOUT = 120.0
NOTES = {
    "legacy": ("bare loop validates nothing and knows no protocol",),
    "modern": ("mcp, direct: its kernel without the loop and the envelope checks of its doors",),
}


def time_once(contender: Contender, era: Era, calls: int) -> float:
    """Microseconds of CPU a call, in an interpreter of its own."""
    with running(inline_command(contender, era, calls)) as child:
        return float(json.loads(child.exchange(b"", replies=1, timeout=TIMEOUT).output))


def measure_era(era: Era, calls: int, rounds: int) -> Report:
    """Compare all contenders in one era."""
    field = contenders("inline", era)
    samples = interleaved(field, rounds, lambda contender: time_once(contender, era, calls))
    medians = {each.name: samples.median(each.name, float) for each in field}
    ratios = {name: times_better(spent, medians[RIVAL]) for name, spent in medians.items()}
    return Report(
        name="in_process",
        title=f"tools/call line to line, {era} era, {calls:,} calls, median of {rounds}",
        columns=COLUMNS,
        rows=tuple(Row(name, (medians[name], ratios[name])) for name in medians),
        bars=(at_least(f"{era}: ≥ {TIMES_FASTER} times mcp", ratios[OURS], TIMES_FASTER),),
        notes=(*NOTES[era], *samples.notes),
    )


def run(quick: bool) -> list[Report]:
    """Measure both eras."""
    calls, rounds = (2_000, 3) if quick else (10_000, 5)
    return [measure_era(era, calls, rounds) for era in ERAS]
