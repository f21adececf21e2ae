"""Inspects what a server sends before the client sees it: text, definitions, and questions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from clawkit.errors import InvalidParamsError
from clawkit.guard.judge import Judge
from clawkit.guard.pins import INSTRUCTIONS, CheckedList, Kind, label
from clawkit.guard.policy.call import Call, call_of
from clawkit.guard.policy.globs import is_any
from clawkit.guard.policy.policy import Decision, Policy
from clawkit.guard.policy.rules import Rule
from clawkit.guard.scan.elicitation import asks_for_secret, host_of, link_of
from clawkit.guard.scan.sanitizer import (
    DECLARED,
    TAIL,
    Findings,
    ScanOptions,
    around_markers,
    clean,
    declaration,
    marker,
    suspicious,
)
from clawkit.text.injections import find_injections, remove_injections
from clawkit.text.normalization import plain, visible
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message, as_object

_IDS = ("url", "mode", "elicitationId")
_ELICITATION = "elicitation/create"
_LIKE_THE_GUARD = re.compile(
    r"\b(?:guard|clawkit|clawai|policy|approv\w*)\b|\b(?:allow|deny)\b.{0,80}\bcalls?\b", re.DOTALL
)
WORDS_OF_SERVER = "The server {} asks this, in its own words; it is no question of the guard:"
_QUESTIONS = ("sampling/createMessage", _ELICITATION)
_ASKED_INSIDE = frozenset({*_QUESTIONS, "roots/list"})
_ASKED_WITH = {key.lower(): key for key in ("message", "requestedSchema", "mode", "url")}
_PARTS = ("result", "error", "params")
_DECLARATIONS = (("result", "_meta"), ("params", "_meta"), ("error", "data"))
_OPAQUE = ("requestState", "nextCursor", "taskId", "progressToken")
_ONLY_INJECTIONS = ScanOptions(hidden="off", secrets="off", injection="flag")


class Inspected(Struct, frozen=True):
    """A message as it may go on, what was found in it, and why it may not if `refusal` says so."""

    message: Message
    flags: tuple[str, ...] = ()
    refusal: str = ""
    ask: tuple[tuple[Call, Rule], ...] = ()
    """What a person has to allow first."""

    def refused(self, reason: str) -> Inspected:
        return Inspected(self.message, self.flags, reason)


def inspect_text(
    message: Message, line: bytes, policy: Policy, *, injections: bool = True
) -> Inspected:
    """Hidden characters, secrets and, unless they are looked for later, injections."""
    options = policy.scan if injections else _but_injections(policy.scan)
    if not suspicious(line, options):
        return Inspected(message)
    changed, flags = message, ()
    for part in _PARTS:
        if part not in message:
            continue
        value, findings = clean(message[part], options, TAIL)
        if not findings:
            continue
        flags = (*flags, *_flags(findings))
        refusal = _blocked(findings, policy)
        if refusal:
            return Inspected(message, flags, refusal)
        if value is not message[part]:
            changed = {**changed, part: _with_opaque(value, message[part])}
    return Inspected(changed, flags)


@cache
def _but_injections(options: ScanOptions) -> ScanOptions:
    return replace(options, injection="off")


def _with_opaque(cleaned: Any, original: Any) -> Any:
    """What only the server reads again stays as it is: a signed state looks like a token."""
    before = as_object(original)
    if before is None:
        return cleaned
    return {**cleaned, **{key: before[key] for key in _OPAQUE if key in before}}


def injections_in(message: Message, line: bytes) -> tuple[str, ...]:
    """The flags of phrases that give orders to the model, in what has already been passed on."""
    if not suspicious(line, _ONLY_INJECTIONS):
        return ()
    found = [clean(message[part], _ONLY_INJECTIONS)[1] for part in _PARTS if part in message]
    return tuple(flag for findings in found for flag in _flags(findings))


def _flags(findings: Findings) -> tuple[str, ...]:
    hidden = (f"hidden:{findings.hidden}",) if findings.hidden else ()
    secrets = tuple(f"secret:{kind}" for kind in findings.secrets)
    return (*hidden, *secrets, *(f"injection:{name}" for name in findings.injections))


def _blocked(findings: Findings, policy: Policy) -> str:
    scan = policy.scan
    if findings.hidden and scan.hidden == "block":
        return "it contains hidden characters"
    if findings.secrets and scan.secrets == "block":
        return "it contains a secret"
    if findings.injections and scan.injection == "block":
        return "it contains text that gives orders to the model"
    return ""


def with_declaration(message: Message) -> Message:
    """Declare in `_meta` what was redacted from a message, if anything was."""
    about = declaration(jsonrpc.encode(message))
    if about is None:
        return message
    for part, place in _DECLARATIONS:
        holder = as_object(message.get(part))
        if holder is not None:
            inner = {**(as_object(holder.get(place)) or {}), DECLARED: about}
            return {**message, part: {**holder, place: inner}}
    return message


def without_declaration(message: Message) -> Message:
    """Remove a declaration of redactions from a server's message: only the guard may make one."""
    for part, place in _DECLARATIONS:
        holder = as_object(message.get(part))
        inner = None if holder is None else as_object(holder.get(place))
        if holder is not None and inner is not None and DECLARED in inner:
            kept = {key: value for key, value in inner.items() if key != DECLARED}
            message = {**message, part: {**holder, place: kept}}
    return message


