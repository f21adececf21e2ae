"""Parses the TOML text of a policy file into a policy, or says which line is wrong and why."""

from __future__ import annotations

import re
import time
from hashlib import sha256
from typing import Any, cast

from msgspec.structs import replace

from clawkit.errors import PolicyError
from clawkit.guard.policy import value_checks as checks
from clawkit.guard.policy.policy import Policy
from clawkit.guard.policy.rules import (
    Action,
    Argument,
    AuditOptions,
    EnvOptions,
    Injection,
    Place,
    PolicyLimits,
    Rule,
)
from clawkit.guard.policy.urls import PUBLIC
from clawkit.guard.policy.value_checks import TomlLines, ValuePosition
from clawkit.guard.scan.sanitizer import ScanOptions

_SECTIONS = ("rule", "scan", "env", "limits", "audit", "profile")
_FIELDS = (
    *("action", "tool", "args", "except", "only_args", "confined", "server", "description"),
    *("method", "resource", "prompt"),
    *("rate", "redact", "expires", "injection", "each_call"),
)
_PLACE_FIELDS = ("profile", "server", "description")
_EXEMPT = re.compile(r"\*\*/(?:[^/*?]|\*(?!\*))+")
DENIED = "{denied}"
"""In a profile: what the policy denies in every argument."""
_AT = re.compile(r" \(at line (\d+), column \d+\)$")
_SCAN = {
    "hidden": ("strip", "block", "off"),
    "secrets": ("redact", "block", "off"),
    "injection": ("flag", "block", "off"),
}


def read_policy(text: str, file: str, profile: tuple[Rule, ...] = ()) -> Policy:
    """The policy that a file's text says. Raises PolicyError with the line and the reason.

    The rules of a server's `profile` stand where the file has a place for them.
    """
    document = _parse(text.removeprefix("\ufeff"), file)
    place = ValuePosition(file, TomlLines(text.removeprefix("\ufeff")))
    checks.known(document, _SECTIONS, place, "the policy")
    _take_places(document)
    return Policy(
        _rules(document.get("rule", []), place, profile),
        digest=sha256(text.encode()).hexdigest(),
        scan=_scan(document.get("scan", {}), place / "scan"),
        env=_env(document.get("env", {}), place / "env"),
        limits=_limits(document.get("limits", {}), place / "limits"),
        audit=_audit(document.get("audit", {}), place / "audit"),
        places={
            number: rule["profile"]
            for number, rule in enumerate(document.get("rule", []), 1)
            if "profile" in rule
        },
    )


def decoded_policy(content: bytes, file: str) -> str:
    """The text of a file. Raises PolicyError with the line that is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PolicyError(file, line, "not UTF-8; save the file as UTF-8") from None


def _parse(text: str, file: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
        at = _AT.search(reason)
        line = int(at[1]) if at else text.count("\n") + 1
        raise PolicyError(file, line, f"not TOML: {_AT.sub('', reason)}") from None
    except RecursionError:
        raise PolicyError(file, 0, "not TOML: nested too deeply") from None


def read_profile(text: str, file: str) -> tuple[dict[str, str], tuple[Rule, ...]]:
    """What a profile says of itself, and its rules, which know where in a policy they stand."""
    document = _parse(text, file)
    places = _take_places(document)
    rules = _rules(document["rule"], ValuePosition(file, TomlLines(text)), ())
    about: dict[str, str] = document["profile"]
    return about, tuple(
        replace(rule, profile=about["name"], place=place)
        for rule, place in zip(rules, places, strict=True)
    )


def has_place(text: str) -> bool:
    """Whether a policy has a place for the rules of profiles."""
    import tomllib

    rules = cast("list[dict[str, Any]]", tomllib.loads(text).get("rule", []))
    return any("profile" in rule for rule in rules)


def _take_places(document: dict[str, Any]) -> list[Place]:
    """Where each rule of a profile stands; a rule of a policy stands where it is written."""
    if "profile" not in document:
        return []
    tables = cast("list[dict[str, Any]]", document.get("rule", []))
    return [cast("Place", table.pop("place", "after")) for table in tables]


def _rules(value: Any, place: ValuePosition, profile: tuple[Rule, ...]) -> tuple[Rule, ...]:
    if not isinstance(value, list):
        raise (place / "rule").wrong(
            "rules are written as [[rule]], with two brackets on each side"
        )
    found: list[Rule] = []
    for number, each in enumerate(cast("list[Any]", value), 1):
        spot = ValuePosition(place.file, place.lines, ("rule",), number)
        if spot.line == 0:  # Written as `rule = [{…}]`: there is one line for all of them.
            spot = ValuePosition(place.file, place.lines, ("rule",))
        table = checks.table(each, spot)
        if "profile" in table:
            found.extend(_of_profile(table, number, spot, profile))
        else:
            found.append(_rule(table, number, spot))
    denied = tuple(
        pattern
        for rule in found
        if rule.action == "deny" and not rule.profile
        for argument in rule.args
        if argument.name == ("*",)
        for pattern in argument.patterns
    )
    return tuple(_with_denied(rule, denied) for rule in found)


def _of_profile(
    table: dict[str, Any], number: int, place: ValuePosition, profile: tuple[Rule, ...]
) -> list[Rule]:
    """The rules of the server's profile that belong here; what they are called by is this place."""
    checks.known(table, _PLACE_FIELDS, place, "a rule with profile")
    which = checks.choice(table["profile"], ("before", "after"), place / "profile")
    server = _patterns(table, "server", place)
    return [
        replace(rule, number=number, line=place.line, server=server)
        for rule in profile
        if rule.place == which
    ]


