"""Reads recorded calls from the audit log, and shows what another policy would change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from clawkit.errors import UNREADABLE_JSON, AuditError
from clawkit.guard.authoring.fixtures import NAMELESS
from clawkit.guard.authoring.sample_calls import rule_matches
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.globs import is_any
from clawkit.guard.policy.policy import Decision, Paths, Policy
from clawkit.guard.policy.rules import Argument, Rule

# What `redact_arguments` and the log leave in place of what they do not keep.
_MARK = re.compile(
    r"\[redacted(: [a-z0-9-]+)?\]|…\(\d+ (more )?(characters|members|items)\b"
    r"|^…$|^-?[0-9a-f]{16,}…$"
)
_SAID_NO = ("", "a person said no")
_encode = msgspec.json.Encoder(order="sorted").encode


class Recorded(msgspec.Struct, frozen=True):
    """Calls that are alike in all that is recorded, and how many of them there were."""

    call: Call
    server: str
    decision: str
    rule: int
    reason: str
    answer: str = ""
    """What came of a `prompt`: allow, deny, or nothing."""
    count: int = 0
    unanswered: str = ""
    """Why it was denied, where no person said so."""

    @property
    def let_through(self) -> bool:
        return self.outcome == "allow"

    @property
    def outcome(self) -> str:
        """What became of the call: a prompt counts as what a person said to it."""
        return "allow" if self.decision == "pass" else self.answer or self.decision

    @property
    def unknown(self) -> frozenset[str]:
        """The arguments that are redacted or cut in the audit."""
        return unknown_arguments(self.call.arguments)


def recorded_calls(audit: Path) -> list[Recorded]:
    """Every call in an audit directory or file, in the order in which they were first seen."""
    alike: dict[bytes, Recorded] = {}
    waiting: dict[str, Recorded] = {}
    seen = 0

    def count(recorded: Recorded, number: int) -> None:
        known = alike.setdefault(_encode(recorded), recorded)
        alike[_encode(recorded)] = replace(known, count=known.count + number)

    for entry in _entries(audit):
        seen += 1
        if entry.get("kind") == "call":
            call = _recorded(entry)
            count(call, 1)
            if call.decision == "prompt":
                waiting[entry.get("id", "")] = call
        elif entry.get("kind") == "approval" and (call := waiting.pop(entry.get("of", ""), None)):
            count(call, -1)
            answer, unanswered = entry.get("decision", ""), _unanswered(entry)
            count(replace(call, answer=answer, unanswered=unanswered), 1)
    if not seen:
        raise AuditError(f"there are no audit records in {audit}")
    return [recorded for recorded in alike.values() if recorded.count]


def _unanswered(approval: dict[str, Any]) -> str:
    """Why a question was denied that no person answered, without what to do about it."""
    if approval.get("decision") != "deny" or approval.get("reason", "") in _SAID_NO:
        return ""
    return str(approval["reason"]).partition(";")[0]


def unknown_arguments(arguments: dict[str, Any]) -> frozenset[str]:
    """The names of the arguments whose values the audit does not have in full."""
    if arguments.keys() == {"dropped"} or "…" in arguments:
        return frozenset(("*",))  # there were others, and nobody knows which
    return frozenset(
        name for name, value in arguments.items() if _marked(value) or _MARK.search(name)
    )


def _entries(audit: Path) -> Iterator[dict[str, Any]]:
    if audit.is_dir():
        from clawkit.guard.audit.reader import read

        yield from cast("Iterator[dict[str, Any]]", read(audit))
        return
    try:
        with audit.open("rb") as file:
            yield from filter(None, map(_entry, file))
    except FileNotFoundError:
        raise AuditError(f"there is no audit at {audit}") from None
    except OSError as error:
        raise AuditError(f"the audit {audit} cannot be read: {error.strerror}") from None


def _entry(line: bytes) -> dict[str, Any] | None:
    """A record, if the line is one: the last one may be half written."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except UNREADABLE_JSON:
        return None


