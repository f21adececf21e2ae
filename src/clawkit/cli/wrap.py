"""`claw wrap` and `claw unwrap`: the guard before the servers of MCP clients, and away again."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from clawkit.cli.commands import AsJson, Project, print_json, refuse_guarded_servers
from clawkit.cli.tables import at_home, change_row, print_rows
from clawkit.guard.profiles.prospect import (
    BASE,
    Prospect,
    ReadyPolicy,
    denials,
    guard_servers,
    ready_policy,
)
from clawkit.hosts.clients import client_called
from clawkit.hosts.discovery import SearchScope
from clawkit.hosts.discovery import status as server_status
from clawkit.hosts.wrap import EntryChange, Report
from clawkit.hosts.wrap import unwrap as unwrap_servers
from clawkit.text.normalization import visible
from clawkit.text.secrets import redact_secrets

ServerName = Annotated[
    str | None, typer.Argument(metavar="SERVER", help="The server's name in the client's file.")
]
ClientName = Annotated[
    str | None, typer.Option("--client", help="Only this client, such as cursor or claude-code.")
]
Everything = Annotated[bool, typer.Option("--all", help="Every server of every client.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes and make none.")]

_NOTHING = "No client on this machine has an MCP server."


def wrap(
    server: ServerName = None,
    client: ClientName = None,
    everything: Everything = False,
    project: Project = Path(),
    status: Annotated[
        bool, typer.Option("--status", help="List every server and how it stands.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Put the guard before a server in the clients' files that start it."""
    if not status:
        _check(server, everything=everything)
    scope = _scope(client, project)
    if status:
        raise typer.Exit(_print_standings(scope, as_json=as_json))
    report, guarded = guard_servers(server, scope, dry_run=dry_run)
    policy = None if dry_run or not _done(report) else ready_policy()
    _finish(report, policy, dry_run=dry_run, as_json=as_json, guarded=guarded)


def unwrap(
    server: ServerName = None,
    client: ClientName = None,
    everything: Everything = False,
    project: Project = Path(),
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take the guard away again and put the entry back as it was."""
    refuse_guarded_servers()
    _check(server, everything=everything)
    report = unwrap_servers(server, _scope(client, project), dry_run=dry_run)
    _finish(report, None, dry_run=dry_run, as_json=as_json)


def _finish(
    report: Report,
    policy: ReadyPolicy | None,
    *,
    dry_run: bool,
    as_json: bool,
    guarded: Sequence[Prospect] = (),
) -> None:
    if as_json:
        found = {"changes": report.changes, "problems": report.problems, "policy": policy}
        print_json({**found, "guarded": guarded} if guarded else found)
    else:
        _print_report(report, dry_run=dry_run)
        if guarded:
            _print_prospects(guarded)
        _print_next(report, policy, dry_run=dry_run)
    raise typer.Exit(int(report.failed))


def _check(server: str | None, *, everything: bool) -> None:
    if (server is None) != everything:
        raise typer.BadParameter("give the name of a SERVER, or --all")


def _scope(client: str | None, project: Path) -> SearchScope:
    scope = SearchScope(client, project)
    _ = scope.clients  # an unknown name is said before anything is read
    return scope


def _done(report: Report) -> bool:
    return any(change.action in ("wrapped", "unwrapped") for change in report.changes)


def _print_report(report: Report, *, dry_run: bool) -> None:
    for change in report.changes:
        if dry_run and change.before:
            _print_diff(change)
    print_rows(
        [
            change_row(one.action, one.server, one.client, one.file, one.note, dry_run=dry_run)
            for one in report.changes
        ]
    )
    _print_problems(report.problems)
    if not report.changes and not report.problems:
        print(_NOTHING)


def _print_problems(problems: Sequence[str]) -> None:
    for problem in problems:
        print(f"claw: {visible(problem)}", file=sys.stderr)


def _print_diff(change: EntryChange) -> None:
    """A unified diff of the entry alone: the rest of the file may hold secrets."""
    before, after = change.before.splitlines(), change.after.splitlines()
    whole = max(len(before), len(after))
    file, place = visible(change.file), visible(".".join(change.keys))
    print(f"--- {file}\n+++ {file}")
    print(f"@@ -{change.line},{len(before)} +{change.line},{len(after)} @@ {place}")
    for line in list(difflib.unified_diff(before, after, n=whole, lineterm=""))[3:]:
        print(visible(redact_secrets(line.replace("\t", "    "))[0]))
    print()


_MOST_IN_FULL = 2


def _print_prospects(guarded: Sequence[Prospect]) -> None:
    """Prints what each server may do now: a few lines for one, a line each for many."""
    print()
    alike: dict[tuple[str, str], list[Prospect]] = {}
    for one in guarded:
        alike.setdefault((one.server, one.passes), []).append(one)
    for one, *others in alike.values():
        profile = f"profile {one.profile}, by its {one.known_by}" if one.profile else "no profile"
        if len(alike) > _MOST_IN_FULL:
            print(visible(f"{one.server}: {profile}; asks: {one.asks}"))
            continue
        print(visible(f"{one.server}: {profile}"))
        print(visible(f"  unasked  {one.passes.replace(str(Path.home()), '~')}"))
        print(visible(f"  asks     {one.asks}"))
        if one.variables is not None:
            own = ", ".join(sorted({v for each in (one, *others) for v in each.variables or ()}))
            print(visible(f"  gets     {f'{own}; ' if own else ''}of yours only {BASE}"))
    all_servers = denials()
    if all_servers.warning:
        print(visible(f"Warning: {all_servers.warning}"))
    if all_servers.denied:
        print(all_servers.denied)
    titles = {one.client: client_called(one.client) for one in guarded}
    without = sorted(each.title for each in titles.values() if not each.forms)
    if without:
        verb = "shows" if len(without) == 1 else "show"
        print(
            f"{', '.join(without)} {verb} no forms: keep `claw approvals` open in a terminal, "
            "or whatever asks is denied."
        )


def _print_next(report: Report, policy: ReadyPolicy | None, *, dry_run: bool) -> None:
    if dry_run:
        print("\nNothing was changed: this was a dry run.")
        return
    if policy is not None:
        print(f"Policy: {policy.file}{' (made just now)' if policy.made else ''}")
        if not policy.profiles:
            print(
                "It has no place for profiles, so none counts: `claw policy init --print` shows "
                "the two rules with `profile` to copy."
            )
    changed = {one.client for one in report.changes if one.action in ("wrapped", "unwrapped")}
    titles = sorted(client_called(name).title for name in changed)
    if titles and policy is not None:
        print(
            f"Restart {', '.join(titles)} to go through the guard. `claw log` shows what happens."
        )
    elif titles:
        print(f"\nRestart {', '.join(titles)} for this to count.")


def _print_standings(scope: SearchScope, *, as_json: bool) -> int:
    standings = server_status(scope)
    if as_json:
        print_json(standings)
        return int(bool(standings.problems))
    print_rows(
        [
            (one.state, one.server, one.client, one.transport, at_home(one.file), one.note)
            for one in standings.servers
        ]
    )
    _print_problems(standings.problems)
    if not standings.servers:
        print(_NOTHING)
    elif any(one.state == "not wrapped" and one.transport for one in standings.servers):
        print("\n`claw wrap SERVER` or `claw wrap --all` puts the guard before them.")
    return int(bool(standings.problems))
