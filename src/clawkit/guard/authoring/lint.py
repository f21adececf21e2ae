"""Finds what is wrong with a policy, or probably not what its author meant."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from clawkit.errors import PolicyError
from clawkit.guard.authoring.explain import expiry, listed
from clawkit.guard.authoring.fixtures import NAMELESS, NO_POLICY, read_text
from clawkit.guard.authoring.sample_calls import (
    PLACE,
    SampleCall,
    rule_matches,
    sample,
    sample_calls,
)
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.globs import is_any
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.policy import Policy
from clawkit.guard.policy.rules import Argument, Rule

Level = Literal["error", "warning", "note"]
Remark = tuple[Level, str]

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SHELL_WORDS = frozenset(
    {
        *("bash", "cmd", "command", "commands", "eval", "exec", "execute", "powershell", "pwsh"),
        *("python", "run", "script", "sh", "shell", "spawn", "subprocess", "system", "terminal"),
        *("zsh",),
    }
)
_CLASS = re.compile(r"\[[^\]/]+\]|\{[^}/]*,[^}/]*\}")
_PIPE = re.compile(r"\(.*\|.*\)")
_EXPRESSION = re.compile(r"^\^|\$$|\\[dwsSWD.]|\.\+|^\.\*|\.\*\.\*")
_OPEN_HOST = re.compile(r"([a-z][a-z0-9+.-]*://[^/*?]*[^/*?:.@])\*")
_RELATIVE = re.compile(r"(?![/~*?]|[A-Za-z][A-Za-z0-9+.-]*:)[^*?]*/")


def _warning(text: str) -> Remark:
    return "warning", text


def _note(text: str) -> Remark:
    return "note", text


def is_shell_like(tool: str) -> bool:
    """Whether a tool's name or pattern says that it runs what it is told to."""
    return any(word.lower() in _SHELL_WORDS for word in _WORDS.findall(tool))


def check_patterns(rule: Rule) -> Iterator[Remark]:
    """What each pattern of a rule misses or lets in."""
    for tool in rule.tools:
        yield from _foreign_syntax(tool)
        if tool.startswith("mcp__"):
            yield _warning(
                f"names the tool {tool!r}, but servers are asked without the client's prefix: "
                f"write {tool.split('__')[-1]!r}, and server = … for the rest"
            )
    for argument in rule.args:
        for pattern in argument.patterns:
            yield from _foreign_syntax(pattern)
            yield from _one_level(rule, pattern)
            yield from _relative(rule, argument, pattern)
            yield from _open_host(rule, pattern)
            yield from _home(argument, pattern)
            yield from _open_command(rule, argument, pattern)


def _foreign_syntax(pattern: str) -> Iterator[Remark]:
    known = "patterns know only `*`, `**` and `?`; a list of patterns says `or`"
    if _CLASS.search(pattern) or _PIPE.search(pattern):
        yield _warning(f"has {pattern!r}, where brackets and braces stand for themselves: {known}")
    elif _EXPRESSION.search(pattern):
        yield _warning(f"has {pattern!r}, which looks like a regular expression: {known}")


def _one_level(rule: Rule, pattern: str) -> Iterator[Remark]:
    if rule.action == "allow" or "/" not in pattern:
        return
    folder = pattern.rstrip("*").rstrip("/")
    if not folder:
        return
    named = {each for argument in rule.args for each in argument.patterns}
    if pattern == f"{folder}/*" and folder not in named:  # with both, levels are meant
        yield _warning(
            f"has {pattern!r}, which matches nothing in subfolders: {folder + '/**'!r} does"
        )
    elif pattern == f"{folder}/":
        yield _warning(
            f"has {pattern!r}, the folder alone: {folder + '/**'!r} is all that is in it"
        )


def _relative(rule: Rule, argument: Argument, pattern: str) -> Iterator[Remark]:
    if _RELATIVE.match(pattern):
        anywhere = "" if rule.action == "allow" else f", or {'**/' + pattern.removeprefix('./')!r}"
        yield _note(
            f"has {pattern!r} in {argument.label}, which begins in the server's directory, "
            f"wherever the client starts it: write the whole path{anywhere}"
        )


def _open_host(rule: Rule, pattern: str) -> Iterator[Remark]:
    if rule.action == "allow" and (found := _OPEN_HOST.match(pattern)):
        yield _warning(
            f"allows {pattern!r}, where the star also matches {found[1] + '.evil.example'!r}: "
            f"write {found[1] + '/**'!r}"
        )