def _recorded(entry: dict[str, Any]) -> Recorded:
    method = str(entry.get("method", ""))
    arguments = msgspec.json.decode(_encode(entry.get("arguments") or {}))
    if not isinstance(arguments, dict):
        arguments = {"dropped": arguments}
    return Recorded(
        call=Call(method, str(entry.get("tool") or method), cast("dict[str, Any]", arguments)),
        server=str(entry.get("server", "")),
        decision=str(entry.get("decision", "")),
        rule=int(entry.get("rule", 0)),
        reason=str(entry.get("reason", "")),
    )


def _marked(value: Any) -> bool:
    if isinstance(value, str):
        return _MARK.search(value) is not None
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return any(_MARK.search(name) is not None or _marked(item) for name, item in pairs)
    return isinstance(value, list) and any(map(_marked, cast("list[Any]", value)))


def _without_marks(value: Any) -> Any:
    """A value without each part that the audit does not have in full."""
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {
            name: _without_marks(item)
            for name, item in pairs
            if not (isinstance(item, str) and _marked(item)) and not _MARK.search(name)
        }
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_without_marks(i) for i in items if not (isinstance(i, str) and _marked(i))]
    return value


_TEXT = Paths()
_Group = tuple[str, str, str, int, str, int]
_ANYTHING = Argument(("*",), ("**",))


class Replayed(msgspec.Struct, frozen=True):
    """A recorded call, and what the new policy says to it."""

    recorded: Recorded
    decision: Decision | None
    """None if a rule looks at what the audit does not have."""
    possible: tuple[Rule, ...] = ()
    """Those of which one decides then: whether it does depends on what is not there."""

    @property
    def changed(self) -> bool:
        """A prompt stays one, and it may become what a person said to it."""
        was = (self.recorded.decision, self.recorded.outcome)
        return self.decision is not None and self.decision.action not in was


class DecisionChange(msgspec.Struct, frozen=True):
    """Calls that one rule decided and that another one would decide, or might."""

    was: str
    answer: str
    """What came of a `prompt`: allow, deny, or nothing."""
    unanswered: str
    """Why it was denied, where no person said so."""
    was_rule: int
    now: str
    now_rule: Rule | None
    calls: tuple[Recorded, ...]

    @property
    def count(self) -> int:
        return sum(recorded.count for recorded in self.calls)

    @property
    def came_of_it(self) -> str:
        """What came of a prompt, in words."""
        if self.unanswered:
            return f"denied: {self.unanswered}"
        return {"allow": "approved by a person", "deny": "denied by a person"}.get(self.answer, "")


def replay(policy_of: Callable[[str], Policy], calls: Iterable[Recorded]) -> list[Replayed]:
    """Decide each call with paths as text: the machine of then is not the machine of now.

    `policy_of` gives the policy for a server, with the rules of its profile.
    """
    policies: dict[str, Policy] = {}
    found: list[Replayed] = []
    for recorded in calls:
        if recorded.server not in policies:
            policies[recorded.server] = policy_of(recorded.server)
        found.append(_replayed(policies[recorded.server], recorded))
    return found


def as_decided_by(replayed: Iterable[Replayed]) -> list[Recorded]:
    """The calls as the policy that they were held against decides them, not as it was then."""
    alike: dict[bytes, Recorded] = {}
    for item in replayed:
        decided, rule = item.decision, _rule(item)
        now = replace(
            item.recorded,
            decision="uncertain" if decided is None else decided.action,
            rule=rule.number if rule else 0,
            reason="",
            answer="",
            unanswered="",
            count=0,
        )
        key = _encode(now)
        known = alike.setdefault(key, now)
        alike[key] = replace(known, count=known.count + item.recorded.count)
    return list(alike.values())


