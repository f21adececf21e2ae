"""A policy that decides, and the file it comes from."""

from __future__ import annotations

import os
import time
from copy import copy
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from clawkit.errors import PolicyError
from clawkit.guard.policy.call import EVALUATED, Call, is_judged
from clawkit.guard.policy.folding import folded
from clawkit.guard.policy.matching import Matcher
from clawkit.guard.policy.options import AuditOptions, EnvOptions, Limits
from clawkit.guard.policy.paths import Paths
from clawkit.guard.policy.rules import Action, Rule, read_policy
from clawkit.guard.scan import ScanOptions

__all__ = ["Decision", "Paths", "Policy", "PolicyFile"]

_LONGEST_NAME = 100
_MOST_MATCHERS = 16
# A file that is written twice within one tick of its clock can look unchanged.
_TICK = 100_000_000
_REST = 1.0  # seconds without a change, after which a file is no longer being written
# What a server needs to start; what else a broken file would have given it is unknown.
_BARE_ENVIRONMENT = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM", "TZ"),
    *("TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "COMSPEC", "PATHEXT", "APPDATA", "USERPROFILE"),
)


class Decision(msgspec.Struct, frozen=True):
    """What happens to a call. `reason` is for the model and speaks of this rule only."""

    action: Action
    rule: Rule | None
    reason: str


_TABLE = frozenset(method.lower() for method in EVALUATED)
_PASS = Decision("allow", None, "")
_NOT_YET = Decision(
    "deny",
    None,
    "The policy has just changed, and what it allows anew counts after a second without "
    "another change: try again",
)
_STRICT: dict[Action, int] = {"allow": 0, "prompt": 1, "deny": 2}
_REASONS: dict[Action, str] = {
    "allow": "",
    "deny": "A rule denies this call",
    "prompt": "A rule lets a person decide about this call",
}


class Policy:
    """Rules in order, of which the first that matches decides, and the file's other options."""

    def __init__(
        self,
        rules: tuple[Rule, ...] = (),
        *,
        digest: str = "",
        scan: ScanOptions | None = None,
        env: EnvOptions | None = None,
        limits: Limits | None = None,
        audit: AuditOptions | None = None,
        problem: str = "",
        closed: Literal["", "table", "everything"] = "",
    ) -> None:
        self.rules = rules
        self.digest = digest
        self.scan = scan or ScanOptions()
        self.env = env or EnvOptions()
        self.limits = limits or Limits()
        self.audit = audit or AuditOptions()
        self.problem = problem
        self._closed = closed
        self._former: Policy | None = None
        self._decisions = tuple(
            Decision(rule.action, rule, rule.description or _REASONS[rule.action]) for rule in rules
        )
        self._matchers: dict[Paths, Matcher] = {}
        self._latest: tuple[Paths, Matcher] | None = None

    def decide(
        self, call: Call, servers: tuple[str, ...], paths: Paths, now: float | None = None
    ) -> Decision:
        """What the first matching rule says; without one, what the documented table has is denied.

        `servers` are the names this server may have: a rule that denies or asks matches if one of
        them does, a rule that allows if all of them do.
        """
        decision = self._decide(call, servers, paths, now)
        if self._former is None or decision.action == "deny":
            return decision
        before = self._former.decide(call, servers, paths, now)
        return decision if _STRICT[before.action] <= _STRICT[decision.action] else _NOT_YET

    def within(self, former: Policy) -> Policy:
        """This policy, which allows nothing that a former one did not."""
        found = copy(self)
        found._former = former
        return found

    def alone(self) -> Policy:
        """This policy in full effect."""
        found = copy(self)
        found._former = None
        return found

    def _decide(
        self, call: Call, servers: tuple[str, ...], paths: Paths, now: float | None
    ) -> Decision:
        if self._closed:
            return self._refuse(call)
        latest = self._latest
        matcher = latest[1] if latest and latest[0] is paths else self._matcher(paths)
        place = matcher.first(call, servers, now)
        return _undecided(call) if place is None else self._decisions[place]

    def _matcher(self, paths: Paths) -> Matcher:
        matcher = self._matchers.get(paths)
        if matcher is None:
            if len(self._matchers) >= _MOST_MATCHERS:
                self._matchers.clear()
            matcher = self._matchers[paths] = Matcher(self.rules, paths)
        self._latest = (paths, matcher)
        return matcher

    def _refuse(self, call: Call) -> Decision:
        if not is_judged(call.method):
            return _PASS
        if self._closed == "table" and not _in_table(call.method):
            return _PASS
        return Decision("deny", None, self.problem)


