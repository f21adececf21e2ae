"""Explains a decision: the rule, which conditions matched, and which rules came close."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Any, cast

import msgspec

from clawkit.guard.authoring.fixtures import NAMELESS
from clawkit.guard.authoring.sample_calls import rule_matches
from clawkit.guard.policy.call import EVALUATED, Call, is_judged
from clawkit.guard.policy.conditions import all_named, has_other_spelling
from clawkit.guard.policy.globs import is_any, is_wild
from clawkit.guard.policy.matcher import RuleScope
from clawkit.guard.policy.paths import Paths
from clawkit.guard.policy.patterns import allowed, denied_globs, kind_of
from clawkit.guard.policy.policy import Decision, Policy
from clawkit.guard.policy.readings import Reader, holds_path, is_read_differently, texts
from clawkit.guard.policy.rules import Argument, Rule
from clawkit.guard.policy.urls import END

_MOST_SHOWN = 3
_MOST_LEAVES = 500
_LONGEST = 200


class Clause(msgspec.Struct, frozen=True):
    """A condition: whether it is met, in words, and what would meet it."""

    subject: str
    met: bool
    text: str
    need: str = ""


class _Leaf(msgspec.Struct, frozen=True):
    """A value in the arguments: how a reader would name it, and the arguments with it alone."""

    label: str
    value: Any
    alone: Any


def argument_clause(rule: Rule, argument: Argument, call: Call, paths: Paths) -> Clause:
    """`args.…` of a rule against the arguments of a call; the rule's tool plays no part."""
    label = argument.label
    place = "under" if all(p.endswith("/**") for p in argument.patterns) else "like"
    need = f"{label} {place} {listed(argument.patterns)}"
    probe = Rule(action=rule.action, tools=("*",), args=(argument,))
    made = Call("tools/call", "any", call.arguments, call.outside)
    if not rule_matches(probe, made, NAMELESS, paths):
        return Clause(label, False, _why_not(rule, argument, call, paths), need)
    for pattern in argument.patterns:
        single = msgspec.structs.replace(probe, args=(Argument(argument.name, (pattern,)),))
        if rule_matches(single, made, NAMELESS, paths):
            words = _fits if rule.action == "allow" else _found
            return Clause(label, True, words(single, pattern, made, paths), need)
    return Clause(label, True, f"{label} fits {listed(argument.patterns)}", need)


