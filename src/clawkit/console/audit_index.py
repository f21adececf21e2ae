"""The audit in memory: a short row a call, so that a page can filter, count and page through it.

A row has no arguments but their beginning; what a person opens is read from the log itself.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawkit.guard.audit.reader import (
    AuditTail,
    is_answer,
    is_blocked,
    is_failure,
    name_of,
    parse_since,
    read,
    settled,
    tells,
    tells_anything,
    was_asked,
)
from clawkit.guard.audit.record import AuditEntry
from clawkit.guard.audit.stats import percentile

MOST_ROWS = 500_000
_SPARE = 50_000
_MOST_OPEN = 10_000
_PREVIEW = 120
_VALUE = 90
_BEGINNING = 30
_BUCKETS = 48
_LANES = 12
_TOP = 8
_NEAR = 5
_NEAR_WITHIN = 5_000
_STEPS = (1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400)
_WILD = frozenset("*?[")


class AuditRow(Struct, omit_defaults=True):
    """A call or another event, with what was said about it later."""

    seq: int
    time: str
    at: float
    kind: str
    server: str
    name: str
    decision: str
    rule: int
    reason: str
    session: str
    client: str
    preview: str
    count: int = 1
    blocked: bool = False
    telling: bool = True
    latency_ms: float | None = None
    flags: tuple[str, ...] = ()
    approval: int = 0
    """The number of the record in which a person's word stands."""
    asked: bool = False
    """Whether a person saw the question, and answered it or let its time pass."""
    answer: int = 0


class RowFilter(Struct, frozen=True):
    """Which rows are wanted; an empty field asks for nothing."""

    server: str = ""
    tool: str = ""
    """A glob, or a part of the name."""
    decision: str = ""
    rule: int | None = None
    """0: no rule decided."""
    since: str = ""
    text: str = ""
    everything: bool = False
    """Also lists, notifications, starts and ends."""

    def matcher(self) -> Callable[[AuditRow], bool]:
        since = parse_since(self.since) if self.since else ""
        tool, text = self.tool, self.text.lower()
        glob = bool(_WILD.intersection(tool))
        wanted_tool = tool.lower()

        def matches(row: AuditRow) -> bool:
            return (
                (self.everything or row.telling)
                and row.time >= since
                and (not self.server or row.server == self.server)
                and (not self.decision or _decided(row, self.decision))
                and (self.rule is None or row.rule == self.rule)
                and (
                    not tool
                    or (fnmatchcase(row.name, tool) if glob else wanted_tool in row.name.lower())
                )
                and (not text or text in f"{row.preview} {row.reason} {row.client}".lower())
            )

        return matches


class RowPage(Struct, frozen=True):
    """The newest rows of those that match and are older than a record."""

    rows: tuple[AuditRow, ...]
    total: int
    older: bool
    newest: int


class Bucket(Struct, frozen=True):
    """A stretch of time: its first second, and what happened in it."""

    start: float
    calls: int
    blocked: int
    p50_ms: float | None
    p95_ms: float | None


class Lane(Struct, frozen=True):
    """A server over time: its calls and what was blocked, bucket by bucket."""

    server: str
    calls: int
    blocked: int
    p50_ms: float | None
    p95_ms: float | None
    counts: tuple[tuple[int, int], ...]


class Tally(Struct, frozen=True):
    """How often one name or reason came."""

    name: str
    calls: int
    blocked: int = 0


class ActivitySummary(Struct, frozen=True):
    """What the rows that match say together."""

    calls: int
    blocked: int
    asked: int
    errors: int
    p50_ms: float | None
    p95_ms: float | None
    step: float
    buckets: tuple[Bucket, ...]
    lanes: tuple[Lane, ...]
    tools: tuple[Tally, ...]
    reasons: tuple[Tally, ...]
    all_tools: int
    """How many there are: the most called ones stand in `tools`."""
    all_reasons: int


class OpenedRecord(Struct, frozen=True):
    """A record as it stands in the log, with those that belong to it."""

    record: AuditEntry
    linked: tuple[AuditEntry, ...]
    before: tuple[AuditRow, ...]
    after: tuple[AuditRow, ...]


