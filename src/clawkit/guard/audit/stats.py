"""Counts what the audit says: decisions, tools, servers, rules, latencies, calls per hour."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable

import msgspec

from clawkit.guard.audit.entry import Entry
from clawkit.guard.audit.reading import is_blocked
from clawkit.guard.policy.call import EVALUATED


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
    """All counts. A call is what was judged: a request of the policy's table, or a drop."""

    records: int
    calls: int
    passed: int
    """Requests that no policy judges, such as `initialize` and the lists."""
    blocked: int
    """Calls, answers and whatever else was stopped."""
    decisions: dict[str, int]
    tools: tuple[Count, ...]
    servers: tuple[Count, ...]
    rules: tuple[RuleCount, ...]
    answers: int
    p50_ms: float | None
    p95_ms: float | None
    hours: tuple[Hour, ...]
    """Only hours in which something was called, oldest first."""


def count(records: Iterable[Entry], *, top: int = 10) -> Stats:
    """Go through the records once, keeping nothing of them but numbers."""
    tally = _Tally()
    for record in records:
        tally.add(record)
    latencies = sorted(tally.latencies)
    return Stats(
        records=tally.records,
        calls=tally.calls.total(),
        passed=tally.passed,
        blocked=sum(tally.rules.values()),
        decisions=dict(tally.calls.most_common()),
        tools=_top(tally.tools, tally.blocked_tools, top),
        servers=_top(tally.servers, tally.blocked_servers, top),
        rules=tuple(
            RuleCount(rule=rule, reason=reason, blocked=blocked)
            for (rule, reason), blocked in tally.rules.most_common(top)
        ),
        answers=len(latencies),
        p50_ms=_percentile(latencies, 50),
        p95_ms=_percentile(latencies, 95),
        hours=tuple(
            Hour(hour=hour, calls=tally.hours[hour], blocked=tally.blocked_hours[hour])
            for hour in sorted(tally.hours)
        ),
    )


class _Tally:
    def __init__(self) -> None:
        self.records = 0
        self.passed = 0
        self.calls: Counter[str] = Counter()
        self.tools: Counter[str] = Counter()
        self.blocked_tools: Counter[str] = Counter()
        self.servers: Counter[str] = Counter()
        self.blocked_servers: Counter[str] = Counter()
        self.rules: Counter[tuple[int, str]] = Counter()
        self.hours: Counter[str] = Counter()
        self.blocked_hours: Counter[str] = Counter()
        self.latencies = array("d")

    def add(self, record: Entry) -> None:
        self.records += 1
        blocked = is_blocked(record)
        if blocked:
            self.rules[record.get("rule", 0), record.get("reason", "")] += 1
        if record["kind"] == "answer" and record.get("method", "") in EVALUATED:
            self.latencies.append(record.get("latency_ms", 0.0))
        if record["kind"] not in ("call", "drop"):
            return
        if record.get("decision") == "pass":
            self.passed += 1
            return
        self._add_call(record, blocked)

    def _add_call(self, record: Entry, blocked: bool) -> None:
        self.calls[record.get("decision") or "unknown"] += 1
        tool = record.get("tool") or record.get("method") or "(no name)"
        server = record.get("server") or "(no name)"
        hour = record["time"][:13]
        self.tools[tool] += 1
        self.servers[server] += 1
        self.hours[hour] += 1
        if blocked:
            self.blocked_tools[tool] += 1
            self.blocked_servers[server] += 1
            self.blocked_hours[hour] += 1


def _top(calls: Counter[str], blocked: Counter[str], top: int) -> tuple[Count, ...]:
    return tuple(
        Count(name=name, calls=number, blocked=blocked[name])
        for name, number in calls.most_common(top)
    )


def _percentile(values: list[float], percent: int) -> float | None:
    """The smallest value that so many percent of all do not exceed."""
    return values[-(-len(values) * percent // 100) - 1] if values else None
