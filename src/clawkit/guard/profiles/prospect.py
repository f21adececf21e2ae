"""Puts the guard before servers of clients, and tells what each will do unasked from then on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clawkit.errors import PolicyError
from clawkit.guard.authoring.default_policy import DEFAULT_POLICY, write_default_policy
from clawkit.guard.authoring.fixtures import read_text
from clawkit.guard.authoring.lint import rules_before_denials, undenied_defaults
from clawkit.guard.authoring.sample_calls import PLACE, rule_matches, sample_calls
from clawkit.guard.locations import policy_file
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.parser import has_place, read_policy
from clawkit.guard.policy.policy import Policy
from clawkit.guard.policy.rules import Rule
from clawkit.guard.profiles.command_line import is_setting
from clawkit.guard.profiles.profile import Profile, profile_at, profile_of
from clawkit.hosts.discovery import SearchScope, find, host_files
from clawkit.hosts.entries import RemoteLaunch, StdioLaunch
from clawkit.hosts.wrap import EntryChange, Report, wrap

DENIED_TO_ALL = (
    "Denied to all: keys and credentials, system files, the clients' and the guard's own files."
)
"""True of a policy that denies all that the default one does."""
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


class Denials(Struct, frozen=True):
    """What the policy in use denies to every server, and a warning of what it does not."""

    denied: str = ""
    warning: str = ""


def guard_servers(
    server: str | None, scope: SearchScope, *, dry_run: bool = False
) -> tuple[Report, tuple[Prospect, ...]]:
    """Put the guard before a server, or before all of them."""
    launches = {(one.file, one.keys): one.launch for one in find(host_files(scope)).entries}
    report = wrap(server, scope, dry_run=dry_run)
    policy = PolicyInUse()
    return report, tuple(
        _prospect(change, launches[change.file, change.keys], policy)
        for change in report.changes
        if change.action == "wrapped" and (change.file, change.keys) in launches
    )


class PolicyInUse:
    """The policy that decides from now on; `problem` says why it cannot be used."""

    def __init__(self) -> None:
        self._file = policy_file()
        self.problem = ""
        self.has_place = True
        try:
            self._text = read_text(self._file) if self._file.exists() else DEFAULT_POLICY
            self._own = read_policy(self._text, str(self._file))
            self.has_place = has_place(self._text)
        except PolicyError as error:
            self.problem = str(error)

    def denials(self) -> Denials:
        if self.problem:
            return Denials(
                warning=f"The policy cannot be used, so every call is denied: {self.problem}"
            )
        if found := undenied_defaults(self._own):
            return Denials(warning=f"Your policy {found}.")
        if first := rules_before_denials(self._own):
            warning = f"{_numbered(first)} of your policy may allow what is denied otherwise."
            return Denials(DENIED_TO_ALL, warning[0].upper() + warning[1:])
        return Denials(DENIED_TO_ALL)

    def passes_and_asks(self, server: str, profile: Profile | None, why: str) -> tuple[str, str]:
        """What passes unasked, and what asks, in a line each: the policy is asked."""
        if self.problem:
            return "nothing: the policy cannot be used", "nothing: every call is denied"
        policy = read_policy(self._text, str(self._file), profile.rules if profile else ())
        rest = policy.decide(_UNNAMED, (server,), PLACE)
        own = [each for each in self._own.rules if each.action == "allow"]
        allowing = [each for each in own if _allows(policy, each, server)]
        passes = [profile.passes] if profile else []
        if rest.action == "allow" and rest.rule is not None:
            passes = [
                f"every call that no rule before rule {rest.rule.number} of your policy stops"
            ]
        elif allowing:
            verb = "allow" if len(allowing) > 1 else "allows"
            passes.append(f"what {_numbered(allowing)} of your policy {verb}")
        if rest.action == "prompt":
            asks = profile.asks if profile else "every other call" if passes else "every call"
        else:
            named = any(each.action == "prompt" for each in policy.rules)
            asks = "what a rule of your policy prompts about" if named else "nothing"
            asks += "; every other call is denied" if rest.action == "deny" else ""
        return "; ".join(passes) or f"nothing: {why}", asks


_UNNAMED = Call("tools/call", "qvz-tool", {"qvz": "qvz"})
"""A call that no rule names."""


def _allows(policy: Policy, rule: Rule, server: str) -> bool:
    return any(
        rule_matches(rule, each.call, (server,), PLACE)
        and policy.decide(each.call, (server,), PLACE).action == "allow"
        for each in sample_calls(rule)
    )


def _numbered(rules: Sequence[Rule]) -> str:
    plural = "s" if len(rules) > 1 else ""
    return f"rule{plural} {', '.join(str(each.number) for each in rules)}"


def denials() -> Denials:
    """What is denied to all servers by the policy in use."""
    return PolicyInUse().denials()


def ready_policy() -> ReadyPolicy:
    """Where the policy is; a default one is made where there is none, for else all is denied."""
    made = write_default_policy(policy_file())
    return ReadyPolicy(str(policy_file()), made, made or PolicyInUse().has_place)


def _prospect(
    change: EntryChange, launch: StdioLaunch | RemoteLaunch | None, policy: PolicyInUse
) -> Prospect:
    profile, variables, why = None, None, "its command line is not one that we know"
    if isinstance(launch, StdioLaunch):
        place, variables = (str(Path.cwd()), str(Path.home())), launch.env
        profile = profile_of(launch.argv, *place, variables)
        if profile is None and profile_of(launch.argv, *place):
            odd = [each for each in variables or () if not is_setting(each)]
            why = f"{', '.join(odd) or 'its envFile'} may change what it starts"
    elif launch is not None:
        profile, why = profile_at(launch.url), "its address is not one that we know"
    if profile and policy.problem:
        profile = None  # no rule of it counts
    elif profile and not policy.has_place:
        profile, why = None, f"your policy has no place for its profile, {profile.name}"
    passes, asks = policy.passes_and_asks(change.server, profile, why)
    name = profile.name if profile else None
    by = "address" if isinstance(launch, RemoteLaunch) else "command line"
    return Prospect(change.server, change.client, name, passes, asks, variables, by)