class AuditIndex:
    """The rows of one log, brought up to date whenever somebody asks. Any thread may ask."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._tail = AuditTail(directory, 0)
        self._rows: list[AuditRow] = []
        self._open: dict[str, AuditRow] = {}
        self._changing = threading.Lock()
        self._changes = 0
        self._summaries: dict[RowFilter, tuple[int, ActivitySummary]] = {}

    def refresh(self) -> int:
        """Read what is new; a number that is another one whenever something is."""
        with self._changing:
            for record in self._tail.more():
                self._changes += 1
                self._add(record)
            if len(self._rows) > MOST_ROWS + _SPARE:
                del self._rows[:-MOST_ROWS]
            return self._changes

    def servers(self) -> list[str]:
        self.refresh()
        return sorted({row.server for row in self._rows if row.server})

    def page(self, wanted: RowFilter, before: int, limit: int) -> RowPage:
        self.refresh()
        rows, matches = self._rows, wanted.matcher()
        found: deque[AuditRow] = deque()
        total = 0
        for row in reversed(rows):
            if matches(row):
                total += 1
                if (not before or row.seq < before) and len(found) <= limit:
                    found.append(row)
        newest = rows[-1].seq if rows else 0
        return RowPage(tuple(islice(found, limit)), total, len(found) > limit, newest)

    def summary(self, wanted: RowFilter) -> ActivitySummary:
        changes = self.refresh()
        known = self._summaries.get(wanted)
        if known is not None and known[0] == changes:
            return known[1]
        matches = wanted.matcher()
        summary = _summarised([row for row in self._rows if matches(row)])
        if len(self._summaries) > _TOP:
            self._summaries.clear()
        self._summaries[wanted] = (changes, summary)
        return summary

    def opened(self, seq: int) -> OpenedRecord | None:
        """A record with all that belongs to it; None if the log has it no longer."""
        self.refresh()
        rows = self._rows
        at = bisect_left(rows, seq, key=lambda row: row.seq)
        row = rows[at] if at < len(rows) and rows[at].seq == seq else None
        numbers = {seq, *((row.approval, row.answer) if row is not None else ())} - {0}
        found = {record["seq"]: record for record in self._records(numbers)}
        if seq not in found:
            return None
        linked = tuple(found[number] for number in sorted(numbers - {seq}) if number in found)
        earlier = reversed(rows[max(0, at - _NEAR_WITHIN) : at])
        later = islice(rows, at + 1, at + _NEAR_WITHIN)
        return OpenedRecord(
            record=found[seq],
            linked=linked,
            before=tuple(reversed(_near(row, earlier))),
            after=tuple(_near(row, later)),
        )

    def _records(self, numbers: set[int]) -> Iterator[AuditEntry]:
        last = max(numbers)
        for record in read(self._directory, after=min(numbers) - 1):
            if record["seq"] in numbers:
                yield record
            if record["seq"] >= last:
                return

    def _add(self, record: AuditEntry) -> None:
        call = self._open.get(record.get("of", ""))
        if call is not None and record["kind"] == "approval":
            _settle(call, record)
            return
        if call is not None and is_answer(record):
            call.latency_ms = record.get("latency_ms", 0.0)
            call.answer = record["seq"]
            call.flags = (*call.flags, *record.get("flags", ()))
            del self._open[record.get("of", "")]
        if not tells_anything(record):
            return
        row = _row(record)
        self._rows.append(row)
        if record["kind"] == "call" and "id" in record:
            self._open[record.get("id", "")] = row
            if len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]


def _row(record: AuditEntry) -> AuditRow:
    failed = is_failure(record)
    return AuditRow(
        seq=record["seq"],
        time=record["time"],
        at=_seconds(record["time"]),
        kind=record["kind"],
        server=record.get("server", ""),
        name=name_of(record) or record["kind"],
        decision="error" if failed else record.get("decision", ""),
        rule=record.get("rule", 0),
        reason=record.get("reason", ""),
        session=record.get("session", ""),
        client=record.get("client", ""),
        preview=_preview(record),
        count=record.get("count", 1),
        blocked=is_blocked(record),
        telling=tells(record),
        latency_ms=record.get("latency_ms"),
        flags=tuple(record.get("flags", ())),
    )


def _settle(call: AuditRow, approval: AuditEntry) -> None:
    """Put a person's word to the call that it is about."""
    so_far: AuditEntry = {"seq": call.seq, "time": call.time, "kind": call.kind}
    now = settled({**so_far, "reason": call.reason}, approval)
    call.decision, call.reason = now.get("decision", ""), now.get("reason", "")
    call.approval = approval["seq"]
    call.asked = call.asked or was_asked(approval)
    call.blocked = is_blocked(now)


def _preview(record: AuditEntry) -> str:
    """What was called with, in short, as `claw log` has it: first what should not be there."""
    outside, arguments = record.get("outside"), record.get("arguments")
    text = " ".join(filter(None, (outside and f"outside={_value(outside)}", _named(arguments))))
    return text if len(text) <= _PREVIEW else f"{text[:_PREVIEW]}…"