def _with_denied(rule: Rule, denied: tuple[str, ...]) -> Rule:
    """A profile's rule with what this policy denies in every argument in place of `{denied}`."""
    if not rule.profile or not denied:
        return rule
    args = tuple(
        replace(each, patterns=denied) if each.patterns == (DENIED,) else each for each in rule.args
    )
    return replace(rule, args=args)


def _rule(table: dict[str, Any], number: int, place: ValuePosition) -> Rule:
    checks.known(table, _FIELDS, place, "a rule")
    if "action" not in table:
        raise place.wrong('a rule needs an action: "allow", "deny" or "prompt"')
    action = cast(
        "Action", checks.choice(table["action"], ("allow", "deny", "prompt"), place / "action")
    )
    _check_together(table, action, place)
    choices = ("block", "remove", "flag")
    only_args, also_args = _only_args(table.get("only_args"), place / "only_args")
    return Rule(
        number=number,
        line=place.line,
        action=action,
        tools=_patterns(table, "tool", place),
        args=_arguments(table["args"], place / "args") if "args" in table else (),
        exempt=_exemptions(table, place),
        only_args=only_args,
        also_args=also_args,
        confined=_flag(table.get("confined", False), place / "confined"),
        server=_patterns(table, "server", place),
        methods=_patterns(table, "method", place),
        resources=_patterns(table, "resource", place),
        prompts=_patterns(table, "prompt", place),
        description=checks.text(table.get("description", ""), place / "description"),
        rate=checks.rate(table["rate"], place / "rate") if "rate" in table else None,
        redact=checks.expressions(table["redact"], place / "redact") if "redact" in table else (),
        expires=_moment(table["expires"], place / "expires") if "expires" in table else None,
        injection=cast(
            "Injection",
            checks.choice(table.get("injection", "block"), choices, place / "injection"),
        ),
        each_call=_flag(table.get("each_call", False), place / "each_call"),
    )


def _only_args(value: Any, place: ValuePosition) -> tuple[bool | None, tuple[str, ...]]:
    """`true`: no argument but those in `args`; a list: and these, whatever their values."""
    if value is None:
        return None, ()
    if isinstance(value, list):
        return True, checks.strings(cast("list[Any]", value), place)
    return _flag(value, place), ()


def _exemptions(table: dict[str, Any], place: ValuePosition) -> tuple[str, ...]:
    patterns = _patterns(table, "except", place)
    for pattern in patterns:
        if not _EXEMPT.fullmatch(pattern):
            raise (place / "except").wrong(
                f'except = {checks.shown(pattern)} must be names of files, such as "**/*.pub"'
            )
    return patterns


def _check_together(table: dict[str, Any], action: Action, place: ValuePosition) -> None:
    """What a rule must have, and what would never take effect in it."""
    if not any(key in table for key in ("tool", "method", "resource", "prompt")):
        raise place.wrong('a rule needs a tool; "*" is every tool')
    if "resource" in table and "prompt" in table:
        raise (place / "prompt").wrong("no call is about a resource and a prompt; write two rules")
    if action == "deny" and "rate" in table:
        raise (place / "rate").wrong("a rule that denies lets nothing through, so it has no rate")
    if action != "allow" and "only_args" in table:
        raise (place / "only_args").wrong(
            "only_args is for rules that allow: one more argument would get around this rule"
        )
    if "confined" in table and (action != "allow" or not table.get("only_args")):
        raise (place / "confined").wrong("confined is for rules that allow, and have only_args")
    if action == "allow" and "except" in table:
        raise (place / "except").wrong("except is for rules that deny or ask")
    if action != "prompt" and "each_call" in table:
        raise (place / "each_call").wrong("each_call is for rules that ask")
    if action != "allow" and PUBLIC in str(table.get("args", "")):
        raise (place / "args").wrong(
            f"{PUBLIC} is for rules that allow: what is local has too many names to deny them all"
        )


