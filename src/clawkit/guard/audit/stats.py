"""Counts what the audit says: decisions, tools, servers, rules, latencies, calls per hour."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable

import msgspec

from clawkit.guard.audit.entry import Entry
from clawkit.guard.audit.reading import is_blocked, is_failure
from clawkit.guard.audit.rows import name_of, said
from clawkit.guard.policy.call import EVALUATED

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
        blocked=tally.blocked_servers.total(),
        errors=tally.errors,
        decisions={name: number for name, number in tally.calls.most_common() if number},
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


class _Call(msgspec.Struct):
    """What is remembered of a call."""

    outcome: str
    name: str
    server: str
    hour: str
    rule: int


class _Tally:
    def __init__(self) -> None:
        self.records = 0
        self.passed = 0
        self.errors = 0
        self.calls: Counter[str] = Counter()
        self.tools: Counter[str] = Counter()
        self.blocked_tools: Counter[str] = Counter()
        self.servers: Counter[str] = Counter()
        self.blocked_servers: Counter[str] = Counter()
        self.rules: Counter[tuple[int, str]] = Counter()
        self.hours: Counter[str] = Counter()
        self.blocked_hours: Counter[str] = Counter()
        self.latencies = array("d")
        self._open: dict[str, _Call] = {}

    def add(self, record: Entry) -> None:
        self.records += 1
        if record["kind"] == "answer" and record.get("method", "") in EVALUATED:
            self.latencies.append(record.get("latency_ms", 0.0))
        if is_failure(record):
            self.errors += record.get("count", 1)
        elif record["kind"] in ("call", "drop"):
            self._begin(record)
        elif record["kind"] == "approval" or is_blocked(record):
            self._change(record)

    def _begin(self, record: Entry) -> None:
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

    def _change(self, record: Entry) -> None:
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
            self._block(call, said(record) if record["kind"] == "approval" else reason)

    def _count(self, call: _Call, number: int = 1) -> None:
        if call.outcome == "pass":
            self.passed += number
            return
        self.calls[call.outcome] += number
        self.tools[call.name] += number
        self.servers[call.server] += number
        self.hours[call.hour] += number

    def _block(self, call: _Call, reason: str, number: int = 1) -> None:
        self.rules[call.rule, reason] += number
        self.blocked_tools[call.name] += number
        self.blocked_servers[call.server] += number
        self.blocked_hours[call.hour] += number


def _top(calls: Counter[str], blocked: Counter[str], top: int) -> tuple[Count, ...]:
    return tuple(
        Count(name=name, calls=number, blocked=blocked[name])
        for name, number in calls.most_common(top)
    )


def _percentile(values: list[float], percent: int) -> float | None:
    """The smallest value that so many percent of all do not exceed."""
    return values[-(-len(values) * percent // 100) - 1] if values else None
