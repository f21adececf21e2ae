"""`claw install` and `claw uninstall`: our servers in the config files of MCP clients, or out.

That is the assistant's, the memory's with `--being`, or that of a Python file with tools.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, redirect_stdout, suppress
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import read_config
from clawkit.assistant.memory.place import MemoryPlace, is_address, opened
from clawkit.assistant.model_choice import choose, is_chosen, known_providers
from clawkit.assistant.model_discovery import suggestion
from clawkit.cli.commands import AsJson, Yes, confirm, print_json, with_options
from clawkit.cli.memory.access import TOKEN_VARIABLE
from clawkit.cli.tables import (
    at_home,
    change_row,
    print_rows,
    row_lines,
    table_lines,
    terminal_width,
    wrapped,
)
from clawkit.cli.wrap import DryRun, Project
from clawkit.errors import ClawError, HostError
from clawkit.guard.locations import policy_file
from clawkit.hosts import installation
from clawkit.hosts.clients import ClientApp, client_called
from clawkit.hosts.discovery import SearchScope
from clawkit.hosts.installation import (
    InstallOrder,
    InstallOutcome,
    Presence,
    assistant_order,
    file_order,
    memory_order,
    survey,
)
from clawkit.hosts.removal import Removal, RemovalReport, remove_everything
from clawkit.memory import sharing
from clawkit.settings import settings
from clawkit.system.addresses import check_address, shown_address
from clawkit.system.processes import program
from clawkit.text.normalization import visible
from clawkit.tools.loader import load_server, split_target

_DONE = ("installed", "removed")
_STATES = {"installed": "added", "not installed": "not added"}
"""How things stand, said of our server: the client is there in either case."""


class InstallOptions(msgspec.Struct, frozen=True):
    """What was said on the command line."""

    client: Annotated[
        str | None, typer.Argument(metavar="CLIENT", help="Such as cursor or claude-code.")
    ] = None
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE[:SERVER]", help="Add the tools of this Python file, not the assistant."
        ),
    ] = None
    everywhere: Annotated[
        bool, typer.Option("--all", help="Every client that is found on this machine.")
    ] = False
    being: Annotated[
        str,
        typer.Option(
            metavar="BEING",
            help="Add this Being's memory instead of the assistant, by its name, its id or, where "
            "it is served elsewhere, its address; the token is asked for, or in CLAW_BEING_TOKEN.",
        ),
    ] = ""
    name: Annotated[
        str,
        typer.Option(
            help="What the client calls the server; without, openclaw, the name of the Being "
            "(memory for your own), or the name of FILE."
        ),
    ] = ""
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="In the client's file of this project, not in your own file."
        ),
    ] = None
    remove: Annotated[bool, typer.Option("--remove", help="Take it out again.")] = False
    dry_run: DryRun = False
    as_json: AsJson = False


@with_options("options", InstallOptions)
def install(options: InstallOptions) -> None:
    """Add the assistant, a memory or your tools to a client; without CLIENT, list where."""
    raise typer.Exit(run_install(options))


def run_install(options: InstallOptions) -> int:
    """Install, remove or list; the exit status."""
    client, file, being, remove = options.client, options.file, options.being, options.remove
    if client is not None and file is None and split_target(client)[0].endswith(".py"):
        client, file = None, client
    if client is not None and options.everywhere:
        raise typer.BadParameter("give a CLIENT, or --all")
    if file is not None and being:
        raise typer.BadParameter("give FILE or --being, not both")
    order = _order(options.name, being, file, options.project, dry_run=options.dry_run)
    if order.url and not remove and (client is not None or options.everywhere):
        order = msgspec.structs.replace(order, token=_tried_token(order.url))
    if not remove:
        _check_target(file, being if not order.url else "")
    clients = _clients(client, order, everywhere=options.everywhere)
    if clients is None:
        if remove or options.dry_run:
            raise typer.BadParameter("give a CLIENT, or --all")
        _list(order, file, as_json=options.as_json)
        return 0
    act = installation.remove if remove else installation.install
    outcomes = tuple(act(one, order) for one in clients)
    if options.as_json:
        print_json({"outcomes": outcomes, "claude": _claude_command(order)})
    else:
        _print_outcomes(outcomes, order)
        is_assistant = not being and file is None
        if is_assistant and any(one.action == "installed" for one in outcomes):
            _advise()
    return int(any(outcome.action == "failed" for outcome in outcomes))


def _check_target(file: str | None, being: str) -> None:
    """What is not there, or does not load, would only be missed when the client starts it."""
    if file is not None:
        with redirect_stdout(sys.stderr):
            load_server(file)
    if being:
        with opened(MemoryPlace(embedder="none")) as store:
            store.find(being)


def _order(
    name: str, being: str, file: str | None, project: Path | None, *, dry_run: bool
) -> InstallOrder:
    if re.search(r"[\s/\\]", name) or not name.isprintable():
        problem = f"--name {visible(name)!r}: clients want one word, without / and \\"
        raise HostError(problem).of_usage()
    if is_address(being):
        url = check_address("--being", being, secret=True, query=True)
        usual = sharing.entry_name_of(url)
        return InstallOrder(name or usual, project=project, dry_run=dry_run, url=url)
    if being:
        usual = sharing.entry_name(_name_of(being))
        return memory_order(being, name or usual, project, dry_run=dry_run)
    if file is not None:
        return file_order(file, name, project, dry_run=dry_run)
    brand = "clawdbot" if program() == "clawdbot" else "openclaw"
    return assistant_order(name, brand, project, dry_run=dry_run)


def _name_of(being: str) -> str:
    """The name of a Being, which may be given by its id; as given, where it is gone."""
    place = MemoryPlace(embedder="none")
    if not re.fullmatch(r"[0-9a-fA-F-]{36}", being) or not place.is_begun():
        return being
    with opened(place) as store:
        names = {one.id: one.name for one in store.every()}
    return names.get(being.lower(), being)


def _tried_token(url: str) -> str:
    """The token for a Being elsewhere, which has answered to it."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token and not sys.stdin.isatty():
        raise HostError(f"the Being at {url} needs a token: set {TOKEN_VARIABLE}")
    token = (token or typer.prompt("Token", hide_input=True, err=True)).strip()
    from clawkit.memory.remote_being import RemoteBeing

    with closing(RemoteBeing(url, token)) as being:
        being.call("get_current_time", {})
    return token


