"""Learns a minimal policy from recorded calls: generalises their values to patterns."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import msgspec

from clawkit.errors import PolicyError
from clawkit.guard.authoring.default_policy import DEFAULT_POLICY, SHELL_LIKE
from clawkit.guard.authoring.edit import leaves, quoted, rule_text
from clawkit.guard.authoring.fixtures import NAMELESS, Fixture, decide, fixture_json
from clawkit.guard.authoring.lint import is_shell_like
from clawkit.guard.authoring.replay import Recorded
from clawkit.guard.authoring.sample_calls import rule_matches
from clawkit.guard.policy.call import EVALUATED, Call
from clawkit.guard.policy.globs import is_any, is_wild
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.paths import Paths, normal
from clawkit.guard.policy.patterns import kind_of
from clawkit.guard.policy.policy import Decision, Policy
from clawkit.guard.policy.readings import is_read_differently, texts
from clawkit.guard.policy.rules import Argument, Rule

Patterns = tuple[str, ...]

MANY = 12
"""So many different plain values, and no list of them says what the next one will be."""
_LONGEST = 400
_ABSOLUTE = re.compile(r"/|~/|[A-Za-z]:[\\/]")
_PLAIN = re.compile(r"[A-Za-z_][\w-]{0,63}|-?\d+(\.\d+)?", re.ASCII)
_HOMES = frozenset({"home", "Users", "users"})


def why_inexact(value: Any, *, runs: bool) -> str:
    """Why no pattern stands for this value alone; empty if one does. `runs`: it is a command."""
    if isinstance(value, dict | list):
        return "is a list or an empty object"
    if is_read_differently(value):
        return "is a number that servers read differently"
    text = text_of(value)
    if not text:
        return "is empty"
    if len(text) > _LONGEST:
        return f"is longer than {_LONGEST} characters"
    if not text.isprintable():
        return "has line breaks or characters that do not show"
    if is_wild(text):
        return "has * or ?, which patterns read as wildcards"
    if runs and kind_of(text) != "text":
        return "is a command with a path or an address, of which patterns know other spellings"
    return ""


def exact(values: list[Any]) -> Patterns:
    """Each value as it is, a number in all its spellings."""
    return tuple(dict.fromkeys(pattern for value in values for pattern in _patterns(value)))


def generalise(values: list[Any]) -> list[Patterns]:
    """Patterns for the values of one argument, to be tried in this order.

    Only folders stand for more than was seen, and `*` for plain names and numbers in plenty.
    """
    found = list(dict.fromkeys(map(text_of, values)))
    if len(found) >= MANY and all(map(_PLAIN.fullmatch, found)):
        return [("*",)]
    plain = sorted(
        {pattern for value in values if _is_place(value) for pattern in _patterns(value)}
    )
    if len(plain) < 2:
        return [exact(values)]
    rest = exact([value for value in values if not _is_place(value)])
    covers = _covers([tuple(path.split("/")) for path in plain])
    return [(*rest, *covers), exact(values)]


def text_of(value: Any) -> str:
    """A scalar as patterns are compared with it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _is_place(value: Any) -> bool:
    return isinstance(value, str) and _ABSOLUTE.match(value) is not None


def _patterns(value: Any) -> Patterns:
    if _is_place(value):
        return (normal(value.replace("\\", "/")),)
    return texts(value)


def _covers(paths: list[tuple[str, ...]]) -> list[str]:
    """Folders that hold all paths; one too near the root is taken apart."""
    if len(paths) == 1:
        return ["/".join(paths[0])]
    common = _common(paths)
    if _is_narrow(common):
        folder = "/".join(common)
        return [folder, f"{folder}/**"] if common in paths else [f"{folder}/**"]
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in paths:
        groups.setdefault(path[: len(common) + 1], []).append(path)
    if len(groups) == 1:  # every path is the common one
        return ["/".join(common)]
    return [pattern for key in sorted(groups) for pattern in _covers(groups[key])]


def _common(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    first, last = min(paths), max(paths)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]


def _is_narrow(folder: tuple[str, ...]) -> bool:
    """Neither the root, nor a folder right below it, nor somebody's whole home."""
    rooted = bool(folder) and (folder[0] in ("", "~") or folder[0].endswith(":"))
    names = folder[1:] if rooted else folder
    if folder[:1] == ("~",):
        return bool(names)
    if not rooted:
        return bool(names) and ".." not in names
    return len(names) >= (3 if names[0] in _HOMES else 2) if names else False


