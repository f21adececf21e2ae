"""One very long line over stdio: the time for each megabyte must not grow with the line."""

from benchmarks.contenders import OURS, Contender, contenders, start_command
from benchmarks.measure import Child, running
from benchmarks.messages import call, check_opening, check_reply, opening, ready
from benchmarks.report import Report, Row, at_most, times_better
from benchmarks.rounds import Samples, interleaved

MEGABYTE = 1_000_000
SIZES = (1, 5, 10, 20)
LARGE, SMALL = 20, 5
GROWTH = 1.5
COLUMNS = (*(f"{size} MB: ms/MB" for size in SIZES), f"{LARGE} MB / {SMALL} MB")
TIMEOUT = 120.0

Times = dict[int, float]
"""Seconds for each megabyte, by the size of the line in megabytes."""


def send_lines(contender: Contender, repeats: int) -> Times:
    """Time one call of each size, the best of a few, in one process."""
    with running(start_command(contender, "stdio_load")) as child:
        check_opening(child.exchange(opening("legacy"), replies=1).output)
        warm_up = ready("legacy") + call("legacy", 1, "size", text="x" * MEGABYTE)
        check_reply(child.exchange(warm_up, replies=1).output, str(MEGABYTE))
        return {size: min(send_line(child, size) for _ in range(repeats)) for size in SIZES}


def send_line(child: Child, size: int) -> float:
    """Seconds for each megabyte of one line."""
    length = size * MEGABYTE
    line = call("legacy", size, "size", text="x" * length)
    exchange = child.exchange(line, replies=1, timeout=TIMEOUT)
    check_reply(exchange.output, str(length))
    return exchange.seconds / size


def figures(samples: Samples[Times], name: str) -> Row:
    """Milliseconds for each megabyte, and how much that grew."""
    times = {size: samples.median(name, lambda t, size=size: t[size]) for size in SIZES}
    growth = times_better(times[SMALL], times[LARGE])
    return Row(name, (*(times[size] * 1000 for size in SIZES), growth))


def run(quick: bool) -> list[Report]:
    """Measure ours beside those that take such lines."""
    rounds, repeats = (1, 3) if quick else (3, 5)
    field = contenders("stdio_load", "legacy")
    samples = interleaved(field, rounds, lambda contender: send_lines(contender, repeats))
    rows = tuple(figures(samples, each.name) for each in field)
    growth = next(float(row.cells[-1]) for row in rows if row.name == OURS)
    promise = f"time for each MB at {LARGE} MB at most {GROWTH} times that at {SMALL} MB"
    return [
        Report(
            name="big_line",
            title=f"one tools/call with a long argument over stdio, best of {repeats}",
            columns=COLUMNS,
            rows=rows,
            bars=(at_most(promise, growth, GROWTH),),
            notes=samples.notes,
        )
    ]
