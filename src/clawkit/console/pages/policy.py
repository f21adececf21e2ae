"""Policy: the rules with what they decided, a call tried on them, an edit replayed and saved."""

from __future__ import annotations

import json
import os
import threading
import tomllib
from collections import Counter
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from clawkit.console.api import MOST_ROWS, ApiError, ConsolePage, NoParameters, get, post, stamp_of
from clawkit.console.file_changes import DiffLine, text_diff
from clawkit.errors import AuditError, PolicyError
from clawkit.guard.authoring.default_policy import DEFAULT_POLICY
from clawkit.guard.authoring.edit import latest_backup, rule_text, save_policy
from clawkit.guard.authoring.explain import explain
from clawkit.guard.authoring.fixtures import NAMELESS, NO_POLICY, paths_for, read_text, typed_call
from clawkit.guard.authoring.lint import Issue, lint
from clawkit.guard.authoring.replay import (
    DecisionChange,
    Recorded,
    Replayed,
    as_decided_by,
    changes,
    recorded_calls,
    replay,
)
from clawkit.guard.locations import audit_directory, policy_file
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.policy import Policy
from clawkit.guard.policy.rules import Rule
from clawkit.guard.profiles.profile import profile_of_server

_CALLS_SHOWN = 10
_CONTEXT = 3
_LONGEST_CALL = 64 * 1024
_LONGEST = 2000
_PROFILES = "Here stand the rules of a known server's profile"


class ShownRule(Struct, frozen=True):
    """A rule in the order of the file."""

    number: int
    line: int
    action: str
    description: str
    text: str


class PolicyText(Struct, frozen=True):
    """A policy as it stands, or as somebody would have it."""

    text: str


class KeptPolicy(Struct, frozen=True):
    """What the policy was until a moment, in the file where it is kept."""

    file: str
    until: float
    text: str


class ShownPolicy(Struct, frozen=True):
    """The policy in use; `problem` says why it cannot be used, and that the guard denies all."""

    file: str
    there: bool
    text: str
    digest: str
    rules: tuple[ShownRule, ...]
    issues: tuple[Issue, ...]
    problem: str
    default: str
    """What to begin with, where there is none."""
    before: KeptPolicy | None
    """What was saved over last, if it is kept and another one."""
    stamp: str
    """What the topic says while the file is this one."""


class RuleHits(Struct, frozen=True):
    """How many calls of the log each rule of the policy decides; 0 stands for no rule."""

    hits: dict[int, int]
    possible: dict[int, int]
    """How many more each may decide: that depends on what the log does not have."""
    calls: int
    uncertain: int


class TriedCall(Struct, frozen=True):
    """A call that is tried, on the policy in use or on an edited one."""

    call: str
    server: str = ""
    text: str | None = None


class NearRule(Struct, frozen=True):
    """A rule that almost matches."""

    rule: int
    action: str
    missing: tuple[str, ...]


class TriedVerdict(Struct, frozen=True):
    """What is decided about a call, and why."""

    decision: str
    rule: int
    line: int
    description: str
    because: tuple[str, ...]
    near: tuple[NearRule, ...]
    needed: tuple[str, ...]
    method: str
    tool: str


class ChangedCall(Struct, frozen=True):
    """A call of the log that would be decided otherwise."""

    server: str
    tool: str
    arguments: str
    count: int


class ShownChange(Struct, frozen=True):
    """Calls that one rule decided and that another one would decide."""

    was: str
    came_of_it: str
    """What came of a prompt, in words."""
    was_rule: int
    now: str
    now_rule: int
    now_description: str
    count: int
    kinds: int
    calls: tuple[ChangedCall, ...]


class ReplayReport(Struct, frozen=True):
    """What an edited policy would change about the calls of the log.

    It is compared with the policy in use, or with what was decided then where none can be used.
    """

    calls: int
    changed: int
    uncertain: int
    otherwise: int
    """How many calls the policy in use decides otherwise than they were decided then."""
    changes: tuple[ShownChange, ...]
    issues: tuple[Issue, ...]


class UnusablePolicy(Struct, frozen=True):
    """What is wrong with an edited policy, and the line to blame; 0 where none is."""

    problem: str
    line: int


class TwoTexts(Struct, frozen=True):
    """A text, and another one in its place."""

    old: str
    new: str


