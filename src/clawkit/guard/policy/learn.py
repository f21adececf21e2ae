"""A minimal policy from recorded calls: it allows what was let through, and little else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, cast

import msgspec

from clawkit.errors import PolicyError
from clawkit.guard.policy.call import EVALUATED, Call
from clawkit.guard.policy.fixtures import NAMELESS, Fixture, decide, fixture_json
from clawkit.guard.policy.generalising import generalise, is_path, text_of
from clawkit.guard.policy.globs import is_any
from clawkit.guard.policy.paths import Paths
from clawkit.guard.policy.probe import matches
from clawkit.guard.policy.recorded import Recorded
from clawkit.guard.policy.rules import Argument, Rule, read_policy
from clawkit.guard.policy.toml_text import quoted, rule_text

_TEXT = Paths()
_FILE = "the learnt policy"
_Leaves = dict[tuple[str, ...], Any]


class Learnt(msgspec.Struct, frozen=True):
    """The text of a policy, the calls it must decide as expected, and what could not be learnt."""

    policy: str
    fixtures: tuple[Fixture, ...]
    notes: tuple[str, ...]


class _Lesson(msgspec.Struct, frozen=True):
    """A rule, and what a reader of it should know."""

    rule: Rule
    remarks: tuple[str, ...] = ()


def learn(calls: list[Recorded]) -> Learnt:
    """The policy and its fixtures. Raises PolicyError if no policy can allow what was seen."""
    seen = [recorded for recorded in calls if recorded.call.method in EVALUATED]
    good = [recorded for recorded in seen if recorded.let_through]
    if not good:
        raise PolicyError(_FILE, 0, "nothing was allowed in this audit: there is nothing to learn")
    allowed = _fixtures(good, "allow")
    refused = _fixtures([recorded for recorded in seen if not recorded.let_through], "deny")
    same = {_identity(fixture) for fixture in allowed}
    denied = [fixture for fixture in refused if _identity(fixture) not in same]
    lessons = _lessons(good)
    policy = _text(_denials(lessons, denied, good), lessons, sum(r.count for r in good))
    _check(policy, good)
    made = read_policy(policy, _FILE)
    holding = [each for each in (*allowed, *denied) if decide(made, each).action == each.expected]
    notes = _notes(
        unknown=sum(recorded.count for recorded in seen if recorded.unknown),
        both=len(refused) - len(denied),
        wide=len(allowed) + len(denied) - len(holding),
    )
    return Learnt(policy, tuple(holding), notes)


def fixture_name(fixture: Fixture) -> str:
    """A file name that says what a fixture is about, and is its own."""
    parts = (fixture.expected or "any", fixture.server, fixture.call.tool)
    slug = "-".join(filter(None, (re.sub(r"[^A-Za-z0-9_]+", "-", p).strip("-") for p in parts)))
    return f"{slug[:80]}-{sha256(fixture_json(fixture).encode()).hexdigest()[:8]}.json"


def _fixtures(calls: list[Recorded], expected: Any) -> list[Fixture]:
    """One for each distinct call that is known in full."""
    found: dict[str, Fixture] = {}
    for recorded in calls:
        if not recorded.unknown:
            fixture = Fixture("", recorded.call, expected, recorded.server)
            found.setdefault(_identity(fixture), fixture)
    return list(found.values())


def _identity(fixture: Fixture) -> str:
    return fixture_json(msgspec.structs.replace(fixture, expected=None))


def _lessons(calls: list[Recorded]) -> list[_Lesson]:
    groups: dict[tuple[str, str, str], list[Recorded]] = {}
    for recorded in calls:
        call = recorded.call
        groups.setdefault((recorded.server, call.method, call.tool), []).append(recorded)
    return [_lesson(groups[key]) for key in sorted(groups)]


def _lesson(calls: list[Recorded]) -> _Lesson:
    """The rule for one tool of one server."""
    call, server = calls[0].call, calls[0].server
    rule = Rule(
        number=1,
        line=0,
        action="allow",
        tools=(call.tool,) if call.method == "tools/call" else (),
        methods=(call.method,) if call.method != "tools/call" or "/" in call.tool else (),
        server=(server,) if server else (),
        description=_described(calls),
    )
    leaves = [dict(_leaves(recorded.call.arguments, ())) for recorded in calls]
    arguments: list[Argument] = []
    remarks: list[str] = []
    for name in (name for name in leaves[0] if all(name in each for each in leaves)):
        argument = _argument(rule, name, [each[name] for each in leaves], calls)
        if argument is not None:
            arguments.append(argument)
        if argument is None or _is_widened(argument, leaves):
            remarks.append(f"{'.'.join(name)} may be anything: no narrower pattern fits")
    extra = _extra(rule, arguments, leaves, calls)
    if extra.patterns:
        arguments.append(extra)
    else:
        remarks.extend(_unlimited(arguments, calls))
    return _Lesson(msgspec.structs.replace(rule, args=tuple(arguments)), tuple(remarks))


def _is_widened(argument: Argument, leaves: list[_Leaves]) -> bool:
    values = [text_of(each[argument.name]) for each in leaves]
    return argument.patterns == ("**",) and any(map(is_path, values))


def _extra(
    rule: Rule, arguments: list[Argument], leaves: list[_Leaves], calls: list[Recorded]
) -> Argument:
    """`args."*"` where some calls have arguments that others lack; without patterns if in vain."""
    named = {argument.name for argument in arguments}
    optional = dict.fromkeys(name for each in leaves for name in each if name not in named)
    patterns = {pattern for argument in arguments for pattern in argument.patterns}
    for name in optional:
        narrow = generalise([each[name] for each in leaves if name in each])
        patterns.update(narrow[0] if narrow else ("**",))
    every = Argument(("*",), tuple(sorted(patterns)))
    alone = msgspec.structs.replace(rule, args=(every,))
    useful = optional and not any(map(is_any, patterns))
    fits = useful and all(matches(alone, each.call, _servers(each), _TEXT) for each in calls)
    return every if fits else Argument(("*",), ())


def _unlimited(arguments: list[Argument], calls: list[Recorded]) -> Iterator[str]:
    """Which arguments the rule says nothing about."""
    named = {argument.name[0] for argument in arguments}
    rest = sorted({name for each in calls for name in each.call.arguments} - named)
    if rest:
        yield f"not limited, as lists or not in every call: {', '.join(rest)}"


def _described(calls: list[Recorded]) -> str:
    count = sum(recorded.count for recorded in calls)
    return f"Learnt from {count} {'call' if count == 1 else 'calls'}"


def _leaves(value: dict[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The arguments that a rule can name: scalars, and those within objects."""
    for name, item in value.items():
        if isinstance(item, dict) and item:
            yield from _leaves(cast("dict[str, Any]", item), (*above, name))
        elif not isinstance(item, dict | list):
            yield (*above, name), item