def inspect_list(
    inspected: Inspected, kind: Kind, judge: Judge, policy: Policy, *, first_page: bool
) -> Inspected:
    """The result of a list without what is quarantined."""
    result = as_object(inspected.message.get("result")) or {}
    if kind.member not in result:
        return inspected
    listed = _objects(result[kind.member])
    if listed is None:
        return inspected.refused(f"its list of {kind.section} cannot be read")
    checked = _check_list(listed, kind, judge, policy, first_page=first_page)
    flags = (*inspected.flags, *_pin_flags(kind, checked))
    if len(checked.kept) == len(listed):
        return Inspected(inspected.message, flags)
    result = {**result, kind.member: checked.kept}
    return Inspected({**inspected.message, "result": result}, flags)


def inspect_instructions(
    inspected: Inspected, method: str, judge: Judge, policy: Policy
) -> Inspected:
    """What a server instructs the model: as first seen, until a person accepts a change."""
    result = as_object(inspected.message.get("result"))
    if result is None:
        return inspected
    said = result.get("instructions")
    if said is None and judge.pins.accepted(method, INSTRUCTIONS) is not None:
        return inspected
    if said is not None and not isinstance(said, str):
        return inspected.refused("its instructions cannot be read")
    definition = {"method": method, "instructions": said}
    checked = _check_list([definition], INSTRUCTIONS, judge, policy)
    flags = (*inspected.flags, *_pin_flags(INSTRUCTIONS, checked))
    if checked.kept:
        return Inspected(inspected.message, flags)
    before = (judge.pins.accepted(method, INSTRUCTIONS) or {}).get("instructions")
    kept = {key: value for key, value in result.items() if key != "instructions"}
    if before is not None and before != said:
        kept["instructions"] = before
    return Inspected({**inspected.message, "result": kept}, flags)


def _check_list(
    listed: list[dict[str, Any]],
    kind: Kind,
    judge: Judge,
    policy: Policy,
    *,
    first_page: bool = True,
) -> CheckedList:
    injection = policy.scan.injection
    return judge.pins.check_list(
        listed, first_page, kind, looks=injection != "off", blocks=injection == "block"
    )


def _pin_flags(kind: Kind, checked: CheckedList) -> tuple[str, ...]:
    return (
        *(f"quarantined:{label(kind, name)}" for name, _ in checked.quarantined),
        *(f"new:{label(kind, name)}" for name in checked.new),
        *(f"suspect:{label(kind, name)}:{what}" for name, all in checked.suspect for what in all),
    )


def rest_blocked(message: Message, member: str, policy: Policy) -> str:
    """Why an answer is held back for what stands in it beside definitions, if it is.

    Those a person may have accepted, with whatever is in them.
    """
    if policy.scan.injection != "block":
        return ""
    result = as_object(message.get("result")) or {}
    rest = [value for key, value in result.items() if key != member]
    return _blocked(clean([rest, message.get("error")], _ONLY_INJECTIONS)[1], policy)


def _objects(value: object) -> list[dict[str, Any]] | None:
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    found = [item for item in map(as_object, items) if item is not None]
    return found if len(found) == len(items) else None


def redacted(message: Message, patterns: tuple[re.Pattern[str], ...]) -> Message:
    """An answer or a notice without what a rule's `redact` names."""

    def replace(text: str) -> str:
        for pattern in patterns:
            text = around_markers(text, partial(pattern.sub, marker("rule")))
        return text

    parts = {part: _map_text(message[part], replace) for part in _PARTS if part in message}
    return {**message, **parts}


def _map_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_text(item, change) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _map_text(item, change) for key, item in cast("dict[str, Any]", value).items()}
    return value


def inspect_questions(inspected: Inspected, part: str, judge: Judge, policy: Policy) -> Inspected:
    """The `inputRequests` of a result or a notice: each is a request of the server."""
    holder = as_object(inspected.message.get(part)) or {}
    if "inputRequests" not in holder:
        return inspected
    requests = as_object(holder["inputRequests"])
    if requests is None or not all(map(_is_question, requests.values())):
        return inspected.refused("its questions cannot be read")
    kept: dict[str, Any] = {}
    flags = inspected.flags
    ask: list[tuple[Call, Rule]] = []
    for key, request in requests.items():
        if request["method"] not in _ASKED_INSIDE:
            reason = f"it asks for '{visible(request['method'], 100)}', which is no question of MCP"
            return inspected.refused(reason)
        original = request.get("params", {})
        decision, call, params = judge_question(request["method"], original, judge, policy)
        if decision.action == "deny":
            return inspected.refused(decision.reason)
        if decision.action == "prompt" and decision.rule is not None:
            ask.append((call, decision.rule))
        if params is not original:
            flags = (*flags, "injection:removed")
        params = labelled(request["method"], params, judge)
        kept[key] = request if params is original else {**request, "params": params}
    message = inspected.message
    if any(kept[key] is not requests[key] for key in kept):
        message = {**message, part: {**holder, "inputRequests": kept}}
    return Inspected(message, flags, ask=tuple(ask))


