"""What an order costs beyond the model's own time: over stdio, and the same request by itself."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from statistics import median

from benchmarks.assistant_model import TOOL, DirectCaller, assistant, thinking_model
from benchmarks.measure import Child, Command, running
from benchmarks.messages import call, check_opening, check_reply, opening, ready
from benchmarks.report import MISSING, Report, Row, at_most
from benchmarks.rounds import Samples, interleaved

DIRECT = "the model, asked directly"
NEW = "order, a new session each"
SAME = "order, one session"
COLUMNS = ("p50 ms", "p99 ms", "beyond the model, p50 ms", "CPU ms", "first ms", "resident MB")
WARM_UP = 20
OVERHEAD_MS = 10
MESSAGE = "Please put the tomatoes on the list and tell me when it is done."


@dataclass(frozen=True)
class Caller:
    """One way to ask."""

    name: str
    run: Callable[[], "Times"]
    installed: bool = True


@dataclass(frozen=True)
class Times:
    """The round trips of one run, in seconds."""

    first: float
    p50: float
    p99: float
    cpu: float = MISSING
    """Of our process, for each: what it costs however busy the machine is."""
    resident_mb: float = MISSING


def times(measured: list[float], cpu: float = MISSING, resident_mb: float = MISSING) -> Times:
    """Sum up, without the warming up."""
    warm = sorted(measured[WARM_UP:])
    p99 = warm[int(len(warm) * 0.99)]
    return Times(measured[0], median(warm), p99, cpu / len(warm), resident_mb)


def ask_directly(url: str, calls: int) -> Times:
    """The model alone, with the request of the order before."""
    with closing(DirectCaller(url)) as caller:
        return times([caller.ask() for _ in range(calls + WARM_UP)])


def order(command: Command, calls: int, **arguments: str) -> Times:
    """One order at a time, each answer checked."""
    with running(command) as child:
        check_opening(child.exchange(opening("legacy"), replies=1).output)
        child.exchange(ready("legacy"), replies=0)
        measured = [order_once(child, number, **arguments) for number in range(WARM_UP)]
        before = child.cpu_seconds()
        measured += [order_once(child, WARM_UP + n, **arguments) for n in range(calls)]
        return times(measured, child.cpu_seconds() - before, child.resident_mb())


def order_once(child: Child, number: int, **arguments: str) -> float:
    """The seconds until the answer is there."""
    line = call("legacy", number + 1, TOOL, message=MESSAGE, **arguments)
    exchange = child.exchange(line, replies=1)
    check_reply(exchange.output, MESSAGE)
    return exchange.seconds


def run(quick: bool) -> list[Report]:
    """Measure the model alone, orders in sessions of their own, and orders in one session."""
    calls, rounds = (100, 3) if quick else (300, 5)
    with thinking_model(0) as url, assistant(url) as command:
        field = [
            Caller(NEW, lambda: order(command, calls)),
            Caller(DIRECT, lambda: ask_directly(url, calls)),
            Caller(SAME, lambda: order(command, calls, sessionKey=f"bench-{time.time_ns()}")),
        ]
        samples = interleaved(field, rounds, lambda caller: caller.run())
    direct = samples.median(DIRECT, lambda run: run.p50)
    beyond = (samples.median(NEW, lambda run: run.p50) - direct) * 1000
    return [
        Report(
            name="assistant_order",
            title=f"{calls} orders one after the other, median of {rounds}",
            columns=COLUMNS,
            rows=tuple(_row(samples, caller.name, direct) for caller in field),
            bars=(at_most(f"≤ {OVERHEAD_MS} ms beyond the model", beyond, OVERHEAD_MS, " ms"),),
            notes=samples.notes,
        )
    ]


def _row(samples: Samples[Times], name: str, direct: float) -> Row:
    p50 = samples.median(name, lambda run: run.p50)
    cells = (
        p50 * 1000,
        samples.median(name, lambda run: run.p99) * 1000,
        (p50 - direct) * 1000,
        samples.median(name, lambda run: run.cpu) * 1000,
        samples.median(name, lambda run: run.first) * 1000,
        samples.median(name, lambda run: run.resident_mb),
    )
    return Row(name, cells)