_TEXT = Paths()
_FILE = "the learnt policy"
_MOST_REMARKS = 5
_SHELLS = Rule(action="prompt", tools=SHELL_LIKE)
_Name = tuple[str, ...]


class Learnt(msgspec.Struct, frozen=True):
    """The text of a policy, the calls it must decide as expected, and what could not be learnt."""

    policy: str
    fixtures: tuple[Fixture, ...]
    notes: tuple[str, ...]


class _Lesson(msgspec.Struct, frozen=True):
    """A rule, and what a reader of it should know."""

    rule: Rule
    remarks: tuple[str, ...] = ()


class _Lessons(msgspec.Struct, frozen=True):
    """The rules for one tool, or for all: what is allowed stands above what is asked about."""

    allows: list[_Lesson] = []
    prompts: list[_Lesson] = []

    def all(self) -> list[_Lesson]:
        return [*self.allows, *self.prompts]


def learn(calls: list[Recorded]) -> Learnt:
    """The policy and its fixtures. Raises PolicyError if no policy can let in what was seen."""
    seen = [recorded for recorded in calls if recorded.call.method in EVALUATED]
    good = [recorded for recorded in seen if recorded.let_through]
    if not good:
        raise PolicyError(_FILE, 0, "nothing was allowed in this audit: there is nothing to learn")
    allowed = _distinct(good)
    refused = _distinct([recorded for recorded in seen if not recorded.let_through])
    denied = {key: fixture for key, fixture in refused.items() if key not in allowed}
    guards, left_out = _guards([recorded for recorded in calls if recorded.let_through])
    lessons = _lessons(good).all()
    denials = _denials([*guards, *lessons], list(denied.values()), good)
    policy = _text([*guards, *denials, *lessons], sum(recorded.count for recorded in good))
    made = read_policy(policy, _FILE)
    fixtures = [
        msgspec.structs.replace(fixture, expected=decide(made, fixture).action)
        for fixture in (*allowed.values(), *denied.values())
    ]
    notes = _notes(
        unknown=sum(recorded.count for recorded in seen if recorded.unknown),
        asked=_asked_about(good, made),
        both=len(refused) - len(denied),
        wide=sum(fixture.expected != "deny" for fixture in fixtures[len(allowed) :]),
    )
    return Learnt(policy, tuple(fixtures), (*notes, *left_out))


def fixture_name(fixture: Fixture) -> str:
    """A file name that says what a fixture is about, and is its own."""
    parts = (fixture.expected or "any", fixture.server, fixture.call.tool)
    slug = "-".join(filter(None, (re.sub(r"[^A-Za-z0-9_]+", "-", p).strip("-") for p in parts)))
    return f"{slug[:80]}-{sha256(fixture_json(fixture).encode()).hexdigest()[:8]}.json"


def _distinct(calls: list[Recorded]) -> dict[str, Fixture]:
    """A fixture for each distinct call that is known in full, without an expectation yet."""
    found: dict[str, Fixture] = {}
    for recorded in calls:
        if not recorded.unknown:
            fixture = Fixture("", recorded.call, None, recorded.server)
            found.setdefault(fixture_json(fixture), fixture)
    return found


def _guards(good: list[Recorded]) -> tuple[list[_Lesson], list[str]]:
    """The denies of the default policy, without the patterns that deny what was allowed."""
    guards: list[_Lesson] = []
    notes: list[str] = []
    for rule in read_policy(DEFAULT_POLICY, _FILE).rules:
        if rule.action != "deny":
            continue
        hit = [recorded for recorded in good if _matches(rule, recorded)]
        if not (rule.args or hit):
            guards.append(_Lesson(rule))
            continue
        patterns = [pattern for argument in rule.args for pattern in argument.patterns]
        needed = [p for p in patterns if any(_matches(_with(rule, p), each) for each in hit)]
        remarks = tuple(f"{p} is not denied here: an allowed call needs it" for p in needed)
        notes += [
            f"{p} is not denied as it is by default: an allowed call needs it" for p in needed
        ]
        if kept := [pattern for pattern in patterns if pattern not in needed]:
            guards.append(_Lesson(_with(rule, *kept), remarks))
    return guards, notes


