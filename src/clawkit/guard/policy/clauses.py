"""One condition of a rule held against a call, and put into words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.canonical import Reader
from clawkit.guard.policy.fixtures import NAMELESS
from clawkit.guard.policy.globs import is_any, is_wild
from clawkit.guard.policy.leaves import is_read_differently, texts
from clawkit.guard.policy.paths import Paths
from clawkit.guard.policy.patterns import allowed, denied_globs, kind_of
from clawkit.guard.policy.permitting import has_other_spelling
from clawkit.guard.policy.probe import matches
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
    label, need = argument.label, _need(argument)
    probe = Rule(number=1, line=0, action=rule.action, tools=("*",), args=(argument,))
    made = Call("tools/call", "any", call.arguments, call.outside)
    if not matches(probe, made, NAMELESS, paths):
        return Clause(label, False, _why_not(rule, argument, call, paths), need)
    for pattern in argument.patterns:
        single = msgspec.structs.replace(probe, args=(Argument(argument.name, (pattern,)),))
        if matches(single, made, NAMELESS, paths):
            words = _fits if rule.action == "allow" else _found
            return Clause(label, True, words(single, pattern, made, paths), need)
    return Clause(label, True, f"{label} fits {listed(argument.patterns)}", need)


def expiry(rule: Rule) -> str:
    """When a rule expires or has expired, as the clock on the wall shows it."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(rule.expires))
    except (OverflowError, ValueError, OSError):  # beyond what this machine's clock can say
        return "a day far away"


def listed(patterns: tuple[str, ...]) -> str:
    """A few patterns for a reader."""
    shown = ", ".join(repr(pattern) for pattern in patterns[:_MOST_SHOWN])
    more = len(patterns) - _MOST_SHOWN
    return f"{shown} (and {more} more)" if more > 0 else shown


def _need(argument: Argument) -> str:
    place = "under" if all(p.endswith("/**") for p in argument.patterns) else "like"
    return f"{argument.label} {place} {listed(argument.patterns)}"


def _found(single: Rule, pattern: str, call: Call, paths: Paths) -> str:
    """Which value a rule that denies or asks has found, and how it has read it."""
    for leaf in _leaves(call.arguments):
        if matches(single, Call(call.method, call.tool, leaf.alone), NAMELESS, paths):
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
        return f"{which} {_is_any_of(argument.patterns)}"
    value = _named(call.arguments, argument.name)
    if value is None and not _has(call.arguments, argument.name):
        return f"the call has no argument {'.'.join(argument.name)!r}"
    said = f"{argument.label} {_shown(value)}"
    if rule.action != "allow":
        return f"{said} {_is_none_of(argument.patterns)}"
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
            return f", read as {_shown(_unmarked(other[0]))}, {_is_none_of(patterns)}"
    return f" {_is_none_of(patterns)}"


def _allowed_readings(value: Any, pattern: str, paths: Paths) -> list[str] | None:
    reader = Reader(paths)
    kind = kind_of(pattern)
    if kind == "any":
        return list(texts(value))
    ways = {
        "path": reader.allowed_paths,
        "url": reader.allowed_urls,
        "text": reader.allowed_texts,
    }
    found: list[str] = []
    for text in texts(value):
        readings = ways[kind](text)
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


def _is_any_of(patterns: tuple[str, ...]) -> str:
    return _is(patterns[0], True) if len(patterns) == 1 else f"matches any of {listed(patterns)}"


def _is_none_of(patterns: tuple[str, ...]) -> str:
    return _is(patterns[0], False) if len(patterns) == 1 else f"matches none of {listed(patterns)}"


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


def _leaves(arguments: dict[str, Any]) -> Iterator[_Leaf]:
    found = iter(_parts(arguments, ""))
    for _ in range(_MOST_LEAVES):
        leaf = next(found, None)
        if leaf is None:
            return
        yield leaf


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
