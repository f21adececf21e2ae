"""`claw log`: what passed the guard, what it stopped, whether the record of that is whole."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
import typer

from clawkit.cli.commands import AsJson, command_group, print_ascii_json, print_lines
from clawkit.cli.tables import terminal_width, wrapped
from clawkit.guard.audit.reader import (
    Wanted,
    as_they_come,
    is_failure,
    name_of,
    parse_since,
    read,
    require_place,
    rows,
    seq_before_last,
    tells,
    tells_anything,
)
from clawkit.guard.audit.reader import follow as follow_log
from clawkit.guard.audit.record import AuditEntry
from clawkit.guard.audit.stats import ASCII, BLOCKS, Count, Stats, count, draw
from clawkit.guard.audit.verification import Verdict
from clawkit.guard.locations import audit_directory
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

app = command_group("Show what passed the guard and what it stopped.", invoke_without_command=True)

_USUAL = 50
_USUAL_BEFORE_FOLLOWING = 10
_MARGIN = 100
_MEASURED = 200
_RECOVERED = 3
_MOST_RECOVERIES = 10

Since = Annotated[
    str,
    typer.Option(metavar="TIME", help="Only what is newer: 30s, 10m, 2h, 1d, 1w, or an ISO time."),
]


@app.callback()
def show(
    context: typer.Context,
    blocked: Annotated[
        bool, typer.Option("--blocked", help="Only what was denied or dropped.")
    ] = False,
    server: Annotated[
        str, typer.Option(metavar="NAME", help="Only this server; may be a glob.")
    ] = "",
    tool: Annotated[str, typer.Option(metavar="NAME", help="Only this tool; may be a glob.")] = "",
    since: Since = "",
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also lists, notifications, starts and ends.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the records as they are, as JSON lines.")
    ] = False,
    last: Annotated[
        int | None,
        typer.Option(
            "-n",
            metavar="N",
            min=1,
            help=f"The last N only. Without: {_USUAL}, or all with --since or --json.",
        ),
    ] = None,
) -> None:
    """Show what passed the guard and what it stopped, call by call."""
    if context.invoked_subcommand is not None:
        return
    after = parse_since(since) if since else ""
    wanted = Wanted(blocked=blocked, server=server, tool=tool, since=after)
    if follow:
        _follow(wanted, last or _USUAL_BEFORE_FOLLOWING, everything, as_json)
    elif as_json:
        _show_json(wanted, last)
    else:
        _show(wanted, last or (None if since else _USUAL), everything)


@app.command()
def verify(as_json: AsJson = False) -> None:
    """Check that nothing in the log was changed, removed or added.

    Ends with 0 if it is whole, 1 if it is broken, 3 if it is whole but once had to be recovered.
    """
    from clawkit.guard.status import verify_log

    verdict = verify_log()
    if as_json:
        print(msgspec.json.encode(verdict).decode())
    else:
        print_lines(_verdict_lines(verdict))
    raise typer.Exit(1 if not verdict.ok else _RECOVERED if verdict.recoveries else 0)


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    if verdict.problem is not None:
        problem = verdict.problem
        place = f"{problem.file}, line {problem.line}" if problem.line else problem.file
        yield f"The log is {'broken' if verdict.files else 'missing'}: {place}: {problem.reason}."
        if verdict.records:
            yield f"Before that, {verdict.records} of its records are as the guard wrote them."
        yield "Something other than the guard has changed this log, or the disk lost a part of it."
        yield "Keep a copy of the directory before anything else is done to it."
        return
    if not verdict.records:
        yield from _empty()
        return
    files = counted(verdict.files, "file")
    whole = "whole, but was recovered" if verdict.recoveries else "whole"
    yield f"The log is {whole}: records {verdict.first_seq} to {verdict.last_seq}, in {files}."
    for one in verdict.recoveries[-_MOST_RECOVERIES:]:
        yield f"Recovered at {one.time}, after record {one.seq - 1}: {one.reason}."
    if verdict.recoveries:
        yield "Something other than the guard took part of this log away, or the machine failed."
    if verdict.first_seq > 1:
        yield "It does not begin with record 1: older files were rotated out."


@app.command()
def stats(since: Since = "", as_json: AsJson = False) -> None:
    """Count the calls: by decision, tool, server, rule and hour."""
    wanted = Wanted(since=parse_since(since) if since else "")
    counts = count(read(_directory(), wanted))
    if as_json:
        print_ascii_json(counts)
    elif not counts.records:
        print_lines(_nothing_found(wanted))
    else:
        width = shutil.get_terminal_size((80, 24)).columns
        print_lines(stats_text(counts, width, _encodes_blocks()))


def _show(wanted: Wanted, last: int | None, everything: bool) -> None:
    shown = _shown(wanted, everything)
    # What a person said joins its call, which may stand some way before it.
    after = seq_before_last(_directory(), last + _MARGIN, shown) if last else 0
    found = rows(read(_directory(), Wanted(since=wanted.since), after=after), shown)
    if last:
        found = iter(deque(found, maxlen=last))
    first = list(islice(found, _MEASURED))
    columns = Columns()
    for row in first:
        columns.see(row.record)
    for row in chain(first, found):
        parts = row_lines(
            row.record, row.answer, columns, coloured=_coloured(), width=terminal_width()
        )
        print("\n".join(parts))
    if not first:
        print_lines(_nothing_found(wanted))


def _show_json(wanted: Wanted, last: int | None) -> None:
    after = seq_before_last(_directory(), last, wanted.matches) if last else 0
    for record in read(_directory(), wanted, after=after):
        print(json.dumps(record))


def _follow(wanted: Wanted, last: int, everything: bool, as_json: bool) -> None:
    """Show calls when they come and answers when they come: nobody wants to wait for a pair."""
    if not as_json:
        _follow_rows(wanted, last, _shown(wanted, everything))
        return
    for record in follow_log(_directory(), wanted, last=last):
        print(json.dumps(record), flush=True)


def _follow_rows(wanted: Wanted, last: int, shown: Callable[[AuditEntry], bool]) -> None:
    columns = Columns()
    after = seq_before_last(_directory(), last, shown)
    since = Wanted(since=wanted.since)
    records = follow_log(_directory(), since, last=last + _MARGIN, counts=shown)
    for record in as_they_come(records, shown, after=after):
        columns.see(record)
        parts = row_lines(record, None, columns, coloured=_coloured(), width=terminal_width())
        print("\n".join(parts), flush=True)


def _shown(wanted: Wanted, everything: bool) -> Callable[[AuditEntry], bool]:
    tells_enough = tells_anything if everything else tells
    return lambda record: tells_enough(record) and wanted.matches(record)


def _directory() -> Path:
    directory = audit_directory()
    require_place(directory)
    return directory


def _nothing_found(wanted: Wanted) -> Iterator[str]:
    if next(read(_directory()), None) is None:
        yield from _empty()
    elif wanted.since:
        yield "Nothing like that in the log since then. Ask for a longer time with --since."
    else:
        yield "Nothing like that in the log. --all shows every kind of record."


def _empty() -> Iterator[str]:
    yield f"The log is empty: there is nothing in {_directory()} yet."
    yield "The guard writes it: put it in front of a server with `claw wrap SERVER`,"
    yield "or run one behind it with `claw proxy -- COMMAND`, and call a tool."


def _encodes_blocks() -> bool:
    try:
        BLOCKS.levels.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


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
        line = _fitted_line(start, arguments, outcome, width)
        below = wrapped(why, width, _INDENT, _INDENT, _MOST_LINES) if why else []
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
    yield counted(stats.calls, "call") + (f": {decisions}" if decisions else "")
    errors = f"{counted(stats.errors, 'error')}, " if stats.errors else ""
    others = counted(stats.passed, "other request")
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
    for one in counts:
        yield f"{_fitted(one.name)} {one.calls:>8} {one.blocked or '-':>8}"


def _fitted(name: str) -> str:
    shown = visible(name, 1000)
    return f"{shown:<40}" if len(shown) <= 40 else shown[:39] + "…"