def _home(argument: Argument, pattern: str) -> Iterator[Remark]:
    if pattern.startswith("~"):
        yield _note(
            f"has {pattern!r} in {argument.label}, which matches only where the home is known: "
            'not in `claw policy test`, unless the fixture says "home"'
        )


def _open_command(rule: Rule, argument: Argument, pattern: str) -> Iterator[Remark]:
    if rule.action != "allow" or pattern.strip("*") == "" or "*" not in pattern:
        return
    if argument.name[-1].lower() in _SHELL_WORDS:
        yield _warning(
            f"allows {pattern!r} in {argument.label}, where a star also matches `; anything`: "
            "name whole commands, or prompt"
        )


class Issue(msgspec.Struct, frozen=True):
    """One remark. `line` is 0 where it is about the whole file, `rule` where about no rule."""

    level: Level
    line: int
    rule: int
    reason: str


def lint_file(path: Path, missing: str = NO_POLICY) -> list[Issue]:
    """All remarks about a policy file, in the order of its lines."""
    try:
        text = read_text(path, missing)
    except PolicyError as error:
        return [Issue("error", error.line, 0, error.reason)]
    return [*_open_to_others(path), *lint(text, str(path))]


def lint(text: str, file: str) -> list[Issue]:
    """All remarks about a policy's text."""
    try:
        policy = read_policy(text, file)
    except PolicyError as error:
        return [Issue("error", error.line, 0, error.reason)]
    now = time.time()
    found = [*_ending(policy), *_missing_defaults(policy)]
    for rule in policy.rules:
        if rule.expired(now):
            found.append(_issue("warning", rule, f"expired at {expiry(rule)} and does nothing"))
            continue
        found.extend(_reach(policy, rule))
        for check in _CHECKS:
            found.extend(_issue(level, rule, reason) for level, reason in check(rule))
    return sorted(found, key=lambda issue: issue.line or 1 << 30)


def _issue(level: Level, rule: Rule, reason: str) -> Issue:
    return Issue(level, rule.line, rule.number, f"rule {rule.number} {reason}")


def _open_to_others(path: Path) -> Iterator[Issue]:
    if os.name == "posix" and path.stat().st_mode & 0o022:
        reason = f"other users may write to this file: chmod go-w {path}"
        yield Issue("warning", 0, 0, reason)


def _ending(policy: Policy) -> Iterator[Issue]:
    if not policy.rules:
        yield Issue("warning", 0, 0, "has no [[rule]], so every call is denied")
        return
    last = policy.rules[-1]
    general = any(map(is_any, last.tools)) and not (last.args or last.server or last.methods)
    if not general:
        reason = 'no rule for tool = "*" stands at the end: what no rule matches is denied'
        yield Issue("note", 0, 0, reason)


def _missing_defaults(policy: Policy) -> Iterator[Issue]:
    found = undenied_defaults(policy)
    if found and policy.rules:
        reason = f"{found}: `claw policy init --print` shows its rules, to copy from"
        yield Issue("note", 0, 0, reason)


def undenied_defaults(policy: Policy) -> str:
    """What the policy of `policy init` denies by now and this one does not, in words."""
    found = tuple(
        pattern
        for rule, argument, pattern in _default_denials()
        if not _denies(policy, rule, argument.name, pattern)
    )
    if not found:
        return ""
    return (
        f"does not deny {len(found)} of the places that the default policy denies, such as "
        f"{listed(found[:3])}"
    )


def rules_before_denials(policy: Policy) -> tuple[Rule, ...]:
    """Those that let a tool have a place that the default policy denies."""
    return tuple(
        rule
        for rule in policy.rules
        if rule.action == "allow"
        and any(_lets(policy, rule, denying, place) for denying, _, place in _default_denials())
    )


def _default_denials() -> Iterator[tuple[Rule, Argument, str]]:
    from clawkit.guard.authoring.default_policy import DEFAULT_POLICY

    for rule in read_policy(DEFAULT_POLICY, "the default policy").rules:
        if rule.action == "deny":
            for argument in rule.args:
                yield from ((rule, argument, pattern) for pattern in argument.patterns)