def _in_table(method: str) -> bool:
    """Also when a lenient server only might take it for a method of the table."""
    return method in EVALUATED or not _TABLE.isdisjoint(folded(method))


def _undecided(call: Call) -> Decision:
    if not _in_table(call.method):
        return _PASS
    if call.method != "tools/call":
        name = call.method if call.method in EVALUATED else "this method"
        return Decision("deny", None, f"No rule allows {name} with these parameters")
    name = call.tool if len(call.tool) <= _LONGEST_NAME else f"{call.tool[:_LONGEST_NAME]}…"
    return Decision("deny", None, f"No rule allows the tool {name!r} with these arguments")


class _Seen(msgspec.Struct, frozen=True):
    """A policy in full effect, and the file that it was read from: its time, size and inode."""

    status: tuple[int, int, int] | None
    inode: int
    policy: Policy


class _Fresh(msgspec.Struct, frozen=True):
    """A policy that may be half written yet, and since when its content is known."""

    policy: Policy
    since: float


class PolicyFile:
    """The policy in a file, read again whenever the file changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: _Seen | None = None
        self._fresh: _Fresh | None = None

    def current(self) -> Policy:
        """The policy as the file is now; one that denies, if it is missing or cannot be used."""
        try:
            status = os.stat(self.path)  # noqa: PTH116 - runs on every call, and Path.stat costs more
        except FileNotFoundError:
            return self._missing()
        except OSError as error:
            return self._unreadable(error)
        seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        if self._read is not None and self._read.status == seen:
            return self._read.policy
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return self._missing()
        except OSError as error:
            return self._unreadable(error)
        return self._taken_up(content, status)

    def _taken_up(self, content: bytes, status: os.stat_result) -> Policy:
        """The policy that a content says; within the one before, while it may be half written."""
        read, age = self._read, time.time_ns() - status.st_mtime_ns
        policy = self._parsed(content)
        if read is not None and read.policy is not policy:
            # What takes a file's place is whole, if it ends as texts do.
            replaced = status.st_ino != read.inode and content.endswith(b"\n")
            if not replaced and not self._has_rested(policy, age):
                assert self._fresh is not None
                return self._fresh.policy
        self._fresh = None
        seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        self._read = _Seen(seen if age > _TICK else None, status.st_ino, policy)
        return policy

    def _parsed(self, content: bytes) -> Policy:
        digest = sha256(content).hexdigest()
        if self._read is not None and self._read.policy.digest == digest:
            return self._read.policy
        if self._fresh is not None and self._fresh.policy.digest == digest:
            return self._fresh.policy.alone()
        try:
            return read_policy(_decoded(content, str(self.path)), str(self.path))
        except PolicyError as error:
            return _broken(error, digest)

    def _has_rested(self, policy: Policy, age: int) -> bool:
        """Whether a changed file has not changed for a while, by its own time or by ours."""
        now = time.monotonic()
        if self._fresh is None or self._fresh.policy.digest != policy.digest:
            assert self._read is not None
            self._fresh = _Fresh(policy.within(self._read.policy), now)
        return age > _REST * 1e9 or now - self._fresh.since > _REST

    def _unreadable(self, error: OSError) -> Policy:
        return _broken(PolicyError(str(self.path), 0, error.strerror or str(error)), "")

    def _missing(self) -> Policy:
        problem = (
            f"No policy at {self.path}, so every call is refused: `claw policy init` makes one"
        )
        # One that was there and is gone may have denied more than calls.
        return Policy(problem=problem, closed="table" if self._read is None else "everything")


def _decoded(content: bytes, file: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PolicyError(file, line, "not UTF-8; save the file as UTF-8") from None


def _broken(error: PolicyError, digest: str) -> Policy:
    return Policy(
        digest=digest,
        env=EnvOptions(allow=_BARE_ENVIRONMENT),
        problem=f"The policy cannot be used, so nothing passes: {error}",
        closed="everything",
    )
