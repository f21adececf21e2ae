"""What `claw log` prints: a record as one line, the counts as tables with a chart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, cast

from clawkit.guard.audit.chart import ASCII, BLOCKS, draw
from clawkit.guard.audit.entry import Entry
from clawkit.guard.audit.stats import Count, Stats
from clawkit.guard.scan import visible

_COLOURS = {"allow": "32", "pass": "32", "deny": "31", "drop": "31", "prompt": "33"}
_ARGUMENTS = 60
_NAME = 60


def row_text(record: Entry, answer: Entry | None, *, coloured: bool, width: int | None) -> str:
    """Time, decision, server, tool, arguments, why, how long it took; `width` cuts it."""
    decision = record.get("decision") or record["kind"]
    server = visible(record.get("server", ""), _NAME)
    what = visible(record.get("tool") or record.get("method") or record["kind"], _NAME)
    parts = [_arguments(record.get("arguments")), _why(record), _outcome(answer or record)]
    rest = "  ".join(part for part in parts if part)
    before = f"{_local_time(record['time'])}  "
    line = f"{before}{visible(decision, 8):<7} {server:<14} {what:<24} {rest}".rstrip()
    if width is not None and len(line) > width:
        line = line[: width - 1] + "…"
    colour = _COLOURS.get(decision)
    if not coloured or colour is None:
        return line
    at = len(before)
    return f"{line[:at]}\x1b[{colour}m{line[at : at + 7]}\x1b[0m{line[at + 7 :]}"


def _local_time(time: str) -> str:
    try:
        return datetime.fromisoformat(time).astimezone().strftime("%m-%d %H:%M:%S")
    except ValueError:
        return "??-?? ??:??:??"


def _arguments(arguments: Any) -> str:
    if not arguments:
        return ""
    if isinstance(arguments, dict):
        pairs = cast("dict[str, Any]", arguments).items()
        text = " ".join(f"{name}={_value(value)}" for name, value in pairs)
    else:
        text = _value(arguments)
    shown = visible(text[: _ARGUMENTS + 1], 10 * _ARGUMENTS)
    return shown if len(shown) <= _ARGUMENTS else shown[: _ARGUMENTS - 1] + "…"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _why(record: Entry) -> str:
    rule = record.get("rule", 0)
    reason = visible(record.get("reason", ""), 200)
    plain = record["kind"] in ("call", "drop") or not record.get("decision")
    kind = "" if plain else record["kind"]
    said = [kind, f"rule {rule}" if rule else "", reason]
    return ": ".join(part for part in said if part)


def _outcome(record: Entry) -> str:
    """How long the answer took, and what was found in it."""
    parts: list[str] = []
    if "latency_ms" in record:
        parts.append(duration(record["latency_ms"]))
    if record.get("flags"):
        parts.append(f"[{visible(', '.join(record.get('flags', [])), 200)}]")
    return " ".join(parts)


def duration(milliseconds: float) -> str:
    if milliseconds < 1000:
        return f"{milliseconds:.3g} ms"
    return f"{milliseconds / 1000:.1f} s"


def stats_text(stats: Stats, width: int, blocks: bool) -> Iterator[str]:
    """The counts, line by line: totals, tables of what was called most, and the chart."""
    decisions = ", ".join(
        f"{number} {visible(name, 8)}" for name, number in stats.decisions.items()
    )
    yield f"{stats.calls} calls" + (f": {decisions}" if decisions else "")
    yield f"{stats.blocked} blocked, {stats.passed} other requests passed"
    if stats.p50_ms is not None and stats.p95_ms is not None:
        p50, p95 = duration(stats.p50_ms), duration(stats.p95_ms)
        yield f"answered within {p50} (half), {p95} (95 %)"
    yield from _counts("servers", stats.servers)
    yield from _counts("tools", stats.tools)
    if stats.rules:
        yield from ("", f"{'blocked by':<40} {'times':>8}")
    for rule in stats.rules:
        name = ": ".join(filter(None, [f"rule {rule.rule}" if rule.rule else "", rule.reason]))
        yield f"{_fitted(name or '(no reason)')} {rule.blocked:>8}"
    chart = draw(stats.hours, width, BLOCKS if blocks else ASCII)
    if chart:
        yield from ("", *chart)


def _counts(title: str, counts: Iterable[Count]) -> Iterator[str]:
    yield from ("", f"{title:<40} {'calls':>8} {'blocked':>8}")
    for count in counts:
        yield f"{_fitted(count.name)} {count.calls:>8} {count.blocked or '-':>8}"


def _fitted(name: str) -> str:
    shown = visible(name, 1000)
    return f"{shown:<40}" if len(shown) <= 40 else shown[:39] + "…"