def _flag(value: Any, place: ValuePosition) -> bool:
    if not isinstance(value, bool):
        raise place.wrong(f"{place.name} = {checks.shown(value)} must be true or false")
    return value


def _patterns(table: dict[str, Any], key: str, place: ValuePosition) -> tuple[str, ...]:
    return checks.strings(table[key], place / key) if key in table else ()


def _arguments(value: Any, place: ValuePosition) -> tuple[Argument, ...]:
    if not isinstance(value, dict):
        raise place.wrong(f'args = {checks.shown(value)} must name an argument: args.path = "…"')
    found: list[Argument] = []
    for key, each in cast("dict[str, Any]", value).items():
        found.extend(_argument((key,), each, place / key))
    if not found:
        raise place.wrong(f"{place.name} is empty; name an argument, or leave it out")
    return tuple(found)


def _argument(name: tuple[str, ...], value: Any, place: ValuePosition) -> list[Argument]:
    if not name[-1]:
        raise place.wrong('an argument has an empty name; "*" is every argument')
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value)
        if not inner:
            raise place.wrong(f"{place.name} is empty; give a pattern")
        return [
            argument
            for key, each in inner.items()
            for argument in _argument((*name, key), each, place / key)
        ]
    given = cast("list[Any]", value) if isinstance(value, list) else [value]
    texts = [text for each in given for text in _as_texts(each)]
    return [Argument(name, checks.strings(texts, place))]


def _as_texts(value: Any) -> tuple[Any, ...]:
    """Numbers and booleans are compared as the text that they are in JSON."""
    if isinstance(value, (bool, int, float)):
        from clawkit.guard.policy.readings import texts

        return texts(value)
    return (value,)


def _moment(value: Any, place: ValuePosition) -> float:
    """The end of a day, or a time of day: of this machine's zone unless it names its own."""
    from datetime import date, datetime, timedelta

    if not isinstance(value, date):
        shown = checks.shown(value)
        raise place.wrong(f"expires = {shown} must be a date such as 2030-01-31, without quotes")
    try:
        if isinstance(value, datetime):
            return value.timestamp()
        return time.mktime((value + timedelta(days=1)).timetuple())
    except (OverflowError, ValueError, OSError):  # Beyond what this machine's clock can say.
        return float("inf") if value.year > 2000 else 0.0


def _scan(value: Any, place: ValuePosition) -> ScanOptions:
    table = checks.table(value, place)
    checks.known(table, _SCAN, place, "[scan]")
    chosen = {key: checks.choice(each, _SCAN[key], place / key) for key, each in table.items()}
    return ScanOptions(**cast("dict[str, Any]", chosen))


def _env(value: Any, place: ValuePosition) -> EnvOptions:
    """`allow` is for all servers, a table for the server of its name."""
    table = checks.table(value, place)
    everywhere = _variables(table["allow"], place / "allow") if "allow" in table else None
    servers: list[tuple[str, tuple[str, ...]]] = []
    for name, each in table.items():
        if name == "allow":
            continue
        spot = place / name
        if not isinstance(each, dict):
            raise spot.wrong(
                f'unknown key "{name}" in [env]; known are allow, and tables [env.<server>]'
            )
        inner = cast("dict[str, Any]", each)
        checks.known(inner, ("allow",), spot, f"[env.{name}]")
        if "allow" not in inner:
            raise spot.wrong(f"[env.{name}] needs allow, a list of names of variables")
        servers.append((name, _variables(inner["allow"], spot / "allow")))
    return EnvOptions(everywhere, tuple(servers))


def _variables(value: Any, place: ValuePosition) -> tuple[str, ...]:
    """Unlike patterns an empty list makes sense: no variable at all."""
    return () if value == [] else checks.strings(value, place)


def _limits(value: Any, place: ValuePosition) -> PolicyLimits:
    table = checks.table(value, place)
    reads = {
        "message": checks.size,
        "depth": checks.count,
        "prompts": checks.count,
        "prompts_per_minute": checks.count,
        "prompt_timeout": checks.seconds,
        "path_timeout": checks.seconds,
    }
    checks.known(table, reads, place, "[limits]")
    found = {key: reads[key](each, place / key) for key, each in table.items()}
    return PolicyLimits(**cast("dict[str, Any]", found))


def _audit(value: Any, place: ValuePosition) -> AuditOptions:
    table = checks.table(value, place)
    reads = {"max": checks.size, "keep": checks.count}
    checks.known(table, reads, place, "[audit]")
    return AuditOptions(**{key: reads[key](each, place / key) for key, each in table.items()})