def changes(replayed: Iterable[Replayed]) -> list[DecisionChange]:
    """What changes or is uncertain, alike ones together, the most frequent first."""
    groups: dict[_Group, list[Replayed]] = {}
    for item in replayed:
        if item.changed or item.decision is None:
            groups.setdefault(_group(item), []).append(item)
    found = [
        DecisionChange(
            was=was,
            answer=answer,
            unanswered=unanswered,
            was_rule=was_rule,
            now=now,
            now_rule=_rule(items[0]),
            calls=tuple(sorted((i.recorded for i in items), key=lambda r: -r.count)),
        )
        for (was, answer, unanswered, was_rule, now, _), items in groups.items()
    ]
    return sorted(found, key=lambda change: (change.now == "uncertain", -change.count))


def _group(item: Replayed) -> _Group:
    now = "uncertain" if item.decision is None else item.decision.action
    was, rule = item.recorded, _rule(item)
    number = rule.number if rule else 0
    return was.decision, was.answer, was.unanswered, was.rule, now, number


def _rule(item: Replayed) -> Rule | None:
    return item.possible[0] if item.decision is None else item.decision.rule


def _replayed(policy: Policy, recorded: Recorded) -> Replayed:
    servers = (recorded.server,) if recorded.server else NAMELESS
    unknown = recorded.unknown
    possible = tuple(_possible(policy, recorded.call, unknown, servers)) if unknown else ()
    if len(possible) > 1 or (possible and not possible[0][1]):
        return Replayed(recorded, None, tuple(rule for rule, _ in possible))
    return Replayed(recorded, policy.decide(recorded.call, servers, _TEXT))


def _possible(
    policy: Policy, call: Call, unknown: frozenset[str], servers: tuple[str, ...]
) -> Iterator[tuple[Rule, bool]]:
    """The rules that may decide a call, in order, up to one that does if no earlier one did."""
    for rule in policy.rules:
        verdict = _matches_whatever(rule, call, unknown, servers)
        if verdict is not False:
            yield rule, verdict is True
        if verdict:
            return


def _matches_whatever(
    rule: Rule, call: Call, unknown: frozenset[str], servers: tuple[str, ...]
) -> bool | None:
    """Whether a rule matches, whatever the unknown arguments were; None if that depends on them."""
    looked_at = [argument for argument in _conditions(rule) if _sees(rule, argument, unknown)]
    nameless = rule.only_args and "*" in unknown
    if not looked_at and not nameless:
        return rule_matches(rule, call, servers, _TEXT)
    rest = tuple(argument for argument in rule.args if argument not in looked_at)
    if not rest and rule.action != "allow":
        rest = (_ANYTHING,)  # a lone star with arguments reaches further than one without
    if rule.only_args and not nameless:
        rest = tuple(
            Argument(each.name, ("**",)) if each in looked_at else each for each in rule.args
        )
    possible = replace(
        rule,
        args=rest,
        only_args=rule.only_args and not nameless,
        resources=_any_if_unknown(rule.resources, looked_at),
        prompts=_any_if_unknown(rule.prompts, looked_at),
    )
    if not rule_matches(possible, call, servers, _TEXT):
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


def _any_if_unknown(patterns: tuple[str, ...], looked_at: list[Argument]) -> tuple[str, ...]:
    return ("**",) if any(each.patterns is patterns for each in looked_at) else patterns


def _decided_anyway(
    rule: Rule, looked_at: list[Argument], call: Call, servers: tuple[str, ...]
) -> bool:
    """Whether the known arguments decide alone: one value can deny, all are needed to allow."""
    if rule.action != "allow":
        known = replace(call, arguments=_without_marks(call.arguments))
        return rule_matches(rule, known, servers, _TEXT)
    if rule.only_args and not looked_at:
        return False
    indifferent = all(any(map(is_any, argument.patterns)) for argument in looked_at)
    return indifferent and rule_matches(rule, call, servers, _TEXT)


def _sees(rule: Rule, argument: Argument, unknown: frozenset[str]) -> bool:
    if "*" in unknown:
        return True
    anyone = Rule(action=rule.action, tools=("*",), args=(Argument(argument.name[:1], ("**",)),))
    return any(
        rule_matches(anyone, Call("tools/call", "any", {name: "any"}), NAMELESS, _TEXT)
        for name in unknown
    )
