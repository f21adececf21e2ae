"""Puts the guard before servers of clients, and tells what each will do unasked from then on."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

from clawkit.guard.authoring.default_policy import write_default_policy
from clawkit.guard.locations import policy_file
from clawkit.guard.policy.parser import has_place
from clawkit.guard.profiles.command_line import is_setting
from clawkit.guard.profiles.profile import profile_at, profile_of
from clawkit.hosts.discovery import SearchScope, find, host_files
from clawkit.hosts.entries import RemoteLaunch, StdioLaunch
from clawkit.hosts.wrap import EntryChange, Report, wrap

DENIED_TO_ALL = (
    "Denied to all: keys and credentials, system files, the clients' and the guard's own files."
)
BASE = "PATH, HOME, locale, proxies and certificates"
"""What every guarded server gets of the client's environment."""


class Prospect(Struct, frozen=True):
    """What a wrapped server will do unasked, and what it will be asked about."""

    server: str
    client: str
    profile: str | None
    passes: str
    asks: str
    variables: tuple[str, ...] | None
    """The names of those that it gets beside the base; None: all that its client gives."""
    known_by: Literal["command line", "address"] = "command line"


class ReadyPolicy(Struct, frozen=True):
    """Where the policy is, whether it was just made, and whether profiles count in it."""

    file: str
    made: bool
    profiles: bool


def guard_servers(
    server: str | None, scope: SearchScope, *, dry_run: bool = False
) -> tuple[Report, tuple[Prospect, ...]]:
    """Put the guard before a server, or before all of them."""
    launches = {(one.file, one.keys): one.launch for one in find(host_files(scope)).entries}
    report = wrap(server, scope, dry_run=dry_run)
    return report, tuple(
        _prospect(change, launches[change.file, change.keys])
        for change in report.changes
        if change.action == "wrapped" and (change.file, change.keys) in launches
    )


def ready_policy() -> ReadyPolicy:
    """Where the policy is; a default one is made where there is none, for else all is denied."""
    made = write_default_policy(policy_file())
    return ReadyPolicy(str(policy_file()), made, made or _has_place())


def _has_place() -> bool:
    try:
        return has_place(policy_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):  # the guard itself says what is wrong with it
        return True


def _prospect(change: EntryChange, launch: StdioLaunch | RemoteLaunch | None) -> Prospect:
    profile, variables, why = None, None, "its command line is not one that we know"
    if isinstance(launch, StdioLaunch):
        place, variables = (str(Path.cwd()), str(Path.home())), launch.env
        profile = profile_of(launch.argv, *place, variables)
        if profile is None and profile_of(launch.argv, *place):
            odd = [each for each in variables or () if not is_setting(each)]
            why = f"{', '.join(odd) or 'its envFile'} may change what it starts"
    elif launch is not None:
        profile, why = profile_at(launch.url), "its address is not one that we know"
    passes, asks = (profile.passes, profile.asks) if profile else (f"nothing: {why}", "every call")
    name = profile.name if profile else None
    by = "address" if isinstance(launch, RemoteLaunch) else "command line"
    return Prospect(change.server, change.client, name, passes, asks, variables, by)
