"""Why a policy decides as it does: the rule, what matched, and which rules came close."""

from __future__ import annotations

import time

import msgspec

from clawkit.guard.policy.call import EVALUATED, Call, is_judged
from clawkit.guard.policy.clauses import Clause, argument_clause, expiry, listed
from clawkit.guard.policy.globs import is_any
from clawkit.guard.policy.permitting import all_named
from clawkit.guard.policy.policy import Decision, Paths, Policy
from clawkit.guard.policy.probe import matches
from clawkit.guard.policy.rules import Rule
from clawkit.guard.policy.scope import Scope


class Reading(msgspec.Struct, frozen=True):
    """One rule held against one call."""

    rule: Rule
    clauses: tuple[Clause, ...]

    @property
    def missing(self) -> tuple[Clause, ...]:
        return tuple(clause for clause in self.clauses if not clause.met)


class Explanation(msgspec.Struct, frozen=True):
    """What is decided about a call; `near` are rules before it of which only a part matches."""

    call: Call
    servers: tuple[str, ...]
    decision: Decision
    because: tuple[Clause, ...]
    near: tuple[Reading, ...]
    needed: tuple[str, ...]


def explain(policy: Policy, call: Call, servers: tuple[str, ...], paths: Paths) -> Explanation:
    """Hold each rule up to the deciding one against a call, part by part."""
    decision = policy.decide(call, servers, paths)
    rule = decision.rule
    before = policy.rules if rule is None else policy.rules[: rule.number - 1]
    judged = is_judged(call.method)
    near = [_reading(each, call, servers, paths) for each in before] if judged else []
    near = [each for each in near if _is_near(each)]
    return Explanation(
        call=call,
        servers=servers,
        decision=decision,
        because=() if rule is None else _reading(rule, call, servers, paths).clauses,
        near=tuple(near),
        needed=tuple(_needed(decision, near, call)),
    )


def _is_near(reading: Reading) -> bool:
    """What it names fits and something else does not, or all but what it names fits."""
    rule = reading.rule
    missing = {clause.subject for clause in reading.missing}
    if missing & {"tool", "method", "resource", "prompt"}:
        return bool(rule.args) and len(missing) == 1
    # A rule that looks into every call for something is not near to each that lacks it.
    looks_everywhere = rule.action != "allow" and any(map(is_any, rule.tools))
    return not looks_everywhere or any(each.label not in missing for each in rule.args)


def _needed(decision: Decision, near: list[Reading], call: Call) -> list[str]:
    if decision.action == "allow":
        return []
    found = [
        f"rule {each.rule.number} would {each.rule.action} it with {_all(each.missing)}"
        for each in near
        if each.rule.action in ("allow", "prompt") and each.rule.action != decision.action
    ]
    if decision.rule is not None:
        line = decision.rule.line
        found.append(
            f"a rule that allows it must stand before rule {decision.rule.number}, line {line}"
        )
    elif call.method in EVALUATED:
        found.append("a rule that allows it may stand anywhere: no rule matches it")
    return found


def _all(clauses: tuple[Clause, ...]) -> str:
    return " and ".join(clause.need for clause in clauses)


def _reading(rule: Rule, call: Call, servers: tuple[str, ...], paths: Paths) -> Reading:
    clauses = [*_subject_clauses(rule, call, servers, paths)]
    if rule.server:
        clauses.append(_server_clause(rule, call, servers, paths))
    clauses += [argument_clause(rule, each, call, paths) for each in rule.args]
    if rule.only_args:
        clauses.append(_only_clause(rule, call))
    if rule.expires is not None:
        clauses.append(_expiry_clause(rule))
    return Reading(rule, tuple(clauses))


def _subject_clauses(
    rule: Rule, call: Call, servers: tuple[str, ...], paths: Paths
) -> list[Clause]:
    uri, prompt = str(call.arguments.get("uri", "")), str(call.arguments.get("name", ""))
    fields = (
        ("tools", "tool", call.tool, rule.tools),
        ("methods", "method", call.method, rule.methods),
        ("resources", "resource", uri, rule.resources),
        ("prompts", "prompt", prompt, rule.prompts),
    )
    bare = Rule(number=1, line=0, action=rule.action)
    found: list[Clause] = []
    for field, subject, value, patterns in fields:
        fitting = [
            pattern
            for pattern in patterns
            if (field == "tools" and rule.args and is_any(pattern))
            or matches(msgspec.structs.replace(bare, **{field: (pattern,)}), call, servers, paths)
        ]
        if patterns:
            found.append(
                _name_clause(subject, value, tuple(fitting[:1]) or patterns, met=bool(fitting))
            )
    return found


def _name_clause(subject: str, value: str, patterns: tuple[str, ...], *, met: bool) -> Clause:
    verb = "matches" if met else "does not match"
    said = f"{subject} {value!r}" if value else f"a call without {subject}"
    return Clause(
        subject, met, f"{said} {verb} {listed(patterns)}", f"a {subject} like {listed(patterns)}"
    )


def _server_clause(rule: Rule, call: Call, servers: tuple[str, ...], paths: Paths) -> Clause:
    alone = Rule(
        number=1,
        line=0,
        action=rule.action,
        methods=("**",),
        server=rule.server,
    )
    met = matches(alone, call, servers, paths)
    need = f"server {listed(rule.server)}"
    if not any(servers):
        return Clause("server", met, f"it is for server {listed(rule.server)}; none is named", need)
    names = " or ".join(repr(name) for name in servers)
    verb = "matches" if met else "does not match"
    return Clause("server", met, f"server {names} {verb} {listed(rule.server)}", need)


def _only_clause(rule: Rule, call: Call) -> Clause:
    names = [condition.name for condition in Scope(rule).conditions(call.method)]
    others = [key for key, value in call.arguments.items() if not all_named({key: value}, names)]
    if call.has_extras:
        others.append("what stands outside the arguments")
    if not others:
        return Clause("only_args", True, "the call has no other argument")
    text = f"the call also has {listed(tuple(others))}"
    return Clause("only_args", False, text, "no other argument")


def _expiry_clause(rule: Rule) -> Clause:
    if rule.expired(time.time()):
        return Clause("expires", False, f"it expired at {expiry(rule)}", "a later date in expires")
    return Clause("expires", True, f"it holds until {expiry(rule)}")
