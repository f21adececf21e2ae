"""Which calls a rule is about, by method, tool and server; its arguments come after that."""

from __future__ import annotations

from clawkit.guard.policy.call import EVALUATED, is_known
from clawkit.guard.policy.folding import folded
from clawkit.guard.policy.globs import Glob, is_any
from clawkit.guard.policy.rules import Argument, Rule

# What else says something about a resource or a prompt: a rule that denies must see it there too.
_ABOUT_RESOURCES = ("resources/subscribe", "subscriptions/listen", "completion/complete")
_ABOUT_PROMPTS = ("completion/complete",)
UNKNOWN = "unknown"
"""As a rule's `method`: every request that MCP does not have."""


class Names:
    """Patterns for names: a guarding rule looks past case and look-alikes, an allowing one not."""

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


class Scope:
    """The calls that one rule is about."""

    __slots__ = ("_everywhere", "_guarding", "_methods", "_rule", "_servers", "_table", "_tools")

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._guarding = rule.action != "allow"
        self._tools = Names(rule.tools, guarding=self._guarding)
        self._methods = Names(rule.methods, guarding=self._guarding)
        self._servers = Names(rule.server, guarding=self._guarding)
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
