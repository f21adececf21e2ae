"""`claw log`: what passed the guard, what it stopped, whether the record of that is whole."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from clawkit.errors import ClawError

if TYPE_CHECKING:
    from io import TextIOWrapper

    from clawkit.guard.audit.reader import Wanted
    from clawkit.guard.audit.record import AuditEntry

app = typer.Typer(
    help="Show what passed the guard and what it stopped.", invoke_without_command=True
)

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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


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
    _print_what_can_be_printed()
    from clawkit.guard.audit.reader import Wanted, parse_since

    with _errors():
        wanted = Wanted(
            blocked=blocked, server=server, tool=tool, since=parse_since(since) if since else ""
        )
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
    import msgspec

    from clawkit.guard.audit.reader import verify as verify_log

    _print_what_can_be_printed()
    with _errors():
        verdict = verify_log(_directory())
    if verdict.ok and not verdict.records and (traces := _traces()):
        from clawkit.guard.audit.reader import ChainProblem

        reason = f"there is no log, but there should be one: {traces}"
        problem = ChainProblem(str(_directory()), 0, reason)
        verdict = msgspec.structs.replace(verdict, ok=False, problem=problem)
    if as_json:
        print(msgspec.json.encode(verdict).decode())
    elif verdict.problem is not None:
        problem = verdict.problem
        place = f"{problem.file}, line {problem.line}" if problem.line else problem.file
        print(f"The log is {'broken' if verdict.files else 'missing'}: {place}: {problem.reason}.")
        if verdict.records:
            print(f"Before that, {verdict.records} of its records are as the guard wrote them.")
        print("Something other than the guard has changed this log, or the disk lost a part of it.")
        print("Keep a copy of the directory before anything else is done to it.")
    elif not verdict.records:
        _say_empty()
    else:
        files = "1 file" if verdict.files == 1 else f"{verdict.files} files"
        whole = "whole, but was recovered" if verdict.recoveries else "whole"
        print(f"The log is {whole}: records {verdict.first_seq} to {verdict.last_seq}, in {files}.")
        for one in verdict.recoveries[-_MOST_RECOVERIES:]:
            print(f"Recovered at {one.time}, after record {one.seq - 1}: {one.reason}.")
        if verdict.recoveries:
            print(
                "Something other than the guard took part of this log away, or the machine failed."
            )
        if verdict.first_seq > 1:
            print("It does not begin with record 1: older files were rotated out.")
    raise typer.Exit(1 if not verdict.ok else _RECOVERED if verdict.recoveries else 0)


@app.command()
def stats(since: Since = "", as_json: AsJson = False) -> None:
    """Count the calls: by decision, tool, server, rule and hour."""
    import msgspec

    from clawkit.guard.audit.reader import Wanted, parse_since, read
    from clawkit.guard.audit.stats import count

    _print_what_can_be_printed()
    with _errors():
        wanted = Wanted(since=parse_since(since) if since else "")
        counts = count(read(_directory(), wanted))
    if as_json:
        print(json.dumps(msgspec.to_builtins(counts), indent=2))
    elif not counts.records:
        _say_nothing_found(wanted)
    else:
        from clawkit.cli.log.output import stats_text

        for line in stats_text(counts, _width(), _encodes_blocks()):
            print(line)


def _show(wanted: Wanted, last: int | None, everything: bool) -> None:
    from collections import deque
    from itertools import chain, islice

    from clawkit.cli.log.output import Columns, row_lines
    from clawkit.guard.audit.reader import Wanted, read, seq_before_last
    from clawkit.guard.audit.timeline import rows

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
        parts = row_lines(row.record, row.answer, columns, coloured=_coloured(), width=_cut_at())
        print("\n".join(parts))
    if not first:
        _say_nothing_found(wanted)


def _show_json(wanted: Wanted, last: int | None) -> None:
    from clawkit.guard.audit.reader import read, seq_before_last

    after = seq_before_last(_directory(), last, wanted.matches) if last else 0
    for record in read(_directory(), wanted, after=after):
        print(json.dumps(record))


def _follow(wanted: Wanted, last: int, everything: bool, as_json: bool) -> None:
    """Show calls when they come and answers when they come: nobody wants to wait for a pair."""
    try:
        if as_json:
            _follow_json(wanted, last)
        else:
            _follow_rows(wanted, last, _shown(wanted, everything))
    except KeyboardInterrupt:
        return


def _follow_json(wanted: Wanted, last: int) -> None:
    from clawkit.guard.audit.reader import follow

    for record in follow(_directory(), wanted, last=last):
        print(json.dumps(record), flush=True)


def _follow_rows(wanted: Wanted, last: int, shown: Callable[[AuditEntry], bool]) -> None:
    from clawkit.cli.log.output import Columns, row_lines
    from clawkit.guard.audit.reader import Wanted, follow, seq_before_last
    from clawkit.guard.audit.timeline import as_they_come

    columns = Columns()
    after = seq_before_last(_directory(), last, shown)
    since = Wanted(since=wanted.since)
    records = follow(_directory(), since, last=last + _MARGIN, counts=shown)
    for record in as_they_come(records, shown, after=after):
        columns.see(record)
        parts = row_lines(record, None, columns, coloured=_coloured(), width=_cut_at())
        print("\n".join(parts), flush=True)


def _shown(wanted: Wanted, everything: bool) -> Callable[[AuditEntry], bool]:
    from clawkit.guard.audit.timeline import tells, tells_anything

    tells_enough = tells_anything if everything else tells
    return lambda record: tells_enough(record) and wanted.matches(record)


def _directory() -> Path:
    from clawkit.guard.audit.reader import require_place
    from clawkit.guard.locations import audit_directory

    directory = audit_directory()
    require_place(directory)
    return directory


def _traces() -> str:
    """What says that the guard was at work here, so that it must have left a log."""
    from clawkit.guard.locations import pins_directory
    from clawkit.hosts.ledger import items, ledger_file

    if any(pins_directory().glob("*.json")):
        return f"servers are pinned in {pins_directory()}"
    try:
        wrapped = bool(items())
    except ClawError:
        wrapped = True
    return f"servers are wrapped, as {ledger_file()} says" if wrapped else ""


@contextmanager
def _errors() -> Generator[None]:
    try:
        yield
    except ClawError as error:
        print(f"claw log: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def _say_nothing_found(wanted: Wanted) -> None:
    from clawkit.guard.audit.reader import read

    if next(read(_directory()), None) is None:
        _say_empty()
    elif wanted.since:
        print("Nothing like that in the log since then. Ask for a longer time with --since.")
    else:
        print("Nothing like that in the log. --all shows every kind of record.")


def _say_empty() -> None:
    print(f"The log is empty: there is nothing in {_directory()} yet.")
    print("The guard writes it: put it in front of a server with `claw wrap SERVER`,")
    print("or run one behind it with `claw proxy -- COMMAND`, and call a tool.")


def _print_what_can_be_printed() -> None:
    """A terminal that lacks a character gets its number, not a traceback."""
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")


def _encodes_blocks() -> bool:
    from clawkit.guard.audit.stats import BLOCKS

    try:
        BLOCKS.levels.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def _cut_at() -> int | None:
    """Lines are cut for eyes, not for programs that read them."""
    return _width() if sys.stdout.isatty() else None


def _coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
