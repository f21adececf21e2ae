"""Recorded calls decided anew: what another policy would change."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.fixtures import NAMELESS
from clawkit.guard.policy.globs import is_any
from clawkit.guard.policy.policy import Decision, Paths, Policy
from clawkit.guard.policy.probe import matches
from clawkit.guard.policy.recorded import Recorded, without_unknown
from clawkit.guard.policy.rules import Argument, Rule

_TEXT = Paths()
_Group = tuple[str, str, int, str, int]
_ANYTHING = Argument(("*",), ("**",))


class Replayed(msgspec.Struct, frozen=True):
    """A recorded call, and what the new policy says to it."""

    recorded: Recorded
    decision: Decision | None
    """None if a rule looks at what the audit does not have; `unsure` is that rule."""
    unsure: Rule | None = None

    @property
    def changed(self) -> bool:
        """A prompt stays one, and it may become what a person said to it."""
        was = (self.recorded.decision, self.recorded.outcome)
        return self.decision is not None and self.decision.action not in was


class Change(msgspec.Struct, frozen=True):
    """Calls that one rule decided and that another one would decide, or might."""

    was: str
    answer: str
    """What a person said to a `prompt`: allow, deny, or nothing."""
    was_rule: int
    now: str
    now_rule: Rule | None
    calls: tuple[Recorded, ...]

    @property
    def count(self) -> int:
        return sum(recorded.count for recorded in self.calls)


def replay(policy: Policy, calls: Iterable[Recorded]) -> list[Replayed]:
    """Decide each call with paths as text: the machine of then is not the machine of now."""
    return [_replayed(policy, recorded) for recorded in calls]


def changes(replayed: Iterable[Replayed]) -> list[Change]:
    """What changes or is uncertain, alike ones together, the most frequent first."""
    groups: dict[_Group, list[Replayed]] = {}
    for item in replayed:
        if item.changed or item.decision is None:
            groups.setdefault(_group(item), []).append(item)
    found = [
        Change(
            was=was,
            answer=answer,
            was_rule=was_rule,
            now=now,
            now_rule=_rule(items[0]),
            calls=tuple(sorted((i.recorded for i in items), key=lambda r: -r.count)),
        )
        for (was, answer, was_rule, now, _), items in groups.items()
    ]
    return sorted(found, key=lambda change: (change.now == "uncertain", -change.count))


def _group(item: Replayed) -> _Group:
    now = "uncertain" if item.decision is None else item.decision.action
    was, rule = item.recorded, _rule(item)
    return was.decision, was.answer, was.rule, now, rule.number if rule else 0


def _rule(item: Replayed) -> Rule | None:
    return item.unsure if item.decision is None else item.decision.rule


def _replayed(policy: Policy, recorded: Recorded) -> Replayed:
    servers = (recorded.server,) if recorded.server else NAMELESS
    unknown = recorded.unknown
    if unknown:
        for rule in policy.rules:
            verdict = _surely(rule, recorded.call, unknown, servers)
            if verdict is None:
                return Replayed(recorded, None, rule)
            if verdict:
                break
    return Replayed(recorded, policy.decide(recorded.call, servers, _TEXT))


def _surely(
    rule: Rule, call: Call, unknown: frozenset[str], servers: tuple[str, ...]
) -> bool | None:
    """Whether a rule matches, whatever the unknown arguments were; None if that depends on them."""
    looked_at = [argument for argument in _conditions(rule) if _sees(rule, argument, unknown)]
    nameless = rule.only_args and "*" in unknown
    if not looked_at and not nameless:
        return matches(rule, call, servers, _TEXT)
    rest = tuple(argument for argument in rule.args if argument not in looked_at)
    if not rest and rule.action != "allow":
        rest = (_ANYTHING,)  # a lone star with arguments reaches further than one without
    if rule.only_args and not nameless:
        rest = tuple(
            Argument(each.name, ("**",)) if each in looked_at else each for each in rule.args
        )
    possible = msgspec.structs.replace(
        rule,
        args=rest,
        only_args=rule.only_args and not nameless,
        resources=_loosened(rule.resources, looked_at),
        prompts=_loosened(rule.prompts, looked_at),
    )
    if not matches(possible, call, servers, _TEXT):
        return False
    return True if _decided_anyway(rule, looked_at, call, servers) else None


def _conditions(rule: Rule) -> list[Argument]:
    """All that a rule asks of the arguments, also where it calls them a resource or a prompt."""
    found = list(rule.args)
    guarding = rule.action != "allow"
    if rule.resources:
        found.append(Argument(("*" if guarding else "uri",), rule.resources))
    if rule.prompts:
        found.append(Argument(("*" if guarding else "name",), rule.prompts))
    return found


def _loosened(patterns: tuple[str, ...], looked_at: list[Argument]) -> tuple[str, ...]:
    return ("**",) if any(each.patterns is patterns for each in looked_at) else patterns


def _decided_anyway(
    rule: Rule, looked_at: list[Argument], call: Call, servers: tuple[str, ...]
) -> bool:
    """One leaf is enough to deny; to allow, every value counts unless any would do."""
    if rule.action != "allow":
        known = msgspec.structs.replace(call, arguments=without_unknown(call.arguments))
        return matches(rule, known, servers, _TEXT)
    if rule.only_args and not looked_at:
        return False
    indifferent = all(any(map(is_any, argument.patterns)) for argument in looked_at)
    return indifferent and matches(rule, call, servers, _TEXT)


def _sees(rule: Rule, argument: Argument, unknown: frozenset[str]) -> bool:
    if "*" in unknown:
        return True
    anyone = Rule(
        number=1,
        line=0,
        action=rule.action,
        tools=("*",),
        args=(Argument(argument.name[:1], ("**",)),),
    )
    return any(
        matches(anyone, Call("tools/call", "any", {name: "any"}), NAMELESS, _TEXT)
        for name in unknown
    )