def _named(arguments: Any) -> str:
    if not arguments or not isinstance(arguments, dict):
        return _value(arguments) if arguments else ""
    pairs = cast("dict[str, Any]", arguments).items()
    return " ".join(f"{name}={_value(value)}" for name, value in islice(pairs, _PREVIEW))


def _value(value: Any) -> str:
    """Of what is long both ends: paths differ at theirs."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _VALUE else f"{text[:_BEGINNING]}…{text[_BEGINNING - _VALUE :]}"


def _seconds(time: str) -> float:
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return 0.0


def _decided(row: AuditRow, decision: str) -> bool:
    if decision == "blocked":
        return row.blocked
    if decision == "asked":
        return row.asked
    return row.decision == decision


def _near(row: AuditRow | None, rows: Any) -> list[AuditRow]:
    """The nearest rows of the same session."""
    if row is None or not row.session:
        return []
    same = (each for each in rows if each.session == row.session and each.telling)
    return list(islice(same, _NEAR))


class _Stretch:
    """What is counted in a bucket, or for a server."""

    def __init__(self) -> None:
        self.calls = 0
        self.blocked = 0
        self.latencies = array("d")

    def add(self, row: AuditRow) -> None:
        self.calls += row.count
        if row.blocked:
            self.blocked += row.count
        if row.latency_ms is not None:
            self.latencies.append(row.latency_ms)

    def percentiles(self) -> tuple[float | None, float | None]:
        ordered = sorted(self.latencies)
        return percentile(ordered, 50), percentile(ordered, 95)


def _summarised(found: list[AuditRow]) -> ActivitySummary:
    """Counts are of calls, as the policy's are; what was blocked may have been another message."""
    rows = [row for row in found if row.kind == "call"]
    reasons = Counter[str]()
    for row in found:
        if row.blocked:
            reasons[_reason(row)] += row.count
    first, step = _scale(rows)
    number = int((rows[-1].at - first) // step) + 1 if rows else 0
    total, buckets = _Stretch(), [_Stretch() for _ in range(number)]
    lanes: dict[str, tuple[_Stretch, list[list[int]]]] = {}
    tools: Counter[str] = Counter()
    blocked_tools: Counter[str] = Counter()
    for row in rows:
        at = min(max(int((row.at - first) // step), 0), number - 1)
        lane, counts = lanes.setdefault(row.server, (_Stretch(), [[0, 0] for _ in buckets]))
        for stretch in (total, buckets[at], lane):
            stretch.add(row)
        counts[at][0] += row.count
        tools[row.name] += row.count
        if row.blocked:
            counts[at][1] += row.count
            blocked_tools[row.name] += row.count
    p50, p95 = total.percentiles()
    return ActivitySummary(
        calls=total.calls,
        blocked=reasons.total(),
        asked=sum(row.count for row in rows if row.asked),
        errors=sum(row.count for row in found if row.decision == "error"),
        p50_ms=p50,
        p95_ms=p95,
        step=step,
        buckets=tuple(
            Bucket(first + at * step, one.calls, one.blocked, *one.percentiles())
            for at, one in enumerate(buckets)
        ),
        lanes=_lanes(lanes),
        tools=tuple(Tally(name, n, blocked_tools[name]) for name, n in tools.most_common(_TOP)),
        reasons=tuple(Tally(name, n, n) for name, n in reasons.most_common(_TOP)),
        all_tools=len(tools),
        all_reasons=len(reasons),
    )


def _scale(rows: list[AuditRow]) -> tuple[float, float]:
    """Where the first bucket begins, and how many seconds each of them has."""
    if not rows:
        return 0.0, 1.0
    first, last = rows[0].at, rows[-1].at
    span = max(1.0, last - first)
    step = next((one for one in _STEPS if span / one <= _BUCKETS - 1), 0)
    if not step:
        step = -(-span // (86400 * (_BUCKETS - 1))) * 86400
    return first - first % step, float(step)


def _lanes(lanes: dict[str, tuple[_Stretch, list[list[int]]]]) -> tuple[Lane, ...]:
    most = sorted(lanes.items(), key=lambda item: -item[1][0].calls)[:_LANES]
    return tuple(
        Lane(
            server,
            lane.calls,
            lane.blocked,
            *lane.percentiles(),
            counts=tuple((calls, blocked) for calls, blocked in counts),
        )
        for server, (lane, counts) in most
    )


def _reason(row: AuditRow) -> str:
    said = row.reason or "no reason"
    return f"rule {row.rule}: {said}" if row.rule else said
