"""Sample calls made from a rule's own patterns, and whether one rule alone matches a call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, cast

import msgspec

from clawkit.guard.policy.call import EVALUATED, Call
from clawkit.guard.policy.globs import is_any
from clawkit.guard.policy.paths import Paths
from clawkit.guard.policy.policy import Policy
from clawkit.guard.policy.rules import Argument, Rule

PLACE = Paths(cwd="/qvz-cwd", home="/qvz-home")
"""A proxy always has a directory and a home; these are like no other."""

_MOST = 400
_WILD = re.compile(r"\*+|\?")


class _Filler(msgspec.Struct, frozen=True):
    """What stands for wildcards: unlike anything that another rule would name."""

    name: str
    path: str
    letter: str


_FILLERS = (_Filler("qvz1", "qvz1/wkx2", "q"), _Filler("Zy-9", "Zy-9", "Z"))


class SampleCall(msgspec.Struct, frozen=True):
    """A call that a rule should match, and the patterns that it was made from."""

    call: Call
    servers: tuple[str, ...]
    patterns: tuple[str, ...]
    aside: bool = False
    """The rule matches this too, but was hardly written for it."""


def sample(pattern: str) -> str:
    """A text that a pattern matches."""
    return _fill(pattern, _FILLERS[0])


def sample_calls(rule: Rule) -> list[SampleCall]:
    """Calls that a rule should match: each of its patterns occurs in some of them."""
    found: list[SampleCall] = []
    for filler in _FILLERS:
        servers = [_fill(pattern, filler) for pattern in rule.server] or [filler.name]
        turns = max((len(argument.patterns) for argument in rule.args), default=1)
        for turn, server in product(range(turns), servers):
            arguments, patterns = _arguments(rule.args, turn, filler)
            for call, pattern, aside in _calls(rule, arguments, filler):
                found.append(SampleCall(call, (server,), (*pattern, *patterns), aside))
                if len(found) >= _MOST:
                    return found
    return found


def _arguments(
    args: tuple[Argument, ...], turn: int, filler: _Filler
) -> tuple[dict[str, Any], tuple[str, ...]]:
    arguments: dict[str, Any] = {}
    patterns: list[str] = []
    for argument in args:
        pattern = argument.patterns[turn % len(argument.patterns)]
        patterns.append(pattern)
        place = arguments
        *above, last = (_fill(part, filler) for part in argument.name)
        for part in above:
            inner = place.setdefault(part, {})
            place = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        place[last] = _fill(pattern, filler)
    return arguments, tuple(patterns)


def _calls(
    rule: Rule, arguments: dict[str, Any], filler: _Filler
) -> Iterator[tuple[Call, tuple[str, ...], bool]]:
    for pattern in rule.resources:
        uri = _fill(pattern, filler)
        yield Call("resources/read", "resources/read", {**arguments, "uri": uri}), (pattern,), False
    for pattern in rule.prompts:
        name = _fill(pattern, filler)
        yield Call("prompts/get", "prompts/get", {**arguments, "name": name}), (pattern,), False
    for method in rule.methods:
        name = _fill(method, filler)
        if name != "tools/call":
            yield Call(name, name, arguments), (method,), False
        elif not rule.tools:
            yield Call(name, filler.name, arguments), (method,), False
    for pattern in rule.tools:
        yield from _tool_calls(pattern, rule.methods, arguments, filler)


def _tool_calls(
    pattern: str, methods: tuple[str, ...], arguments: dict[str, Any], filler: _Filler
) -> Iterator[tuple[Call, tuple[str, ...], bool]]:
    name = _fill(pattern, filler)
    others = sorted(EVALUATED - {"tools/call"})
    if pattern in others:
        yield Call(pattern, pattern, arguments), (pattern,), False
        return
    yield Call("tools/call", name, arguments), (pattern,), False
    if is_any(pattern) and not methods:
        for method in others:
            yield Call(method, method, arguments), (pattern,), True
    elif "/" in pattern:
        yield Call(name, name, arguments), (pattern,), True


def _fill(pattern: str, filler: _Filler) -> str:
    if is_any(pattern):
        return filler.name

    def stand_in(wild: re.Match[str]) -> str:
        if wild[0] == "?":
            return filler.letter
        if wild[0] == "*":
            return filler.name
        leading = wild.start() == 0 and pattern[wild.end() : wild.end() + 1] == "/"
        return f"/{filler.path}" if leading else filler.path

    return _WILD.sub(stand_in, pattern)


def rule_matches(rule: Rule, call: Call, servers: tuple[str, ...], paths: Paths) -> bool:
    """Whether this rule would decide about a call if it were the only one."""
    return _alone(rule).decide(call, servers, paths).rule is not None


@lru_cache(maxsize=4096)
def _alone(rule: Rule) -> Policy:
    return Policy((rule,))
