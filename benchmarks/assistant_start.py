"""What a client waits for when it starts the assistant: `openclaw mcp-server` up to its tools."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contenders import HERE
from benchmarks.measure import Command, running
from benchmarks.messages import ERAS, Era, WrongReply, check_opening, opening, ready, request
from benchmarks.report import Bar, Report, Row, at_least, at_most, times_better
from benchmarks.rounds import Samples, interleaved

OURS = "openclaw mcp-server"
RIVAL = "mcp, empty server"
COLUMNS = ("CPU ms", "wall ms", "resident MB", "peak MB", "CPU, times better than mcp")
TIMES_LESS_CPU = 8
PEAK_MB = 35


@dataclass(frozen=True)
class Starter:
    """One server, how it is started, and which tools it must show."""

    name: str
    package: str
    command: Command
    tools: tuple[str, ...]

    @property
    def installed(self) -> bool:
        """Whether it can run here."""
        return find_spec(self.package) is not None


@dataclass(frozen=True)
class Start:
    """One cold start."""

    cpu_ms: float
    wall_ms: float
    resident_mb: float
    peak_mb: float


@contextmanager
def starters() -> Iterator[list[Starter]]:
    """Both servers, with an empty home."""
    with TemporaryDirectory(prefix="bench-assistant-") as folder:
        home = Path(folder)
        environment = {"HOME": folder, "CLAW_HOME": folder}
        openclaw = str(Path(sys.executable).with_name("openclaw"))
        empty = (sys.executable, str(HERE / "peers" / "mcp_empty.py"))
        yield [
            Starter(
                OURS,
                "clawkit",
                Command((openclaw, "mcp-server"), home, environment),
                ("order_openclaw",),
            ),
            Starter(RIVAL, "mcp", Command(empty, home, environment), ()),
        ]


def start_once(starter: Starter, era: Era) -> Start:
    """Start, open, list, take the figures at the reply, kill."""
    began = time.perf_counter()
    with running(starter.command) as child:
        check_opening(child.exchange(opening(era), replies=1).output)
        listing = ready(era) + request(era, 1, "tools/list", {})
        reply = child.exchange(listing, replies=1).output
        wall = time.perf_counter() - began
        resident, peak = child.resident_mb(), child.peak_mb()
        usage = child.end()
    check_tools(reply, starter.tools)
    return Start(usage.cpu_seconds * 1000, wall * 1000, resident, peak)


def check_tools(reply: bytes, expected: tuple[str, ...]) -> None:
    """Refuse a list of other tools."""
    tools = json.loads(reply).get("result", {}).get("tools")
    if tools is None or tuple(tool["name"] for tool in tools) != expected:
        raise WrongReply(f"expected the tools {expected}, got {reply[:300]!r}")


def figures(samples: Samples[Start], name: str) -> Row:
    """The medians of one server."""
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
    peak = samples.median(OURS, lambda start: start.peak_mb)
    return (
        at_least(f"{era}: CPU at most 1/{TIMES_LESS_CPU} of mcp's", ratio, TIMES_LESS_CPU),
        at_most(f"{era}: at most {PEAK_MB} MB at the peak", peak, PEAK_MB, " MB"),
    )


def measure_era(era: Era, rounds: int) -> Report:
    """Compare both in one era."""
    with starters() as field:
        interleaved(field, 1, lambda starter: start_once(starter, era))  # bytecode and page cache
        samples = interleaved(field, rounds, lambda starter: start_once(starter, era))
    return Report(
        name="assistant_start",
        title=f"{era}, process start to the reply to tools/list, median of {rounds}",
        columns=COLUMNS,
        rows=tuple(figures(samples, starter.name) for starter in field),
        bars=bars(samples, era),
        notes=samples.notes,
    )


def run(quick: bool) -> list[Report]:
    """Measure both eras."""
    return [measure_era(era, rounds=3 if quick else 11) for era in ERAS]
