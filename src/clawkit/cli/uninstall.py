"""`claw uninstall`: everything of ours out of every MCP client, and what stays on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import typer

from clawkit.cli.commands import AsJson, Yes, confirm, print_json
from clawkit.cli.tables import at_home, print_rows, row_lines, table_lines
from clawkit.cli.wrap import DryRun, Project
from clawkit.guard.locations import policy_file
from clawkit.hosts.clients import client_called
from clawkit.hosts.discovery import SearchScope
from clawkit.hosts.removal import Removal, RemovalReport, remove_everything
from clawkit.settings import settings
from clawkit.system.addresses import shown_address
from clawkit.text.normalization import visible

_NOTHING = "No client on this machine has anything of ours."


class Remaining(msgspec.Struct, frozen=True):
    """Something of ours that is on this machine and belongs to no client."""

    place: str
    what: str


def uninstall(
    project: Project = Path(),
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Take everything of ours out of every MCP client again.

    That is the assistant, memories and tools; servers behind the guard go on without it. An entry
    with variables that somebody wrote by hand is left to you. What you told the assistant, memories
    and settings stay, and it is said where.
    """
    scope = SearchScope(None, project)
    plan = remove_everything(scope, dry_run=True)
    if not dry_run and not yes and _done(plan):
        lines = [*row_lines(_rows(plan.removals, would=True)), ""]
        confirm("Take these out?", "Nothing was changed.", "give --yes or --dry-run", lines)
    report = plan if dry_run else remove_everything(scope, dry_run=False)
    staying = list(_staying())
    if as_json:
        print_json({"removals": report.removals, "problems": report.problems, "stays": staying})
    else:
        _print_report(report, staying, dry_run=dry_run)
    raise typer.Exit(int(report.failed))


def _print_report(report: RemovalReport, staying: Sequence[Remaining], *, dry_run: bool) -> None:
    if report.removals:
        print_rows(_rows(report.removals, would=dry_run))
    elif not report.problems:
        print(_NOTHING)
    for problem in report.problems:
        print(f"claw uninstall: {visible(problem)}", file=sys.stderr)
    if dry_run:
        print("\nNothing was changed: this was a dry run.")
    elif changed := {one.client for one in _done(report)}:
        titles = sorted(client_called(client).title for client in changed)
        print(f"\nRestart {', '.join(titles)} for this to count.")
    if staying:
        print("\nWhat stays, until you delete it:")
        for line in table_lines([(at_home(one.place), one.what) for one in staying]):
            print(f"  {line}")
    print("`pip uninstall clawkit` (or pipx, uv) removes the program itself.")


def _done(report: RemovalReport) -> list[Removal]:
    return [one for one in report.removals if one.action in ("removed", "unwrapped")]


def _rows(removals: Sequence[Removal], *, would: bool) -> list[tuple[str, ...]]:
    return [
        (_verb(one, would=would), one.server, one.client, at_home(one.file), one.note)
        for one in removals
    ]


def _verb(removal: Removal, *, would: bool) -> str:
    done = removal.action in ("removed", "unwrapped")
    return f"would be {removal.action}" if would and done else removal.action


def _staying() -> Iterator[Remaining]:
    """Our folders that are there, and a store elsewhere."""
    places = settings()
    known = [
        (places.config, "settings, your assistant's tools"),
        (policy_file(), "the policy"),
        (places.data, "sessions, memories, the guard's log, backups of clients' files"),
    ]
    for place, what in known:
        if place.exists():
            yield Remaining(str(place), what)
    if places.store:
        yield Remaining(shown_address(places.store), "memories (CLAW_STORE)")
    if (places.config / "config.toml").exists():
        yield Remaining("the system's keyring", "model keys that `claw setup` put there, if any")
