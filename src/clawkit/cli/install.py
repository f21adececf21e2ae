"""`claw install`: our servers in the config files of MCP clients, and out of them.

That is the assistant's, the memory's with `--being`, or that of a Python file with tools.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing, redirect_stdout, suppress
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import msgspec
import typer

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import read_config
from clawkit.assistant.memory.place import MemoryPlace, is_address, opened
from clawkit.assistant.model_choice import choose, is_chosen, known_providers
from clawkit.assistant.model_discovery import suggestion
from clawkit.cli.commands import AsJson, print_json
from clawkit.cli.memory.elsewhere import TOKEN_VARIABLE
from clawkit.cli.tables import at_home, print_rows
from clawkit.cli.wrap import DryRun
from clawkit.errors import ClawError, HostError
from clawkit.hosts import installation
from clawkit.hosts.clients import ClientApp, client_called
from clawkit.hosts.installation import (
    InstallOrder,
    InstallOutcome,
    Presence,
    assistant_order,
    file_order,
    memory_order,
    survey,
)
from clawkit.system.addresses import check_address
from clawkit.text.normalization import visible
from clawkit.tools.loader import load_server, split_target

_DONE = ("installed", "removed")
_STATES = {"installed": "added", "not installed": "not added"}
"""How things stand, said of our server: the client is there in either case."""


def install(
    client: Annotated[
        str | None, typer.Argument(metavar="CLIENT", help="Such as cursor or claude-code.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE[:SERVER]", help="Add the tools of this Python file, not the assistant."
        ),
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Every client that is found on this machine.")
    ] = False,
    being: Annotated[
        str,
        typer.Option(
            metavar="BEING",
            help="Add this Being's memory instead of the assistant, by its name, its id or, where "
            "it is served elsewhere, its address; the token is asked for, or in CLAW_BEING_TOKEN.",
        ),
    ] = "",
    name: Annotated[
        str,
        typer.Option(
            help="What the client calls the server; without, openclaw, memory with --being, "
            "or the name of FILE."
        ),
    ] = "",
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="In the client's file of this project, not in your own file."
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take it out again.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add the assistant, a memory or your tools to a client; without CLIENT, list where."""
    if client is not None and file is None and split_target(client)[0].endswith(".py"):
        client, file = None, client
    if client is not None and everywhere:
        raise typer.BadParameter("give a CLIENT, or --all")
    if file is not None and being:
        raise typer.BadParameter("give FILE or --being, not both")
    order = _order(name, being, file, project, dry_run=dry_run)
    if order.url and not remove and (client is not None or everywhere):
        order = msgspec.structs.replace(order, token=_tried_token(order.url))
    if file is not None and not remove:
        _check_file(file)
    if being and not order.url and not remove:
        # One that is not there would only be missed when the client starts its server.
        with opened(MemoryPlace(embedder="none")) as store:
            store.find(being)
    clients = _clients(client, order, everywhere=everywhere)
    if clients is None:
        if remove or dry_run:
            raise typer.BadParameter("give a CLIENT, or --all")
        _list(order, file, as_json=as_json)
        return
    act = installation.remove if remove else installation.install
    outcomes = tuple(act(one, order) for one in clients)
    if as_json:
        print_json({"outcomes": outcomes, "claude": _claude_command(order)})
    else:
        _print_outcomes(outcomes, order)
        if (
            not being
            and file is None
            and any(outcome.action == "installed" for outcome in outcomes)
        ):
            _advise()
    raise typer.Exit(int(any(outcome.action == "failed" for outcome in outcomes)))


def _check_file(target: str) -> None:
    """One that does not load would only be missed when the client starts its server."""
    with redirect_stdout(sys.stderr):
        load_server(target)


def _order(
    name: str, being: str, file: str | None, project: Path | None, *, dry_run: bool
) -> InstallOrder:
    if re.search(r"[\s/\\]", name) or not name.isprintable():
        problem = f"--name {visible(name)!r}: clients want one word, without / and \\"
        raise HostError(problem).of_usage()
    if is_address(being):
        url = check_address("--being", being, secret=True, query=True)
        usual = _name_of(url)
        return InstallOrder(name or usual, project=project, dry_run=dry_run, url=url)
    if being:
        return memory_order(being, name, project, dry_run=dry_run)
    if file is not None:
        return file_order(file, name, project, dry_run=dry_run)
    brand = "clawdbot" if Path(sys.argv[0]).stem == "clawdbot" else "openclaw"
    return assistant_order(name, brand, project, dry_run=dry_run)


def _name_of(url: str) -> str:
    """What the address calls the Being, where that is a name."""
    last = unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2])
    is_name = re.fullmatch(r"[\w.~-]+", last) and not re.fullmatch(r"[0-9a-fA-F-]{36}|mcp", last)
    return last if is_name else "memory"


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
            (_verb(one, order), order.name, one.client, at_home(one.file), one.note)
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
    """What would be added; what stands around it is nobody's business here."""
    print(f"{visible(outcome.file)}, line {outcome.line}:")
    for line in outcome.text.splitlines():
        print(f"+{visible(line.replace(chr(9), '    '))}")
    print()


def _verb(outcome: InstallOutcome, order: InstallOrder) -> str:
    would = order.dry_run and outcome.action in _DONE
    return f"would be {outcome.action}" if would else outcome.action


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
        print(f"{'' if not there else chr(10)}Not found on this machine: {others}.")
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
