"""A policy: rules in order, of which the first that matches decides about a call."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Literal

import msgspec

from clawkit.guard.policy.call import EVALUATED, Call, is_judged
from clawkit.guard.policy.globs import Glob
from clawkit.guard.policy.matcher import RuleMatcher
from clawkit.guard.policy.paths import Paths
from clawkit.guard.policy.rules import Action, AuditOptions, EnvOptions, Place, PolicyLimits, Rule
from clawkit.guard.policy.spellings import folded
from clawkit.guard.scan.sanitizer import ScanOptions

__all__ = ["Decision", "Paths", "Policy"]

_LONGEST_NAME = 100
_MOST_MATCHERS = 16


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
        limits: PolicyLimits | None = None,
        audit: AuditOptions | None = None,
        problem: str = "",
        closed: Literal["", "table", "everything"] = "",
        places: Mapping[int, Place] | None = None,
    ) -> None:
        """`places` are the numbers at which the file has a place for a profile's rules."""
        self.rules = rules
        self.places = places or {}
        self.digest = digest
        self.scan = scan or ScanOptions()
        self.env = env or EnvOptions()
        self.limits = limits or PolicyLimits()
        self.audit = audit or AuditOptions()
        self.problem = problem
        self._closed = closed
        self._former: Policy | None = None
        self._own: Policy | None = None
        self._decisions = tuple(
            Decision(rule.action, rule, rule.description or _REASONS[rule.action]) for rule in rules
        )
        self._matchers: dict[Paths, RuleMatcher] = {}
        self._latest: tuple[Paths, RuleMatcher] | None = None

    @property
    def written(self) -> int:
        """How many rules the file has, by its own numbers."""
        return len({rule.number for rule in self.rules} | self.places.keys())

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

    def denies_below(self, rule: Rule) -> bool:
        """Whether a rule written directly above this one would stand above one that denies."""
        return any(each.action == "deny" and each.number >= rule.number for each in self.rules)

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
        if place is None:
            return _undecided(call)
        decision = self._decisions[place]
        if not self.rules[place].stands_in:
            return decision
        rest = _without_texts(call, self.rules[place])
        if rest is None:
            return self._without_stand_ins()._decide(call, servers, paths, now)
        # Only what the text alone would have denied is a question: all else stays as it is.
        other = self._decide(rest, servers, paths, now)
        return other if other.action == "deny" else decision

    def _without_stand_ins(self) -> Policy:
        if self._own is None:
            rules = tuple(rule for rule in self.rules if not rule.stands_in)
            self._own = Policy(rules, digest=self.digest)
        return self._own

    def _matcher(self, paths: Paths) -> RuleMatcher:
        matcher = self._matchers.get(paths)
        if matcher is None:
            if len(self._matchers) >= _MOST_MATCHERS:
                self._matchers.clear()
            matcher = self._matchers[paths] = RuleMatcher(self.rules, paths)
        self._latest = (paths, matcher)
        return matcher

    def _refuse(self, call: Call) -> Decision:
        if not is_judged(call.method):
            return _PASS
        if self._closed == "table" and not _in_table(call.method):
            return _PASS
        return Decision("deny", None, self.problem)


def _without_texts(call: Call, rule: Rule) -> Call | None:
    """The call without the plain texts that a rule names; None if it has none of them."""
    names = {argument.name[0] for argument in rule.args if len(argument.name) == 1}
    texts = {key for key in names if isinstance(call.arguments.get(key), str)}
    named = call.method == "tools/call" and any(
        Glob(each).matches(call.tool) for each in rule.tools
    )
    if not texts or not named:
        return None
    kept = {key: value for key, value in call.arguments.items() if key not in texts}
    return msgspec.structs.replace(call, arguments=kept)


def _in_table(method: str) -> bool:
    """Whether a server, be it a lenient one, may take the method for one of the table."""
    return method in EVALUATED or not _TABLE.isdisjoint(folded(method))


def _undecided(call: Call) -> Decision:
    if not _in_table(call.method):
        return _PASS
    if call.method != "tools/call":
        name = call.method if call.method in EVALUATED else "this method"
        return Decision("deny", None, f"No rule allows {name} with these parameters")
    name = call.tool if len(call.tool) <= _LONGEST_NAME else f"{call.tool[:_LONGEST_NAME]}…"
    return Decision("deny", None, f"No rule allows the tool {name!r} with these arguments")