def _clients(
    name: str | None, order: InstallOrder, *, everywhere: bool
) -> tuple[ClientApp, ...] | None:
    """Which clients are meant; None where none is named."""
    if name is not None:
        return (client_called(name),)
    if not everywhere:
        return None
    return tuple(
        client_called(one.client) for one in survey(order) if one.state != "no such client"
    )


def _print_outcomes(outcomes: Sequence[InstallOutcome], order: InstallOrder) -> None:
    if not outcomes:
        print("No MCP client that we know was found on this machine.")
        return
    for outcome in outcomes:
        if order.dry_run and outcome.text:
            _print_text(outcome)
    print_rows(
        [
            change_row(
                one.action, order.name, one.client, one.file, one.note, dry_run=order.dry_run
            )
            for one in outcomes
        ]
    )
    if order.dry_run:
        print("\nNothing was changed: this was a dry run.")
        return
    changed = [one for one in outcomes if one.action in _DONE]
    if changed:
        titles = ", ".join(client_called(one.client).title for one in changed)
        print(f"\nRestart {titles} for this to count.")
    if any(one.client == "claude-code" and one.action == "installed" for one in outcomes):
        print("If a running Claude Code writes its file over this, add it with its own command:")
        print(f"  {_claude_command(order)}")


def _advise() -> None:
    """Who will answer there: a client's server does not see the variables of this shell."""
    with suppress(ClawError):  # `claw doctor` is for what is wrong with the config
        config = read_config()
        keys = Keys(config)
        chosen = choose(config, keys)[0]
        if chosen.provider == "offline" and not is_chosen(config):
            found = asyncio.run(suggestion(config, keys, for_clients=True))
            print(f"No language model is chosen yet: `claw setup` does that. {found}".rstrip())
        provider = known_providers(config).get(chosen.provider)
        found = keys.find(provider.key_env) if provider and provider.key_env else None
        if provider and found and found.where == "environment":
            print(
                f"{provider.key_env} is set in this shell, which the client may not see: "
                "`claw setup --keep-key` keeps it where its server finds it."
            )


def _print_text(outcome: InstallOutcome) -> None:
    """What would be added, alone: the rest of the file may hold secrets."""
    print(f"{visible(outcome.file)}, line {outcome.line}:")
    for line in outcome.text.splitlines():
        print(f"+{visible(line.replace(chr(9), '    '))}")
    print()


def _list(order: InstallOrder, file: str | None, *, as_json: bool) -> None:
    found = survey(order)
    if as_json:
        print_json({"clients": found, "claude": _claude_command(order)})
        return
    there = [one for one in found if one.state != "no such client"]
    print_rows(
        [
            (_STATES.get(one.state, one.state), one.client, at_home(one.file), one.note)
            for one in there
        ]
    )
    others = ", ".join(one.title for one in found if one.state == "no such client")
    if others:
        start = f"{'' if not there else chr(10)}Not found on this machine: "
        print("\n".join(wrapped(f"{others}.", terminal_width(), start)))
    what = "" if file is None else f" {shlex.quote(file)}"
    print(f"\n{_next(there, what)}")
    if any(one.state == "installed" for one in there):
        print(f"`claw install CLIENT{what} --remove` takes it out again.")
    print(f"Claude Code can also add it by itself:\n  {_claude_command(order)}")


def _next(there: Sequence[Presence], what: str) -> str:
    if any(one.state == "not installed" for one in there):
        return f"`claw install CLIENT{what}` or `claw install{what} --all` adds it."
    if there:
        return "Every client that was found has it."
    return f"`claw install CLIENT{what}` adds it once the client is there."


def _claude_command(order: InstallOrder) -> str:
    scope = "user" if order.project is None else "project"
    if order.url:
        place = f"{shlex.quote(order.name)} {shlex.quote(order.url)}"
        header = f'--header "Authorization: Bearer ${TOKEN_VARIABLE}"'
        return f"claude mcp add --scope {scope} --transport http {place} {header}"
    return f"claude mcp add --scope {scope} {shlex.quote(order.name)} -- {shlex.join(order.argv)}"


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
        change_row(one.action, one.server, one.client, one.file, one.note, dry_run=would)
        for one in removals
    ]


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