def _denies(policy: Policy, rule: Rule, argument: tuple[str, ...], pattern: str) -> bool:
    name = sample("?" if argument == ("*",) else argument[0])
    call = Call("tools/call", sample(rule.tools[0]), {name: sample(pattern)})
    return policy.decide(call, NAMELESS, PLACE).action == "deny"


def _lets(policy: Policy, allowing: Rule, denying: Rule, pattern: str) -> bool:
    """Whether a call that one rule allows passes with a place that another one would deny."""
    name, above = "path", ""
    for argument in allowing.args:
        name = sample(argument.name[0])
        above = next((each[:-2] for each in argument.patterns if each.endswith("**")), "")
    place = above + sample(pattern).lstrip("/") if above else sample(pattern)
    servers = tuple(map(sample, allowing.server)) or NAMELESS
    return any(
        rule_matches(denying, call, servers, PLACE)
        and policy.decide(call, servers, PLACE).action == "allow"
        for call in (Call("tools/call", sample(tool), {name: place}) for tool in allowing.tools)
    )


def _reach(policy: Policy, rule: Rule) -> Iterator[Issue]:
    """Whether the rule ever decides, found out with calls made from its own patterns."""
    tried = [
        each for each in sample_calls(rule) if rule_matches(rule, each.call, each.servers, PLACE)
    ]
    if not tried:
        yield _issue("warning", rule, "can never match: its patterns exclude each other")
        return
    deciding = [_deciding_rule(policy, sample_call) for sample_call in tried]
    main = [at for at, sample_call in enumerate(tried) if not sample_call.aside] or range(
        len(tried)
    )
    if all(deciding[at] != rule.number for at in main):
        by = _rules({deciding[at] for at in main})
        kept = zip(tried, deciding, strict=True)
        rest = sorted({each.call.method for each, decided in kept if decided == rule.number})
        only = f"; it only decides about {', '.join(rest)}" if rest else ""
        yield _issue("warning", rule, f"can never decide: {by} before it matches the same{only}")
        return
    taken = [(tried[at], deciding[at]) for at in main]
    for pattern in dict.fromkeys(each for sample_call, _ in taken for each in sample_call.patterns):
        by = {decided for sample_call, decided in taken if pattern in sample_call.patterns}
        if rule.number not in by:
            reason = f"names {pattern!r} in vain: {_rules(by)} before it matches the same"
            yield _issue("note", rule, reason)


def _deciding_rule(policy: Policy, sample_call: SampleCall) -> int:
    decided = policy.decide(sample_call.call, sample_call.servers, PLACE).rule
    return decided.number if decided else 0


def _rules(numbers: set[int]) -> str:
    texts = [str(number) for number in sorted(numbers)]
    return f"rule {texts[0]}" if len(texts) == 1 else f"rules {', '.join(texts)}"


def _one_argument(rule: Rule) -> Iterator[Remark]:
    if rule.action == "allow":
        return
    for argument in rule.args:
        if not any("*" in part for part in argument.name):
            verb = "denies" if rule.action == "deny" else "asks about"
            yield _note(
                f"{verb} this value in {argument.label} only: "
                'args."*" also finds it under another argument\'s name'
            )


def _open_allow(rule: Rule) -> Iterator[Remark]:
    if rule.action != "allow" or rule.args:
        return
    if any(map(is_any, rule.tools)):
        server = f" of {', '.join(rule.server)}" if rule.server else ""
        yield _warning(f"allows every call{server} that no rule before it stops")
        return
    for tool in rule.tools:
        if is_shell_like(tool):
            yield _warning(
                f"allows {tool!r}, which looks like a shell, with any arguments: "
                "limit them with args, or prompt"
            )


def _other_arguments(rule: Rule) -> Iterator[Remark]:
    every = any(is_any(argument.name[0]) for argument in rule.args)
    if rule.action == "allow" and rule.args and rule.only_args is None and not every:
        yield _warning(
            "allows these arguments beside any others: only_args = true allows no others, "
            "only_args = false says that you mean it"
        )


def _idle_fields(rule: Rule) -> Iterator[Remark]:
    if rule.action == "deny" and rule.redact:
        yield _warning("has redact, but a denied call has no result")
    if not rule.description and rule.action == "deny":
        yield _note("has no description, so the model is not told why it was denied")


_CHECKS: tuple[Callable[[Rule], Iterator[Remark]], ...] = (
    _one_argument,
    _open_allow,
    _other_arguments,
    _idle_fields,
    check_patterns,
)