def _lessons(calls: list[Recorded]) -> _Lessons:
    groups: dict[tuple[str, str, str], list[Recorded]] = {}
    for recorded in calls:
        call = recorded.call
        groups.setdefault((recorded.server, call.method, call.tool), []).append(recorded)
    found = _Lessons([], [])
    for key in sorted(groups):
        one = _lessons_of_tool(groups[key])
        found.allows.extend(one.allows)
        found.prompts.extend(one.prompts)
    return found


def _lessons_of_tool(calls: list[Recorded]) -> _Lessons:
    """What is known exactly is allowed; about the rest a person is asked."""
    runs = _runs_programs(calls)
    obstacles = [_obstacle(recorded, runs=runs) for recorded in calls]
    clear = [recorded for recorded, why in zip(calls, obstacles, strict=True) if not why]
    rule = _rule(clear or calls)
    allows = _allows(rule, clear, runs=runs)
    known = Policy(tuple(lesson.rule for lesson in allows))
    left = {
        why or "no pattern fits its arguments": None
        for recorded, why in zip(calls, obstacles, strict=True)
        if recorded.unknown or not _decide(known, recorded).rule
    }
    remarks = tuple(f"Not allowed exactly, so prompted: {why}" for why in left)[:_MOST_REMARKS]
    prompt = msgspec.structs.replace(
        rule, action="prompt", description="Was allowed, but could not be learnt exactly"
    )
    return _Lessons(allows, [_Lesson(prompt, remarks)] if left else [])


def _rule(calls: list[Recorded]) -> Rule:
    """A rule for all calls of the tool that these calls are of."""
    call, server = calls[0].call, calls[0].server
    count = sum(recorded.count for recorded in calls)
    return Rule(
        action="allow",
        tools=(call.tool,) if call.method == "tools/call" else (),
        methods=(call.method,) if call.method != "tools/call" or "/" in call.tool else (),
        server=(server,) if server else (),
        description=f"Learnt from {count} {'call' if count == 1 else 'calls'}",
    )


def _with(rule: Rule, *patterns: str) -> Rule:
    """The rule with these patterns for every argument."""
    return msgspec.structs.replace(rule, args=(Argument(("*",), patterns),))


def _runs_programs(calls: list[Recorded]) -> bool:
    """Whether the tool runs programs, by its name or that of an argument."""
    names = {name for recorded in calls for name in recorded.call.arguments}
    named = any(map(is_shell_like, (calls[0].call.tool, *names)))
    return named or _matches(_SHELLS, calls[0])


def _obstacle(recorded: Recorded, *, runs: bool) -> str:
    """Why no rule can allow this call and no other; empty if one can."""
    if is_wild(recorded.call.tool) or is_wild(recorded.server):
        return "the name of the tool or the server has * or ?"
    if recorded.unknown:
        names = ", ".join(sorted(recorded.unknown - {"*"})) or "its arguments"
        return f"{names} redacted or cut in the audit"
    for name, value in leaves(recorded.call.arguments):
        label = ".".join(name)
        if not all(name) or is_wild(label):
            return f"no rule can name the argument {label!r}"
        if why := why_inexact(value, runs=runs):
            return f"{label} {why}"
    return ""


def _allows(rule: Rule, calls: list[Recorded], *, runs: bool) -> list[_Lesson]:
    """A rule for each set of arguments that calls had; for programs, for each of their calls."""
    shapes: dict[tuple[_Name, ...], list[Recorded]] = {}
    for recorded in calls:
        names = sorted(name for name, _ in leaves(recorded.call.arguments))
        shapes.setdefault(tuple(names), []).append(recorded)
    if runs:
        units = [unit for names, each in shapes.items() for unit in _units(names, each)]
        found = (_lesson(rule, _exact_patterns(unit)) for unit in units)
        return list(dict.fromkeys(found))  # one call may have been decided by several rules
    patterns = {name: _fitting(rule, name, calls) for names in shapes for name in names}
    return [_lesson(rule, {name: patterns[name] for name in names}) for names in shapes]


def _units(names: tuple[_Name, ...], calls: list[Recorded]) -> list[list[Recorded]]:
    """Calls whose values may be mixed: with two arguments, a new pair is a new command."""
    return [calls] if len(names) == 1 else [[recorded] for recorded in calls]


