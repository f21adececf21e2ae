"""Finds the first rule of a policy that matches a call."""

from __future__ import annotations

import time
from typing import Any, cast

from clawkit.guard.policy.call import EVALUATED, Call, is_judged, is_known
from clawkit.guard.policy.conditions import AllowConditions, DenyConditions, all_named
from clawkit.guard.policy.globs import Glob, is_any
from clawkit.guard.policy.paths import Paths
from clawkit.guard.policy.readings import Reader, holds_path
from clawkit.guard.policy.rules import Argument, Rule
from clawkit.guard.policy.spellings import folded

# What else says something about a resource or a prompt: a rule that denies must see it there too.
_ABOUT_RESOURCES = ("resources/subscribe", "subscriptions/listen", "completion/complete")
_ABOUT_PROMPTS = ("completion/complete",)
UNKNOWN = "unknown"
"""As a rule's `method`: every request that MCP does not have."""


class NamePatterns:
    """Patterns for names; a rule that denies or asks ignores case and look-alikes."""

    __slots__ = ("_any", "_globs", "_guarding")

    def __init__(self, patterns: tuple[str, ...], *, guarding: bool) -> None:
        self._any = any(map(is_any, patterns))
        self._guarding = guarding
        spellings = {each for name in patterns for each in (folded(name) if guarding else (name,))}
        self._globs = [Glob(spelling) for spelling in sorted(spellings)]

    def match(self, name: str) -> bool:
        if self._any:
            return True
        spellings = folded(name) if self._guarding else (name,)
        return any(glob.matches(each) for each in spellings for glob in self._globs)


class RuleScope:
    """The calls that one rule is about."""

    __slots__ = ("_everywhere", "_guarding", "_methods", "_rule", "_servers", "_table", "_tools")

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._guarding = rule.action != "allow"
        self._tools = NamePatterns(rule.tools, guarding=self._guarding)
        self._methods = NamePatterns(rule.methods, guarding=self._guarding)
        self._servers = NamePatterns(rule.server, guarding=self._guarding)
        self._everywhere = any(map(is_any, rule.tools))
        self._table = not (rule.args or rule.methods or rule.resources or rule.prompts)

    def covers(self, method: str, tool: str) -> bool:
        if not (self._covers_method(method) and self._covers_shorthand(method)):
            return False
        if self._everywhere:
            return not self._table or method in EVALUATED
        return not self._rule.tools or self._tools.match(tool)

    def covers_content(self, method: str, tool: str) -> bool:
        """Whether the rule denies a message of this method for what it has in it, and only then."""
        conditions = self.conditions(method)
        if self._rule.action != "deny" or not conditions:
            return False
        said = all(not any(map(is_any, condition.patterns)) for condition in conditions)
        return said and self.covers(method, tool)

    def covers_server(self, servers: tuple[str, ...]) -> bool:
        """An unknown server may be the one that is guarded, and is not the one that is trusted."""
        if not self._rule.server:
            return True
        matched = map(self._servers.match, servers)
        return (any(matched) or not servers) if self._guarding else (all(matched) and bool(servers))

    def conditions(self, method: str) -> tuple[Argument, ...]:
        """What the arguments must have, for a method that the rule covers."""
        found = self._rule.args
        if self._rule.resources:
            name = "*" if self._guarding else "uri"
            found = (*found, Argument((name,), self._rule.resources))
        if self._rule.prompts:
            name = "name" if method == "prompts/get" else "*"
            found = (*found, Argument((name,), self._rule.prompts))
        return found

    def decides_alone(self, method: str) -> bool:
        """Whether the rule matches whatever the arguments of such a call are."""
        return not (self._rule.only_args or self.conditions(method))

    def _covers_method(self, method: str) -> bool:
        if not self._rule.methods or self._methods.match(method):
            return True
        return UNKNOWN in self._rule.methods and not is_known(method)

    def _covers_shorthand(self, method: str) -> bool:
        if self._rule.resources:
            return method == "resources/read" or (self._guarding and method in _ABOUT_RESOURCES)
        if self._rule.prompts:
            return method == "prompts/get" or (self._guarding and method in _ABOUT_PROMPTS)
        return True


_MOST_PLANS = 1024
_LONGEST_NAME = 256
_LINKS_HOLD = 5.0  # seconds after which the links in the policy's own paths are followed again