class SavedText(Struct, frozen=True):
    """A policy to be written over the one with this digest."""

    text: str
    digest: str


class SavedPolicy(Struct, frozen=True):
    """Where the policy before was kept, and the digest of the one that is there now."""

    backup: str
    digest: str


def page(_: ExitStack) -> ConsolePage:
    desk = PolicyDesk(policy_file(), audit_directory())
    return ConsolePage(
        routes=(
            get("/api/policy/shown", NoParameters, desk.shown),
            get("/api/policy/hits", NoParameters, desk.hits),
            post("/api/policy/try", TriedCall, desk.tried),
            post("/api/policy/replay", PolicyText, desk.replayed),
            post("/api/policy/compare", TwoTexts, _compared),
            post("/api/policy/save", SavedText, desk.save),
        ),
        topics={"policy": desk.stamp},
    )


class PolicyDesk:
    """The policy in use, and the log that it is held against."""

    def __init__(self, file: Path, audit: Path) -> None:
        self._file = file
        self._audit = audit
        self._counting = threading.Lock()
        self._recorded: tuple[tuple[int, int], list[Recorded]] | None = None
        self._hits: tuple[object, RuleHits] | None = None

    def stamp(self) -> str:
        return stamp_of(self._file)

    def shown(self, _: NoParameters) -> ShownPolicy:
        stamp, there = self.stamp(), os.path.lexists(self._file)
        text, problem, rules = "", "", ()
        try:
            text = read_text(self._file, NO_POLICY)
            rules = _shown_rules(text, read_policy(text, str(self._file)))
        except PolicyError as error:
            problem = str(error)
        return ShownPolicy(
            file=str(self._file),
            there=there,
            text=text,
            digest=sha256(text.encode()).hexdigest() if there else "",
            rules=rules,
            issues=tuple(lint(text, str(self._file))) if text else (),
            problem=problem,
            default="" if there else DEFAULT_POLICY,
            before=_kept(self._file, text),
            stamp=stamp,
        )

    def hits(self, _: NoParameters) -> RuleHits:
        """Held against the policy as it is now: a number in the log may be that of an older one."""
        text = read_text(self._file, NO_POLICY)
        with self._counting:
            calls, stamp = self._calls()
            if self._hits is None or self._hits[0] != (text, stamp):
                self._hits = ((text, stamp), _hits(replay(self._policy_of(text), calls)))
            return self._hits[1]

    def tried(self, given: TriedCall) -> TriedVerdict:
        if len(given.call) > _LONGEST_CALL:
            raise ApiError(
                f"The call has {len(given.call):,} characters, and here it may have "
                f"{_LONGEST_CALL:,}: shorten its longest value"
            )
        text = read_text(self._file, NO_POLICY) if given.text is None else given.text
        try:
            fixture = typed_call(given.call)
        except PolicyError as error:
            raise ApiError(f"The call cannot be tried: {error.reason}") from None
        except RecursionError:
            raise ApiError("The call is nested so deep that no guard takes it") from None
        server = given.server or fixture.server
        paths = paths_for(fixture, None, as_text=False)
        servers = (server,) if server else NAMELESS
        found = explain(self._policy_of(text)(server), fixture.call, servers, paths)
        rule = found.decision.rule
        return TriedVerdict(
            decision=found.decision.action,
            rule=rule.number if rule else 0,
            line=rule.line if rule else 0,
            description=rule.description if rule else "",
            because=tuple(clause.text for clause in found.because),
            near=tuple(
                NearRule(
                    each.rule.number, each.rule.action, tuple(one.text for one in each.missing)
                )
                for each in found.near
            ),
            needed=found.needed,
            method=found.call.method,
            tool=found.call.tool,
        )

    def replayed(self, given: PolicyText) -> ReplayReport | UnusablePolicy:
        policy_of = self._policy_of(given.text)
        try:
            policy_of("")  # what cannot be used is said without a log, too
        except PolicyError as error:
            return UnusablePolicy(error.reason, error.line)
        with self._counting:
            calls, _ = self._calls()
        otherwise = 0
        with suppress(PolicyError):  # then there is only what was decided
            today = replay(self._policy_of(read_text(self._file, NO_POLICY)), calls)
            otherwise = sum(item.recorded.count for item in today if item.changed)
            calls = as_decided_by(today)
        found = replay(policy_of, calls)
        return ReplayReport(
            calls=sum(item.recorded.count for item in found),
            changed=sum(item.recorded.count for item in found if item.changed),
            uncertain=sum(item.recorded.count for item in found if item.decision is None),
            otherwise=otherwise,
            changes=tuple(map(_shown_change, changes(found)[:MOST_ROWS])),
            issues=tuple(lint(given.text, str(self._file))),
        )

    def save(self, given: SavedText) -> SavedPolicy:
        backup = save_policy(self._file, given.text, given.digest)
        return SavedPolicy(str(backup or ""), sha256(given.text.encode()).hexdigest())

    def _policy_of(self, text: str) -> PolicyReader:
        return PolicyReader(text, str(self._file))

    def _calls(self) -> tuple[list[Recorded], tuple[int, int]]:
        """The calls of the log, read again when it has grown."""
        stamp = _log_stamp(self._audit)
        if self._recorded is None or self._recorded[0] != stamp:
            try:
                self._recorded = (stamp, recorded_calls(self._audit) if stamp[0] else [])
            except AuditError as error:
                if stamp[1]:
                    raise ApiError(str(error)) from None
                self._recorded = (stamp, [])
        return self._recorded[1], stamp