def _argument(
    rule: Rule, name: tuple[str, ...], values: list[Any], calls: list[Recorded]
) -> Argument | None:
    """The narrowest patterns that fit every value seen; the core itself says whether they fit."""
    if not all(name) or any(set(part) & set("*?") for part in name):
        return None
    unknown = any(not recorded.unknown.isdisjoint(name[:1]) for recorded in calls)
    tries = [("**",)] if unknown else [*generalise(values), ("**",)]
    for patterns in tries:
        argument = Argument(name, patterns)
        alone = msgspec.structs.replace(rule, args=(argument,))
        if all(matches(alone, each.call, _servers(each), _TEXT) for each in calls):
            return argument
    return None


def _servers(recorded: Recorded) -> tuple[str, ...]:
    return (recorded.server,) if recorded.server else NAMELESS


def _denials(lessons: list[_Lesson], denied: list[Fixture], good: list[Recorded]) -> list[_Lesson]:
    """A rule against each denied call that the general patterns would let in."""
    found: list[_Lesson] = []
    for fixture in denied:
        servers = (fixture.server,) if fixture.server else NAMELESS
        if any(matches(lesson.rule, fixture.call, servers, _TEXT) for lesson in lessons):
            rule = _denial(fixture.call, fixture.server)
            if not any(matches(rule, each.call, _servers(each), _TEXT) for each in good):
                found.append(_Lesson(rule))
    return found


def _denial(call: Call, server: str) -> Rule:
    args = tuple(
        Argument(name, (text_of(value),))
        for name, value in _leaves(call.arguments, ())
        if value != "" and all(name)
    )
    return Rule(
        number=1,
        line=0,
        action="deny",
        tools=(call.tool,) if call.method == "tools/call" else (),
        methods=(call.method,) if call.method != "tools/call" else (),
        server=(server,) if server else (),
        args=args,
        description="Was denied when this policy was learnt",
    )


def _text(denials: list[_Lesson], lessons: list[_Lesson], count: int) -> str:
    blocks = [
        (
            f"# Learnt from {count} calls that were let through. Read it before you use it:\n"
            "# what was allowed then is allowed from now on, and all else is denied.\n"
        )
    ]
    for lesson in (*denials, *lessons):
        remarks = "".join(f"# {quoted(remark)[1:-1]}\n" for remark in lesson.remarks)
        blocks.append(remarks + rule_text(lesson.rule))
    last = Rule(number=1, line=0, action="deny", tools=("*",), description="Default deny")
    return "\n".join([*blocks, rule_text(last)])


def _check(policy: str, good: list[Recorded]) -> None:
    """Every call that was let through must be allowed by what was learnt from it."""
    made = read_policy(policy, _FILE)
    for recorded in good:
        decision = made.decide(recorded.call, _servers(recorded), _TEXT)
        if decision.action != "allow":
            by = f"rule {decision.rule.number}" if decision.rule else "no rule"
            reason = f"would not allow a call of {recorded.call.tool!r} that was allowed ({by})"
            raise PolicyError(_FILE, 0, reason)


def _notes(unknown: int, both: int, wide: int) -> tuple[str, ...]:
    texts = (
        (unknown, "with redacted or cut arguments, so they have no fixture"),
        (both, "denied at one time and allowed at another: they are allowed"),
        (wide, "denied then and allowed now: no pattern tells them from the allowed ones"),
    )
    return tuple(f"{n} {'call' if n == 1 else 'calls'} {text}" for n, text in texts if n)
