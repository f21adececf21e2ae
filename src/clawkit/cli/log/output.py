"""What `claw log` prints: a record in a line or two, the counts as tables with a chart."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, cast

import msgspec

from clawkit.cli.output import plural
from clawkit.guard.audit.reader import is_failure
from clawkit.guard.audit.record import AuditEntry
from clawkit.guard.audit.stats import ASCII, BLOCKS, Count, Stats, draw
from clawkit.guard.audit.timeline import name_of
from clawkit.guard.scan import visible

_COLOURS = {"allow": "32", "pass": "32", "deny": "31", "drop": "31", "prompt": "33", "error": "33"}
_ARGUMENTS = 60
_NAME = 60
_WIDEST_SERVER = 16
_WIDEST_TOOL = 28
_INDENT = " " * 6
_MOST_LINES = 4


class Columns(msgspec.Struct):
    """How wide the names are: as wide as those that were seen, up to a limit."""

    server: int = 0
    tool: int = 0

    def see(self, record: AuditEntry) -> None:
        self.server = min(max(self.server, len(_server(record))), _WIDEST_SERVER)
        self.tool = min(max(self.tool, len(_what(record))), _WIDEST_TOOL)


def row_lines(
    record: AuditEntry,
    answer: AuditEntry | None,
    columns: Columns,
    *,
    coloured: bool,
    width: int | None,
) -> list[str]:
    """Time, decision, server, tool, arguments, why, how long it took, in one line.

    What is wider than `width` gets its reason below.
    """
    decision = "error" if is_failure(record) else record.get("decision") or record["kind"]
    before = f"{_local_time(record['time'])}  "
    names = f"{_cut(_server(record), columns.server, width)} "
    names += _cut(_what(record), columns.tool, width)
    start = f"{before}{visible(decision, 8):<7} {names}"
    beside = record.get("outside")
    outside = _arguments({"outside": beside}) if beside else ""
    # First what should not be there: no argument pushes it out of sight.
    arguments = _joined(outside, _arguments(record.get("arguments")))
    outcome = _outcome(answer or record)
    why = _why(record)
    line = _joined(start, arguments, why, outcome)
    below: list[str] = []
    if width is not None and len(line) > width:
        line, below = _fitted_line(start, arguments, outcome, width), _below(why, width)
    colour = _COLOURS.get(decision)
    if coloured and colour is not None:
        at = len(before)
        line = f"{line[:at]}\x1b[{colour}m{line[at : at + 7]}\x1b[0m{line[at + 7 :]}"
    return [line, *below]


def _server(record: AuditEntry) -> str:
    return visible(record.get("server", ""), _NAME)


def _what(record: AuditEntry) -> str:
    return visible(name_of(record) or record["kind"], _NAME)


def _joined(*parts: str) -> str:
    return "  ".join(part for part in parts if part).rstrip()


def _cut(text: str, size: int, width: int | None) -> str:
    """Padded to its column; cut to it only for eyes."""
    return f"{text:<{size}}" if width is None else f"{_shortened(text, size):<{size}}"


def _shortened(text: str, size: int) -> str:
    return text if len(text) <= size else text[: max(0, size - 1)] + "…"


def _fitted_line(start: str, arguments: str, outcome: str, width: int) -> str:
    """The arguments are what is cut: how the call ended stays."""
    room = width - len(_joined(start, outcome)) - 2
    return _shortened(_joined(start, _shortened(arguments, room), outcome), width)


def _below(why: str, width: int) -> list[str]:
    return textwrap.wrap(
        why,
        max(len(_INDENT) + 10, width),
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_on_hyphens=False,
        max_lines=_MOST_LINES,
        placeholder="…",
    )


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


def _why(record: AuditEntry) -> str:
    rule = record.get("rule", 0)
    reason = visible(record.get("reason", ""), 200)
    plain = record["kind"] in ("call", "drop") or not record.get("decision")
    kind = "" if plain else record["kind"]
    count = record.get("count", 1)
    times = f"{count} times" if count > 1 else ""
    said = [kind, f"rule {rule}" if rule else "", times, reason]
    return ": ".join(part for part in said if part)


def _outcome(record: AuditEntry) -> str:
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
    yield plural(stats.calls, "call") + (f": {decisions}" if decisions else "")
    errors = f"{plural(stats.errors, 'error')}, " if stats.errors else ""
    others = plural(stats.passed, "other request")
    yield f"{stats.blocked} blocked, {errors}{others} passed"
    if stats.p50_ms is not None and stats.p95_ms is not None:
        p50, p95 = duration(stats.p50_ms), duration(stats.p95_ms)
        yield f"latency: median {p50}, 95th percentile {p95}"
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