class PolicyReader:
    """The policy that a text is for each server, with the rules of its profile."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file

    def __call__(self, server: str) -> Policy:
        profile = profile_of_server(server, str(Path.cwd()), str(Path.home())) if server else None
        return read_policy(self._text, self._file, profile.rules if profile else ())


def _compared(given: TwoTexts) -> tuple[DiffLine, ...]:
    return text_diff(given.old, given.new, _CONTEXT) or ()


def _kept(file: Path, text: str) -> KeptPolicy | None:
    """What the policy was before it was saved last, unless it is that again."""
    with suppress(ValueError, PolicyError):  # nothing that could be put back
        if (kept := latest_backup(file)) and (old := read_text(kept[0])) != text:
            return KeptPolicy(str(kept[0]), kept[1], old)
    return None


def _log_stamp(directory: Path) -> tuple[int, int]:
    """How many files the log has, and how large they are: it only grows."""
    try:
        sizes = [entry.stat().st_size for entry in os.scandir(directory) if entry.is_file()]
    except OSError:
        return 0, 0
    return len(sizes), sum(sizes)


def _shown_rules(text: str, policy: Policy) -> tuple[ShownRule, ...]:
    """The rules in order, and the places where those of a server's profile stand."""
    own = {rule.number: _shown_rule(rule) for rule in policy.rules}
    tables = tomllib.loads(text.removeprefix("\ufeff")).get("rule", [])
    return tuple(
        own.get(number) or ShownRule(number, 0, "profile", _PROFILES, "")
        for number, _ in enumerate(tables, 1)
    )


def _shown_rule(rule: Rule) -> ShownRule:
    return ShownRule(rule.number, rule.line, rule.action, rule.description, rule_text(rule))


def _hits(found: list[Replayed]) -> RuleHits:
    hits: Counter[int] = Counter()
    possible: Counter[int] = Counter()
    uncertain = 0
    for item in found:
        if item.recorded.decision == "pass":
            continue  # what no rule is asked about: lists, pings
        if item.decision is None:
            uncertain += item.recorded.count
            for number in {rule.number for rule in item.possible}:
                possible[number] += item.recorded.count
        else:
            rule = item.decision.rule
            hits[rule.number if rule else 0] += item.recorded.count
    return RuleHits(dict(hits), dict(possible), hits.total() + uncertain, uncertain)


def _shown_change(change: DecisionChange) -> ShownChange:
    rule = change.now_rule
    return ShownChange(
        was=change.was,
        came_of_it=change.came_of_it,
        was_rule=change.was_rule,
        now=change.now,
        now_rule=rule.number if rule else 0,
        now_description=rule.description if rule else "",
        count=change.count,
        kinds=len(change.calls),
        calls=tuple(map(_changed_call, change.calls[:_CALLS_SHOWN])),
    )


def _changed_call(recorded: Recorded) -> ChangedCall:
    arguments = json.dumps(recorded.call.arguments, ensure_ascii=False)[:_LONGEST]
    return ChangedCall(recorded.server, recorded.call.tool, arguments, recorded.count)
