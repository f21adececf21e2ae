"""Thousands of slow async calls at once over stdio: all answered, in bounded memory."""

from dataclasses import dataclass

from benchmarks.contenders import OURS, Contender, contenders, start_command
from benchmarks.measure import Child, running
from benchmarks.messages import call, check_opening, check_replies, check_reply, opening, ready
from benchmarks.report import Bar, Report, Row, at_most
from benchmarks.rounds import Samples, interleaved

COLUMNS = (
    "first wave s",
    "second wave s",
    "resident before MB",
    "growth MB",
    "KB a call",
    "second wave adds MB",
)
PAUSE_SECONDS = 1.0
KB_A_CALL = 10
SECOND_SHARE = 0.1
TIMEOUT = 180.0


@dataclass(frozen=True)
class Waves:
    """Two waves of calls through one process."""

    calls: int
    first_seconds: float
    second_seconds: float
    resident_mb: float
    first_peak_mb: float
    second_peak_mb: float

    @property
    def growth_mb(self) -> float:
        """What the first wave took at its peak."""
        return self.first_peak_mb - self.resident_mb

    @property
    def added_mb(self) -> float:
        """What the second wave took on top: memory that the first one never gave back."""
        return self.second_peak_mb - self.first_peak_mb

    @property
    def second_share(self) -> float:
        """The same as a part of the first wave's growth."""
        return self.added_mb / max(self.growth_mb, 1.0)

    @property
    def kb_a_call(self) -> float:
        """The growth for each call in flight."""
        return self.growth_mb * 1024 / self.calls


def send_wave(child: Child, ids: range) -> float:
    """Send all calls at once, wait for every answer, return the seconds it took."""
    lines = b"".join(call("legacy", number, "pause", seconds=PAUSE_SECONDS) for number in ids)
    exchange = child.exchange(lines, replies=len(ids), timeout=TIMEOUT)
    check_replies(exchange.output, ids, "done")
    return exchange.seconds


def send_waves(contender: Contender, calls: int) -> Waves:
    """Run two waves in one process."""
    with running(start_command(contender, "stdio_load")) as child:
        check_opening(child.exchange(opening("legacy"), replies=1).output)
        warm_up = ready("legacy") + call("legacy", 1, "pause", seconds=0.0)
        check_reply(child.exchange(warm_up, replies=1).output, "done")
        resident = child.resident_mb()
        first = send_wave(child, range(2, calls + 2))
        first_peak = child.peak_mb()
        second = send_wave(child, range(calls + 2, 2 * calls + 2))
        return Waves(calls, first, second, resident, first_peak, child.peak_mb())


def figures(samples: Samples[Waves], name: str) -> Row:
    """The medians of one contender."""
    cells = (
        samples.median(name, lambda waves: waves.first_seconds),
        samples.median(name, lambda waves: waves.second_seconds),
        samples.median(name, lambda waves: waves.resident_mb),
        samples.median(name, lambda waves: waves.growth_mb),
        samples.median(name, lambda waves: waves.kb_a_call),
        samples.median(name, lambda waves: waves.added_mb),
    )
    return Row(name, cells)


def bars(samples: Samples[Waves], calls: int) -> tuple[Bar, ...]:
    """Judge: answered, bounded, given back."""
    answered = bool(samples.by_name[OURS])
    kb_a_call = samples.median(OURS, lambda waves: waves.kb_a_call)
    second = samples.median(OURS, lambda waves: waves.second_share)
    return (
        Bar(f"all of 2 × {calls:,} calls answered", "yes" if answered else "no", answered or None),
        at_most(f"at most {KB_A_CALL} KB a call in flight", kb_a_call, KB_A_CALL, " KB"),
        at_most("a second wave adds at most a tenth of that", second, SECOND_SHARE),
    )


def run(quick: bool) -> list[Report]:
    """Measure ours beside those that have slow tools."""
    calls = 2_000 if quick else 10_000
    field = contenders("stdio_load", "legacy")
    samples = interleaved(field, 1, lambda contender: send_waves(contender, calls))
    return [
        Report(
            name="concurrency",
            title=f"{calls:,} calls of {PAUSE_SECONDS:g} s each at once over stdio, twice",
            columns=COLUMNS,
            rows=tuple(figures(samples, each.name) for each in field),
            bars=bars(samples, calls),
            notes=samples.notes,
        )
    ]