class RuleMatcher:
    """The rules of a policy, ready for calls of a server with these paths."""

    def __init__(
        self, rules: tuple[Rule, ...], paths: Paths, *, links_hold: float = _LINKS_HOLD
    ) -> None:
        self._rules = rules
        self._links_hold = links_hold
        self._scopes = [RuleScope(rule) for rule in rules]
        self._reader = Reader(paths)
        self._heads: dict[str, str] = {}
        self._plans: dict[tuple[str, str, tuple[str, ...]], MatchPlan] = {}
        self._shared: dict[tuple[str, tuple[int, ...]], MatchPlan] = {}
        self._followed = time.monotonic()

    def first(self, call: Call, servers: tuple[str, ...], now: float | None) -> int | None:
        """The place of the first rule that matches, None if none does."""
        plan = self._plans.get((call.method, call.tool, servers))
        if plan is None:
            plan = self._plan(call, servers)
        if plan.settled:
            return plan.place
        if self._reader.resolve and time.monotonic() - self._followed > self._links_hold:
            self._followed = time.monotonic()
            if self._reader.has_moved():
                self._plans, self._shared = {}, {}
                plan = self._plan(call, servers)
        return plan.first(call, now)

    def _plan(self, call: Call, servers: tuple[str, ...]) -> MatchPlan:
        plans, shared = self._plans, self._shared
        places = tuple(self._candidates(call, servers))
        plan = shared.get((call.method, places))
        if plan is None:
            if len(shared) >= _MOST_PLANS:
                shared.clear()
            plan = shared[call.method, places] = self._made(call.method, places)
        if len(plans) >= _MOST_PLANS:
            plans.clear()
        if len(call.tool) <= _LONGEST_NAME:
            plans[call.method, call.tool, servers] = plan
        return plan

    def _candidates(self, call: Call, servers: tuple[str, ...]) -> list[int]:
        """The rules that can decide about such calls: none behind one that always does."""
        found: list[int] = []
        covers = RuleScope.covers if is_judged(call.method) else RuleScope.covers_content
        for place, (rule, scope) in enumerate(zip(self._rules, self._scopes, strict=True)):
            if covers(scope, call.method, call.tool) and scope.covers_server(servers):
                found.append(place)
                if rule.expires is None and scope.decides_alone(call.method):
                    break
        return found

    def _made(self, method: str, places: tuple[int, ...]) -> MatchPlan:
        rules = {place: self._rules[place] for place in places}
        conditions = {place: self._scopes[place].conditions(method) for place in places}
        return MatchPlan(rules, conditions, self._reader, self._heads)


class MatchPlan:
    """The rules that can decide about one kind of call, of which only arguments are open."""

    def __init__(
        self,
        rules: dict[int, Rule],
        conditions: dict[int, tuple[Argument, ...]],
        reader: Reader,
        heads: dict[str, str],
    ) -> None:
        self._rules = rules
        self._only = {
            place: [each.name for each in conditions[place]] + [(n,) for n in rule.also_args]
            for place, rule in rules.items()
            if rule.only_args
        }
        self._bare = [place for place in self._only if not conditions[place]]
        self._always = [p for p in rules if not conditions[p] and p not in self._only]
        self._needs = {place: len(each) for place, each in conditions.items()}
        numbered = [(place, each) for place in rules for each in conditions[place]]
        self._owners = [place for place, _ in numbered]
        guarding: list[tuple[int, Argument]] = []
        allowing: list[tuple[int, Argument]] = []
        for number, (place, condition) in enumerate(numbered):
            side = allowing if rules[place].action == "allow" else guarding
            side.append((number, condition))
        self._first_guard = min((self._owners[n] for n, _ in guarding), default=None)
        exempt = {number: rules[self._owners[number]].exempt for number, _ in guarding}
        self._search = DenyConditions(guarding, reader, exempt)
        real = {number for number, _ in allowing if rules[self._owners[number]].confined}
        self._permits = AllowConditions(allowing, reader, heads, real) if allowing else None
        self._expiring = any(rule.expires is not None for rule in rules.values())
        self.settled = not (numbered or self._bare or self._expiring)
        self.place = self._always[0] if self._always else None

    def first(self, call: Call, now: float | None) -> int | None:
        """The place of the first rule that matches."""
        live = self._rules if not self._expiring else self._unexpired(now)
        places = [place for place in self._always if place in live]
        places += self._permitted(call, live)
        best = min(places, default=None)
        if self._first_guard is None or (best is not None and best < self._first_guard):
            return best
        places += self._complete(self._guarded(call), live)
        return min(places, default=None)

    def _permitted(self, call: Call, live: dict[int, Rule]) -> list[int]:
        """The allowing rules that match because of what the arguments are."""
        found = [place for place in self._bare if place in live]
        if self._permits is not None:
            found += self._complete(self._permits.hits(call.arguments), live)
        if not self._only:
            return found
        return [p for p in found if p not in self._only or self._is_all(call, p)]

    def _is_all(self, call: Call, place: int) -> bool:
        if call.has_extras or not all_named(call.arguments, self._only[place]):
            return False
        rule = self._rules[place]
        return not rule.confined or not any(
            holds_path(name, value)
            for name, value in call.arguments.items()
            if any(Glob(each).matches(name) for each in rule.also_args)
        )

    def _guarded(self, call: Call) -> set[int]:
        """The conditions of guarding rules that hold, also where a server might look instead."""
        found = self._search.hits(call.arguments)
        for part in call.outside:
            found |= self._search.hits(part)
            for value in part.values():
                if isinstance(value, dict):
                    found |= self._search.hits(cast("dict[str, Any]", value))
        return found

    def _unexpired(self, now: float | None) -> dict[int, Rule]:
        moment = time.time() if now is None else now
        return {place: rule for place, rule in self._rules.items() if not rule.expired(moment)}

    def _complete(self, hits: set[int], live: dict[int, Rule]) -> list[int]:
        """The rules all of whose conditions hold."""
        held: dict[int, int] = {}
        for number in hits:
            owner = self._owners[number]
            held[owner] = held.get(owner, 0) + 1
        return [p for p, count in held.items() if count == self._needs[p] and p in live]
