"""Throughput over stateless Streamable HTTP: keep-alive connections from another process."""

import json
import sys
from dataclasses import dataclass

from benchmarks.contenders import OURS, RIVAL, ROOT, Contender, contenders, start_command
from benchmarks.http_client import Tally
from benchmarks.measure import Command, running
from benchmarks.messages import ERAS, Era, WrongReply
from benchmarks.report import Report, Row, at_least, times_better
from benchmarks.rounds import interleaved

COLUMNS = ("calls/s", "CPU µs a call", "client busy %", "times mcp's calls/s", "CPU, times better")
TIMES_THROUGHPUT = 3
CONNECTIONS = 16
WARM_UP_SECONDS = 0.5
SPARE_SECONDS = 60.0


@dataclass(frozen=True)
class Run:
    """One loaded run."""

    seconds_a_call: float
    cpu_seconds_a_call: float
    client_busy: float


def load_once(port: int, era: Era, seconds: float) -> Tally:
    """Run the client process, and refuse a run with a wrong answer in it."""
    arguments = (str(port), era, str(CONNECTIONS), str(seconds))
    argv = (sys.executable, "-m", "benchmarks.http_client", *arguments)
    with running(Command(argv, ROOT)) as client:
        line = client.exchange(b"", replies=1, timeout=seconds + SPARE_SECONDS).output
    tally = Tally(**json.loads(line))
    if tally.wrong or not tally.replies:
        raise WrongReply(f"{tally.wrong} wrong of {tally.replies} replies: {tally.sample[:500]}")
    return tally


def serve_once(contender: Contender, era: Era, seconds: float) -> Run:
    """Start the server, warm it up, load it."""
    with running(start_command(contender, "http")) as server:
        port = int(server.exchange(b"", replies=1).output)
        load_once(port, era, WARM_UP_SECONDS)
        before = server.cpu_seconds()
        tally = load_once(port, era, seconds)
        spent = server.cpu_seconds() - before
    return Run(
        seconds_a_call=tally.seconds / tally.replies,
        cpu_seconds_a_call=spent / tally.replies,
        client_busy=tally.cpu_seconds / tally.seconds,
    )


def measure_era(era: Era, seconds: float, rounds: int) -> Report:
    """Compare all contenders in one era."""
    field = contenders("http", era)
    samples = interleaved(field, rounds, lambda contender: serve_once(contender, era, seconds))
    wall = {each.name: samples.median(each.name, lambda r: r.seconds_a_call) for each in field}
    cpu = {each.name: samples.median(each.name, lambda r: r.cpu_seconds_a_call) for each in field}
    ratios = {name: times_better(wall[name], wall[RIVAL]) for name in wall}
    rows = tuple(
        Row(
            name,
            (
                1 / wall[name],
                cpu[name] * 1e6,
                samples.median(name, lambda r: r.client_busy) * 100,
                ratios[name],
                times_better(cpu[name], cpu[RIVAL]),
            ),
        )
        for name in wall
    )
    return Report(
        name="http_throughput",
        title=f"stateless tools/call, {era} era, {CONNECTIONS} connections, {seconds:g} s, "
        f"median of {rounds}",
        columns=COLUMNS,
        rows=rows,
        bars=(at_least(f"{era}: ≥ {TIMES_THROUGHPUT} times mcp", ratios[OURS], TIMES_THROUGHPUT),),
        notes=samples.notes,
    )


def run(quick: bool) -> list[Report]:
    """Measure both eras."""
    seconds, rounds = (1.5, 2) if quick else (4.0, 3)
    return [measure_era(era, seconds, rounds) for era in ERAS]