def expiry(rule: Rule) -> str:
    """When a rule expires or has expired, in local time."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(rule.expires))
    except (OverflowError, ValueError, OSError):  # beyond what this machine's clock can say
        return "a day far away"


def listed(patterns: tuple[str, ...]) -> str:
    """A few patterns for a reader."""
    shown = ", ".join(repr(pattern) for pattern in patterns[:_MOST_SHOWN])
    more = len(patterns) - _MOST_SHOWN
    return f"{shown} (and {more} more)" if more > 0 else shown


def _found(single: Rule, pattern: str, call: Call, paths: Paths) -> str:
    """Which value a rule that denies or asks has found, and how it has read it."""
    for leaf in islice(_parts(call.arguments, ""), _MOST_LEAVES):
        if rule_matches(single, Call(call.method, call.tool, leaf.alone), NAMELESS, paths):
            read = _denied_reading(leaf.value, pattern, paths)
            return f"args.{leaf.label} {_shown(leaf.value)}{read} {_is(pattern, True)}"
    where = "it, outside the arguments" if call.outside else "it"
    return f"{single.args[0].label} has {pattern!r} in {where}"


def _denied_reading(value: Any, pattern: str, paths: Paths) -> str:
    reader = Reader(paths)
    globs = denied_globs(pattern, reader)
    for text in texts(value):
        for reading in reader.denied(text):
            if any(glob.matches(reading) for glob in globs):
                return "" if reading == text else f", read as {_shown(reading)},"
    return ""


def _fits(single: Rule, pattern: str, call: Call, paths: Paths) -> str:
    """The value that a rule allows, and how it has read it."""
    argument = single.args[0]
    if any(map(is_wild, argument.name)):
        return f"every argument that {argument.label} names {_is(pattern, True)}"
    value = _named(call.arguments, argument.name)
    readings = map(_unmarked, _allowed_readings(value, pattern, paths) or ())
    readings = [each for each in readings if each != value]
    read = f", read as {_shown(readings[0])}," if readings else ""
    return f"{argument.label} {_shown(value)}{read} {_is(pattern, True)}"


def _why_not(rule: Rule, argument: Argument, call: Call, paths: Paths) -> str:
    if any(map(is_wild, argument.name)):
        which = "not every argument" if rule.action == "allow" else "no argument"
        if not call.arguments:
            return "the call has no arguments"
        return f"{which} {_is_one_of(argument.patterns, True)}"
    value = _named(call.arguments, argument.name)
    if value is None and not _has(call.arguments, argument.name):
        return f"the call has no argument {'.'.join(argument.name)!r}"
    said = f"{argument.label} {_shown(value)}"
    if rule.action != "allow":
        return f"{said} {_is_one_of(argument.patterns, False)}"
    if isinstance(value, dict | list):
        return f"{argument.label} is no single value, and allow needs one"
    if has_other_spelling(call.arguments, argument.name[0]):
        return f"{argument.label} stands beside an argument that a server may take for it"
    if is_read_differently(value):
        return f"{said} is a number that servers read differently"
    return said + _not_allowed(value, argument.patterns, paths)


def _not_allowed(value: Any, patterns: tuple[str, ...], paths: Paths) -> str:
    """What of a value keeps it from being allowed: often only one way to read it."""
    reader = Reader(paths)
    for pattern in patterns:
        readings = _allowed_readings(value, pattern, paths)
        if readings is None:
            return " can be read in ways that no rule allows"
        globs = allowed(pattern, reader, {}).globs
        other = [r for r in readings if not any(glob.matches(r) for glob in globs)]
        if other and _unmarked(other[0]) not in texts(value):
            return f", read as {_shown(_unmarked(other[0]))}, {_is_one_of(patterns, False)}"
    return f" {_is_one_of(patterns, False)}"


def _allowed_readings(value: Any, pattern: str, paths: Paths) -> list[str] | None:
    reader = Reader(paths)
    kind = kind_of(pattern)
    if kind == "any":
        return list(texts(value))
    found: list[str] = []
    for text in texts(value):
        readings = reader.allowed[kind](text)
        if readings is None:
            return None
        found.extend(readings)
    return found


def _unmarked(reading: str) -> str:
    return reading.replace(END, "")


def _is(pattern: str, met: bool) -> str:
    negation = "" if met else "not "
    if is_any(pattern):
        return f"is {negation}matched by {pattern!r}"
    if pattern.endswith("/**"):
        return f"is {negation}under {pattern!r}"
    return f"matches {pattern!r}" if met else f"does not match {pattern!r}"


def _is_one_of(patterns: tuple[str, ...], met: bool) -> str:
    if len(patterns) == 1:
        return _is(patterns[0], met)
    return f"matches {'any' if met else 'none'} of {listed(patterns)}"


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _named(arguments: dict[str, Any], name: tuple[str, ...]) -> Any:
    """The value of an argument, whatever the case of its name."""
    value: Any = arguments
    for part in name:
        if not isinstance(value, dict):
            return None
        inner = cast("dict[str, Any]", value)
        folded = {key.casefold(): item for key, item in inner.items()}
        value = inner.get(part, folded.get(part.casefold()))
    return value


def _has(arguments: dict[str, Any], name: tuple[str, ...]) -> bool:
    above = _named(arguments, name[:-1]) if name[1:] else arguments
    return isinstance(above, dict) and name[-1] in above


def _parts(value: Any, label: str) -> Iterator[_Leaf]:
    """Scalars below a value, each wrapped in nothing but what leads to it."""
    if isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            for leaf in _parts(item, f"{label}.{name}" if label else name):
                yield _Leaf(leaf.label, leaf.value, {name: leaf.alone})
    elif isinstance(value, list):
        for at, item in enumerate(cast("list[Any]", value)):
            for leaf in _parts(item, f"{label}[{at}]"):
                yield _Leaf(leaf.label, leaf.value, [leaf.alone])
    else:
        yield _Leaf(label, value, value)


class RuleReport(msgspec.Struct, frozen=True):
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
    near: tuple[RuleReport, ...]
    needed: tuple[str, ...]


def explain(policy: Policy, call: Call, servers: tuple[str, ...], paths: Paths) -> Explanation:
    """Hold each rule up to the deciding one against a call, part by part."""
    decision = policy.decide(call, servers, paths)
    rule = decision.rule
    before = list(takewhile(lambda each: each is not rule, policy.rules))
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


def _is_near(reading: RuleReport) -> bool:
    """What it names fits and something else does not, or all but what it names fits."""
    rule = reading.rule
    missing = {clause.subject for clause in reading.missing}
    if missing & {"tool", "method", "resource", "prompt"}:
        return bool(rule.args) and len(missing) == 1
    # A rule that looks into every call for something is not near to each that lacks it.
    looks_everywhere = rule.action != "allow" and any(map(is_any, rule.tools))
    return not looks_everywhere or any(each.label not in missing for each in rule.args)


def _needed(decision: Decision, near: list[RuleReport], call: Call) -> list[str]:
    if decision.action == "allow":
        return []
    found = [
        f"rule {each.rule.number} would {each.rule.action} it with "
        + " and ".join(clause.need for clause in each.missing)
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


def _reading(rule: Rule, call: Call, servers: tuple[str, ...], paths: Paths) -> RuleReport:
    clauses = [*_subject_clauses(rule, call, servers, paths)]
    if rule.server:
        clauses.append(_server_clause(rule, call, servers, paths))
    clauses += [argument_clause(rule, each, call, paths) for each in rule.args]
    if rule.only_args:
        clauses.append(_only_clause(rule, call))
    if rule.expires is not None:
        clauses.append(_expiry_clause(rule))
    return RuleReport(rule, tuple(clauses))


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
    bare = Rule(action=rule.action)
    found: list[Clause] = []
    for field, subject, value, patterns in fields:
        fitting = [
            pattern
            for pattern in patterns
            if (field == "tools" and rule.args and is_any(pattern))
            or rule_matches(
                msgspec.structs.replace(bare, **{field: (pattern,)}), call, servers, paths
            )
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
    alone = Rule(action=rule.action, methods=("**",), server=rule.server)
    met = rule_matches(alone, call, servers, paths)
    need = f"server {listed(rule.server)}"
    if not any(servers):
        return Clause("server", met, f"it is for server {listed(rule.server)}; none is named", need)
    names = " or ".join(repr(name) for name in servers)
    verb = "matches" if met else "does not match"
    return Clause("server", met, f"server {names} {verb} {listed(rule.server)}", need)


def _only_clause(rule: Rule, call: Call) -> Clause:
    names = [condition.name for condition in RuleScope(rule).conditions(call.method)]
    names += [(name,) for name in rule.also_args]
    others = [key for key, value in call.arguments.items() if not all_named({key: value}, names)]
    if call.has_extras:
        others.append("what stands outside the arguments")
    if rule.confined:
        given = call.arguments.items()
        others += [
            name for name, value in given if name in rule.also_args and holds_path(name, value)
        ]
    if not others:
        return Clause("only_args", True, "the call has no other argument")
    text = f"the call also has {listed(tuple(others))}"
    return Clause("only_args", False, text, "no other argument")


def _expiry_clause(rule: Rule) -> Clause:
    if rule.expired(time.time()):
        return Clause("expires", False, f"it expired at {expiry(rule)}", "a later date in expires")
    return Clause("expires", True, f"it holds until {expiry(rule)}")