def inspect_links(inspected: Inspected, judge: Judge, policy: Policy) -> Inspected:
    """The addresses that an error wants a person to open: each is a question of the server."""
    error = as_object(inspected.message.get("error")) or {}
    data = as_object(error.get("data")) or {}
    if "elicitations" not in data:
        return inspected
    links = _objects(data["elicitations"])
    if links is None:
        return inspected.refused("its questions cannot be read")
    kept: list[dict[str, Any]] = []
    for link in links:
        decision, _, params = judge_question(_ELICITATION, link, judge, policy)
        if decision.action != "allow":
            return inspected.refused(decision.reason)
        kept.append(labelled(_ELICITATION, params, judge))
    changed = {**error, "data": {**data, "elicitations": kept}}
    return Inspected({**inspected.message, "error": changed}, inspected.flags, ask=inspected.ask)


def _is_question(value: object) -> bool:
    request = as_object(value)
    if request is None or not isinstance(request.get("method"), str):
        return False
    if any(key.lower() in ("method", "params") for key in request.keys() - {"method", "params"}):
        return False
    return as_object(request.get("params", {})) is not None


def judge_question(
    method: str, params: dict[str, Any], judge: Judge, policy: Policy
) -> tuple[Decision, Call, dict[str, Any]]:
    """What to do with a server's own request, and its parameters as they may reach the client."""
    try:
        call = call_of(method, params)
    except InvalidParamsError as error:
        deny = Decision(action="deny", rule=None, reason=error.message)
        return deny, Call(method=method, tool=method, arguments={}), params
    decision = judge.decide(call, policy)
    if decision.action == "deny" or method not in _QUESTIONS:
        return decision, call, params
    reason = _objection(params, decision.rule) if method == _ELICITATION else ""
    if reason:
        return Decision(action="deny", rule=None, reason=reason), call, params
    return _without_injections(decision, call, params)


def _objection(params: dict[str, Any], rule: Rule | None) -> str:
    """Why a question must not be put to a person, if it must not."""
    for key in params:
        if _ASKED_WITH.get(key.lower(), key) != key:
            return f"the key '{visible(key, 100)}' could be taken for another"
    url = link_of(params)
    if url is not None and not host_of(url):
        return (
            f"a server may not send a person to '{visible(url, 100)}': only to an https address, "
            "or an http one on this machine, that does not hide where it leads"
        )
    field = None if _allows_by_name(rule) else _secret_asked(params)
    return f"a server may not ask for {visible(field, 100)}" if field else ""


def labelled(method: str, params: dict[str, Any], judge: Judge) -> dict[str, Any]:
    """Say whose words a question is in that sounds like the guard's, and which host a link opens.

    For the client, guard and server are one: without it, a server could ask as the guard does.
    """
    if method != _ELICITATION:
        return params
    message = str(params.get("message", ""))
    url = link_of(params)
    says = [message] if url is None else [message, f"This opens {host_of(url)}."]
    if _LIKE_THE_GUARD.search(plain(message)):
        says.insert(0, WORDS_OF_SERVER.format(visible(judge.server, 200)))
    return params if says == [message] else {**params, "message": "\n\n".join(filter(None, says))}


def _allows_by_name(rule: Rule | None) -> bool:
    """Whether a rule speaks of questions themselves, not of everything."""
    return rule is not None and (bool(rule.methods) or not any(map(is_any, rule.tools)))


def _secret_asked(params: dict[str, Any]) -> str | None:
    said = [value for key, value in params.items() if isinstance(value, str) and key not in _IDS]
    return asks_for_secret(params.get("requestedSchema"), "\n".join(said))


def _without_injections(
    decision: Decision, call: Call, params: dict[str, Any]
) -> tuple[Decision, Call, dict[str, Any]]:
    wanted = decision.rule.injection if decision.rule is not None else "block"
    found: list[str] = []

    def look(text: str) -> str:
        names = find_injections(text)
        found.extend(names)
        return remove_injections(text) if names else text

    cleaned = _map_text(params, look)
    if not found or wanted == "flag":
        return decision, call, params
    if wanted == "remove":
        return decision, call, cleaned
    reason = f"the server's prompt tries to give orders to the model ({', '.join(found)})"
    return Decision(action="deny", rule=decision.rule, reason=reason), call, params