def _exact_patterns(calls: list[Recorded]) -> dict[_Name, Patterns]:
    values = [dict(leaves(recorded.call.arguments)) for recorded in calls]
    return {name: exact([each[name] for each in values]) for name in values[0]}


def _fitting(rule: Rule, name: _Name, calls: list[Recorded]) -> Patterns:
    """The first patterns that fit every value seen; the core itself says whether they fit."""
    values = [(recorded, dict(leaves(recorded.call.arguments))) for recorded in calls]
    having = [(recorded, each[name]) for recorded, each in values if name in each]
    tries = generalise([value for _, value in having])
    for patterns in tries:
        alone = msgspec.structs.replace(rule, args=(Argument(name, patterns),))
        if all(_matches(alone, recorded) for recorded, _ in having):
            return patterns
    return tries[-1]


def _lesson(rule: Rule, patterns: dict[_Name, Patterns]) -> _Lesson:
    """The rule for calls that have these arguments and no others."""
    arguments = tuple(Argument(name, each) for name, each in patterns.items())
    remarks = tuple(
        f"{'.'.join(name)} may be anything: many different names or numbers were seen"
        for name, each in patterns.items()
        if any(map(is_any, each))
    )
    return _Lesson(msgspec.structs.replace(rule, args=arguments, only_args=True), remarks)


def _matches(rule: Rule, recorded: Recorded) -> bool:
    return rule_matches(rule, recorded.call, _servers(recorded), _TEXT)


def _decide(policy: Policy, recorded: Recorded) -> Decision:
    return policy.decide(recorded.call, _servers(recorded), _TEXT)


def _servers(recorded: Recorded) -> tuple[str, ...]:
    return (recorded.server,) if recorded.server else NAMELESS


def _denials(lessons: list[_Lesson], denied: list[Fixture], good: list[Recorded]) -> list[_Lesson]:
    """A rule against each denied call that the others would let in."""
    without = read_policy(_text(lessons, 0), _FILE)
    let_in = [fixture for fixture in denied if decide(without, fixture).action != "deny"]
    rules = [_denial(fixture.call, fixture.server) for fixture in let_in]
    return [_Lesson(rule) for rule in rules if not any(_matches(rule, each) for each in good)]


def _denial(call: Call, server: str) -> Rule:
    args = tuple(
        Argument(name, (text_of(value),))
        for name, value in leaves(call.arguments)
        if value != "" and all(name) and not isinstance(value, dict | list)
    )
    return Rule(
        action="deny",
        tools=(call.tool,) if call.method == "tools/call" else (),
        methods=(call.method,) if call.method != "tools/call" else (),
        server=(server,) if server else (),
        args=args,
        description="Was denied when this policy was learnt",
    )


def _text(lessons: list[_Lesson], count: int) -> str:
    blocks = [
        (
            f"# Learnt from {count} calls that were let through. Read it before you use it:\n"
            "# what was allowed then is allowed from now on, or prompted where no rule can say\n"
            "# it exactly, and all else is denied.\n"
        )
    ]
    for lesson in lessons:
        remarks = "".join(f"# {quoted(remark)[1:-1]}\n" for remark in lesson.remarks)
        blocks.append(remarks + rule_text(lesson.rule))
    last = Rule(action="deny", tools=("*",), description="Default deny")
    return "\n".join([*blocks, rule_text(last)])


def _asked_about(good: list[Recorded], made: Policy) -> int:
    """How many calls that were let through are prompted now; none of them may be denied."""
    asked = 0
    for recorded in good:
        decision = _decide(made, recorded)
        if decision.action == "deny":
            by = f"rule {decision.rule.number}" if decision.rule else "no rule"
            reason = f"would deny a call of {recorded.call.tool!r} that was allowed ({by})"
            raise PolicyError(_FILE, 0, reason)
        asked += recorded.count if decision.action == "prompt" else 0
    return asked


def _notes(unknown: int, asked: int, both: int, wide: int) -> tuple[str, ...]:
    texts = (
        (unknown, "with redacted or cut arguments: left out of the allow rules and the fixtures"),
        (asked, "allowed then and prompted now: no rule can allow exactly that"),
        (both, "denied at one time and allowed at another: not denied"),
        (wide, "denied then and not now: no pattern tells them from the allowed ones"),
    )
    return tuple(f"{n} {'call' if n == 1 else 'calls'} {text}" for n, text in texts if n)
