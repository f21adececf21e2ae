"""Counts what the audit says, and draws the calls per hour."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from clawkit.guard.audit.reader import approval_outcome, is_blocked, is_failure, name_of
from clawkit.guard.audit.record import AuditEntry
from clawkit.guard.policy.call import EVALUATED

if TYPE_CHECKING:
    from datetime import datetime

_MOST = 10
"""How many tools, servers and rules are listed."""
_MOST_OPEN = 10_000
"""How many calls are remembered, for what may still be said about them."""


class Count(msgspec.Struct, frozen=True):
    """How many calls of one tool or server there were, and how many of them were blocked."""

    name: str
    calls: int
    blocked: int


class RuleCount(msgspec.Struct, frozen=True):
    """How much a rule has blocked; rule 0 is where no rule of the policy spoke."""

    rule: int
    reason: str
    blocked: int


class Hour(msgspec.Struct, frozen=True):
    """The calls of one hour, which is named by its first moment in UTC (`2026-01-31T09`)."""

    hour: str
    calls: int
    blocked: int


class Stats(msgspec.Struct, frozen=True):
    """All counts. A call is what was judged: a request of the policy's table, or a drop.

    It has one outcome: that of the policy, or what a person said, or that its answer was blocked.
    """

    records: int
    calls: int
    passed: int
    """Requests that no policy judges, such as `initialize` and the lists."""
    blocked: int
    """The calls that were denied or dropped, by whomever."""
    errors: int
    """Messages that were lost because a server could not be reached."""
    decisions: dict[str, int]
    """The outcomes: `prompt` is a question that nobody has answered."""
    tools: tuple[Count, ...]
    servers: tuple[Count, ...]
    rules: tuple[RuleCount, ...]
    answers: int
    p50_ms: float | None
    p95_ms: float | None
    hours: tuple[Hour, ...]
    """Only hours in which something was called, oldest first."""


def count(records: Iterable[AuditEntry]) -> Stats:
    """Go through the records once, keeping nothing of them but numbers."""
    tally = _Tally()
    for record in records:
        tally.add(record)
    latencies = sorted(tally.latencies)
    return Stats(
        records=tally.records,
        calls=tally.calls.total(),
        passed=tally.passed,
        blocked=tally.servers.blocked.total(),
        errors=tally.errors,
        decisions={name: number for name, number in tally.calls.most_common() if number},
        tools=tally.tools.top(_MOST),
        servers=tally.servers.top(_MOST),
        rules=tuple(
            RuleCount(rule=rule, reason=reason, blocked=blocked)
            for (rule, reason), blocked in tally.rules.most_common(_MOST)
        ),
        answers=len(latencies),
        p50_ms=percentile(latencies, 50),
        p95_ms=percentile(latencies, 95),
        hours=tuple(
            Hour(hour=hour, calls=tally.hours.calls[hour], blocked=tally.hours.blocked[hour])
            for hour in sorted(tally.hours.calls)
        ),
    )


class _Call(msgspec.Struct):
    outcome: str
    name: str
    server: str
    hour: str
    rule: int


class _Counts:
    """Calls and blocked calls by name."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.blocked: Counter[str] = Counter()

    def top(self, most: int) -> tuple[Count, ...]:
        return tuple(
            Count(name=name, calls=number, blocked=self.blocked[name])
            for name, number in self.calls.most_common(most)
        )


class _Tally:
    def __init__(self) -> None:
        self.records = 0
        self.passed = 0
        self.errors = 0
        self.calls: Counter[str] = Counter()
        self.tools, self.servers, self.hours = _Counts(), _Counts(), _Counts()
        self.rules: Counter[tuple[int, str]] = Counter()
        self.latencies = array("d")
        self._open: dict[str, _Call] = {}

    def add(self, record: AuditEntry) -> None:
        self.records += 1
        if record["kind"] == "answer" and record.get("method", "") in EVALUATED:
            self.latencies.append(record.get("latency_ms", 0.0))
        if is_failure(record):
            self.errors += record.get("count", 1)
        elif record["kind"] in ("call", "drop"):
            self._begin(record)
        elif record["kind"] == "approval" or is_blocked(record):
            self._change(record)

    def _begin(self, record: AuditEntry) -> None:
        call = _Call(
            outcome=record.get("decision") or "unknown",
            name=name_of(record) or "(no name)",
            server=record.get("server") or "(no name)",
            hour=record["time"][:13],
            rule=record.get("rule", 0),
        )
        times = record.get("count", 1)
        self._count(call, times)
        if is_blocked(record):
            self._block(call, record.get("reason", ""), times)
        elif "id" in record:
            self._open[record.get("id", "")] = call
            if len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]

    def _change(self, record: AuditEntry) -> None:
        """What was said about a call later; of one that is not known, it stands for the call."""
        call = self._open.get(record.get("of", ""))
        if call is None:
            self._begin(record)
            return
        if call.outcome == "deny":
            return
        self._count(call, -1)
        call.outcome = record.get("decision") or "unknown"
        self._count(call)
        if is_blocked(record):
            reason = record.get("reason", "")
            self._block(call, approval_outcome(record) if record["kind"] == "approval" else reason)

    def _count(self, call: _Call, number: int = 1) -> None:
        if call.outcome == "pass":
            self.passed += number
            return
        self.calls[call.outcome] += number
        self.tools.calls[call.name] += number
        self.servers.calls[call.server] += number
        self.hours.calls[call.hour] += number

    def _block(self, call: _Call, reason: str, number: int = 1) -> None:
        self.rules[call.rule, reason] += number
        self.tools.blocked[call.name] += number
        self.servers.blocked[call.server] += number
        self.hours.blocked[call.hour] += number


