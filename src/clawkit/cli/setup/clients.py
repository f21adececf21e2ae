"""The second half of `claw setup`: the assistant in clients, one memory, the guard before servers.

What is done is what `claw install` and `claw wrap` do, and it is told as they tell it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from functools import partial
from typing import Any

import msgspec
import typer

from clawkit.cli.commands import say
from clawkit.cli.install import InstallOptions, run_install
from clawkit.cli.setup.config_edit import share_memory
from clawkit.cli.setup.questions import agreed, some_of
from clawkit.cli.tables import at_home
from clawkit.cli.wrap import wrap
from clawkit.errors import SettingsError
from clawkit.hosts.clients import client_called
from clawkit.hosts.discovery import SearchScope, find, host_files
from clawkit.hosts.entries import (
    ServerEntry,
    StdioLaunch,
    is_guarded,
    is_our_own,
    is_this_installation,
)
from clawkit.hosts.guarded_entry import launcher
from clawkit.hosts.installation import InstallOrder, Presence, survey
from clawkit.settings import Settings

EVERY = "all"
CommandCall = Callable[[], int | None]


class ClientWishes(msgspec.Struct, frozen=True):
    """Clients that get the assistant, whether they share a memory, servers that get the guard."""

    install: tuple[str, ...] = ()
    share: bool = False
    guard: tuple[str, ...] = ()


def clients_here() -> tuple[Presence, ...]:
    """The clients on this machine, and whether they have the assistant."""
    order = InstallOrder("openclaw", (*launcher("openclaw"), "mcp-server"))
    return tuple(one for one in survey(order) if one.state != "no such client")


def unguarded() -> tuple[ServerEntry, ...]:
    """The servers of clients that no guard stands before, without our own."""
    return tuple(one for one in find(host_files(SearchScope())).entries if _is_unguarded(one))


def _is_unguarded(entry: ServerEntry) -> bool:
    if not isinstance(entry.launch, StdioLaunch):
        return entry.launch is not None
    argv = entry.launch.argv
    return not (is_guarded(argv) and is_this_installation(argv)) and not is_our_own(argv)


def check(wishes: ClientWishes) -> None:
    """Raises for a name that nobody has, before anything is written."""
    for name in wishes.install:
        if name != EVERY:
            client_called(name)
    names = sorted({entry.name for entry in unguarded()}) if wishes.guard else []
    for name in wishes.guard:
        if name not in (EVERY, *names):
            there_are = f"there are {', '.join(names)}" if names else "there is none"
            raise SettingsError(f"--guard {name}: no server of that name is unguarded; {there_are}")


def ask_wishes(given: ClientWishes, *, shared: bool) -> ClientWishes:
    """Asks about what is there and was not said by options."""
    there = clients_here()
    chosen = given.install or _ask_clients([one for one in there if one.state == "not installed"])
    share = given.share
    if not (share or shared) and (chosen or any(one.state == "installed" for one in there)):
        say("\nEach client has a memory of its own sessions only.")
        share = agreed("Share one memory among them, `claw ask` and `claw chat`?", default=False)
    return ClientWishes(chosen, share, given.guard or _ask_servers(unguarded()))


def _ask_clients(clients: Sequence[Presence]) -> tuple[str, ...]:
    if not clients:
        return ()
    say("\nThese MCP clients are on this machine:")
    lines = [f"{one.title} ({at_home(one.file)})" for one in clients]
    return tuple(clients[at].client for at in some_of("Add the assistant to", lines, EVERY))


def _ask_servers(entries: Sequence[ServerEntry]) -> tuple[str, ...]:
    if not entries:
        return ()
    say("\nThese servers of theirs have no guard, which asks before they write, send or run:")
    users: dict[str, list[str]] = {}
    for entry in entries:
        users.setdefault(entry.name, []).append(client_called(entry.client).title)
    names = list(users)
    lines = [f"{name} ({', '.join(dict.fromkeys(users[name]))})" for name in names]
    return tuple(names[at] for at in some_of("Put the guard before", lines, "none"))


def carry_out(
    wishes: ClientWishes, places: Settings, *, as_json: bool
) -> tuple[int, dict[str, Any]]:
    """Does it, and tells of it unless it is for JSON; the exit status, and what came of each."""
    shared = wishes.share and share_memory(places)
    if shared and not as_json:
        print("\nOne memory is shared from now on: `share = true` under [memory] of the config.")
    installs = _install_calls(wishes.install, as_json=as_json)
    guards = _guard_calls(wishes.guard, as_json=as_json)
    code, clients = _run(installs, as_json=as_json)
    guard_code, guard = _run(guards, as_json=as_json)
    outcomes = [outcome for one in clients for outcome in one["outcomes"]]
    return max(code, guard_code), {"clients": outcomes, "shared": shared, "guard": guard}


def _install_calls(names: Sequence[str], *, as_json: bool) -> Iterable[CommandCall]:
    wanted = [InstallOptions(one, as_json=as_json) for one in names]
    if EVERY in names:
        wanted = [InstallOptions(everywhere=True, as_json=as_json)]
    return (partial(run_install, one) for one in wanted)


def _guard_calls(names: Sequence[str], *, as_json: bool) -> Iterable[CommandCall]:
    if EVERY in names:
        names = sorted({entry.name for entry in unguarded()})
    return (partial(wrap, name, as_json=as_json) for name in names)


def _run(calls: Iterable[CommandCall], *, as_json: bool) -> tuple[int, list[Any]]:
    """Runs commands as a shell would; the worst exit status, and what each printed as JSON."""
    worst, printed = 0, list[Any]()
    for call in calls:
        if not as_json:
            print()
            worst = max(worst, _exit_code(call))
            continue
        with redirect_stdout(io.StringIO()) as output:
            worst = max(worst, _exit_code(call))
        printed.append(json.loads(output.getvalue()))
    return worst, printed


def _exit_code(call: CommandCall) -> int:
    try:
        return call() or 0
    except typer.Exit as end:
        return end.exit_code
