"""The calls in an audit, alike ones counted together, and what of them was not written down."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from clawkit.errors import AuditError
from clawkit.guard.policy.call import Call

# What `redact_arguments` and the log leave in place of what they do not keep.
_MARK = re.compile(
    r"\[redacted(: [a-z0-9-]+)?\]|…\(\d+ (more )?(characters|members|items)\b"
    r"|^…$|^-?[0-9a-f]{16,}…$"
)
_encode = msgspec.json.Encoder(order="sorted").encode


class Recorded(msgspec.Struct, frozen=True):
    """Calls that are alike in all that is recorded, and how many of them there were."""

    call: Call
    server: str
    decision: str
    rule: int
    reason: str
    answer: str
    """What a person said to a `prompt`: allow, deny, or nothing."""
    count: int

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


class _Key(NamedTuple):
    server: str
    method: str
    tool: str
    arguments: bytes
    decision: str
    rule: int
    reason: str
    answer: str = ""


def recorded_calls(audit: Path) -> list[Recorded]:
    """Every call in an audit directory or file, in the order in which they were first seen."""
    counts: Counter[_Key] = Counter()
    waiting: dict[str, _Key] = {}
    seen = 0
    for entry in _entries(audit):
        seen += 1
        if entry.get("kind") == "call":
            key = _key(entry)
            counts[key] += 1
            if key.decision == "prompt":
                waiting[entry.get("id", "")] = key
        elif entry.get("kind") == "approval" and (key := waiting.pop(entry.get("of", ""), None)):
            counts[key] -= 1
            counts[key._replace(answer=entry.get("decision", ""))] += 1
    if not seen:
        raise AuditError(f"there are no audit records in {audit}")
    return [_recorded(key, count) for key, count in counts.items() if count]


def unknown_arguments(arguments: dict[str, Any]) -> frozenset[str]:
    """The names of the arguments whose values the audit does not have in full."""
    if arguments.keys() == {"dropped"} or "…" in arguments:
        return frozenset(("*",))  # there were others, and nobody knows which
    return frozenset(
        name for name, value in arguments.items() if _marked(value) or _MARK.search(name)
    )


def without_unknown(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments without each part that the audit does not have in full."""
    return cast("dict[str, Any]", _without_marks(arguments))


def _entries(audit: Path) -> Iterator[dict[str, Any]]:
    if audit.is_dir():
        from clawkit.guard.audit.reading import read

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
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _key(entry: dict[str, Any]) -> _Key:
    method = str(entry.get("method", ""))
    return _Key(
        server=str(entry.get("server", "")),
        method=method,
        tool=str(entry.get("tool") or method),
        arguments=_encode(entry.get("arguments") or {}),
        decision=str(entry.get("decision", "")),
        rule=int(entry.get("rule", 0)),
        reason=str(entry.get("reason", "")),
    )


def _recorded(key: _Key, count: int) -> Recorded:
    arguments = msgspec.json.decode(key.arguments)
    if not isinstance(arguments, dict):
        arguments = {"dropped": arguments}
    return Recorded(
        call=Call(key.method, key.tool, cast("dict[str, Any]", arguments)),
        server=key.server,
        decision=key.decision,
        rule=key.rule,
        reason=key.reason,
        answer=key.answer,
        count=count,
    )


def _marked(value: Any) -> bool:
    if isinstance(value, str):
        return _MARK.search(value) is not None
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return any(_MARK.search(name) is not None or _marked(item) for name, item in pairs)
    return isinstance(value, list) and any(map(_marked, cast("list[Any]", value)))


def _without_marks(value: Any) -> Any:
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