def percentile(values: list[float], percent: int) -> float | None:
    """The smallest value that so many percent of all do not exceed."""
    return values[-(-len(values) * percent // 100) - 1] if values else None


_ROWS = 5


class ChartCharacters(msgspec.Struct, frozen=True):
    """What to draw with: `levels` go from nothing to full."""

    levels: str
    wall: str
    corner: str
    floor: str


BLOCKS = ChartCharacters(levels=" ▁▂▃▄▅▆▇█", wall="│", corner="└", floor="─")
ASCII = ChartCharacters(levels=" .:=#", wall="|", corner="+", floor="-")


class _Column(msgspec.Struct):
    start: datetime
    calls: int = 0
    blocked: int = 0


def draw(hours: Iterable[Hour], width: int, characters: ChartCharacters = BLOCKS) -> list[str]:
    """The lines of the chart, none wider than `width`; no calls, no lines."""
    known = [(moment, hour) for hour in hours if (moment := _moment(hour.hour))]
    if not known:
        return []
    top_label = str(max(hour.calls for _, hour in known))
    margin = max(len(top_label), len("blocked")) + 2
    columns, step = _columns(known, max(8, width - margin))
    most = max(column.calls for column in columns)
    wide = 2 if len(columns) * 2 <= width - margin else 1
    chart = [_title(step)]
    for row in range(_ROWS - 1, -1, -1):
        cells = (_cell(column.calls / most, row, characters) * wide for column in columns)
        label = str(most) if row == _ROWS - 1 else ""
        chart.append(f"{label:>{margin - 2}} {characters.wall}{''.join(cells)}")
    chart.append(" " * (margin - 1) + characters.corner + characters.floor * (len(columns) * wide))
    shares = (_share(column, characters) * wide for column in columns)
    chart.append(f"{'blocked':>{margin - 2}}  {''.join(shares)}")
    chart.append(" " * margin + _times(columns, len(columns) * wide))
    return [line.rstrip() for line in chart]


def _moment(hour: str) -> datetime | None:
    from datetime import datetime

    try:
        return datetime.fromisoformat(f"{hour}:00Z")
    except ValueError:
        return None


def _columns(known: list[tuple[datetime, Hour]], most: int) -> tuple[list[_Column], int]:
    """As many columns as fit, without a gap in time, and how many hours each of them has."""
    from datetime import timedelta

    first = known[0][0]
    total = _hours(first, known[-1][0]) + 1
    step = -(-total // most)
    columns = [_Column(first + timedelta(hours=at)) for at in range(0, total, step)]
    for moment, hour in known:
        column = columns[_hours(first, moment) // step]
        column.calls += hour.calls
        column.blocked += hour.blocked
    return columns, step


def _hours(start: datetime, end: datetime) -> int:
    return int((end - start).total_seconds() // 3600)


def _cell(share: float, row: int, characters: ChartCharacters) -> str:
    """One cell of a bar: full, empty, or the part that the bar reaches into it."""
    full = len(characters.levels) - 1
    height = max(1, round(share * _ROWS * full)) if share else 0
    return characters.levels[min(full, max(0, height - row * full))]


def _share(column: _Column, characters: ChartCharacters) -> str:
    if not column.blocked:
        return characters.levels[0]
    full = len(characters.levels) - 1
    return characters.levels[max(1, round(column.blocked / column.calls * full))]


def _title(step: int) -> str:
    return "calls per hour" if step == 1 else f"calls per {step} hours"


def _times(columns: list[_Column], width: int) -> str:
    """The local time of the first and the last column, if both fit."""
    first, last = (
        column.start.astimezone().strftime("%m-%d %H:%M") for column in (columns[0], columns[-1])
    )
    gap = width - len(first) - len(last)
    return first + " " * gap + last if gap > 0 else first
