"""One line of the audit: as it is written, as it is read back, and its JSON."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict, cast

import msgspec

from clawkit.guard.audit.file_format import LONGEST_BODY
from clawkit.wire.jsonrpc import one_line

Kind = Literal[
    "start", "call", "answer", "list", "notice", "drop", "end", "approval", "pin", "recovery"
]
Side = Literal["", "client", "server"]


class AuditRecord(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One event. The log sets `seq`, `prev` and `hash`, and `time` where it is empty."""

    seq: int = 0
    time: str = ""
    """UTC, ISO 8601 with milliseconds and a Z."""
    id: str = ""
    kind: Kind
    server: str = ""
    client: str = ""
    """Name and version, from the handshake."""
    host: str = ""
    """The client's process: the same for all servers of one client."""
    session: str = ""
    """This run of the proxy, or this connection."""
    side: Side = ""
    """Who sent it."""
    method: str = ""
    tool: str = ""
    arguments: Any = None
    """Redacted already."""
    outside: Any = None
    """What a request holds outside its arguments, beside what clients put there; redacted."""
    decision: Literal["", "allow", "deny", "prompt", "pass", "drop"] = ""
    rule: int = 0
    reason: str = ""
    of: str = ""
    """The id of the record of the call that this answers."""
    source: Literal["", "page", "terminal", "form", "script"] = ""
    """Where a question to a person was answered, if it was."""
    listed: str = ""
    """The id of the last record of a tools/list."""
    latency_ms: float = 0.0
    digest: str = ""
    """SHA-256 of the result's bytes; of a call, of its arguments, where they were shortened."""
    size: int = 0
    count: int = 0
    """How many events it stands for, where they are more than one; `size` is of all of them."""
    flags: tuple[str, ...] = ()
    """What the scan found."""
    prev: str = ""
    hash: str = ""


class AuditEntry(TypedDict, total=False):
    """A record as it is read back: a field that is not there was empty."""

    seq: Required[int]
    time: Required[str]
    id: str
    kind: Required[str]
    server: str
    client: str
    host: str
    session: str
    side: str
    method: str
    tool: str
    arguments: Any
    outside: Any
    decision: str
    rule: int
    reason: str
    of: str
    source: str
    listed: str
    latency_ms: float
    digest: str
    size: int
    count: int
    flags: list[str]
    prev: str
    hash: str


_to_json = msgspec.json.Encoder().encode
_LONGEST_TEXT = 256
_MOST_FLAGS = 16
_OPEN = ("arguments", "outside")
"""The fields in which any value may be."""


def _encode(value: Any) -> bytes:
    return one_line(_to_json(value))


def body_of(record: AuditRecord) -> bytes:
    """The record's JSON without the braces, so that the log can put the chain around it."""
    try:
        body = _encode(record)[1:-1]
    except (UnicodeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        body = _encode(_writable(record, type(error).__name__))[1:-1]
    if len(body) > LONGEST_BODY:
        mark = {"dropped": f"the record had {len(body)} bytes"}
        body = _encode(_cut(record, mark))[1:-1]
    return body


def _writable(record: AuditRecord, problem: str) -> AuditRecord:
    """The same record with every text in UTF-8; values that are no JSON are named, not kept."""

    def writable(value: Any) -> Any:
        try:
            plain = _plain(value)
            _encode(plain)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return {"dropped": f"no JSON can be made of it ({problem})"}
        return plain

    fields = {
        name: (writable if name in _OPEN else _plain)(getattr(record, name))
        for name in record.__struct_fields__
    }
    return AuditRecord(**fields)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return {_plain(key): _plain(part) for key, part in pairs}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in cast("list[Any]", value)]
    return value


def _cut(record: AuditRecord, mark: dict[str, str]) -> AuditRecord:
    """The record without its arguments, and with no text longer than a person would read."""
    fields: dict[str, Any] = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        fields[name] = _shortened(value) if isinstance(value, str) else value
    fields["arguments"] = mark
    fields["outside"] = None if record.outside is None else mark
    fields["flags"] = tuple(_shortened(flag) for flag in record.flags[:_MOST_FLAGS])
    return AuditRecord(**fields)


def _shortened(text: str) -> str:
    plain = _plain(text)
    if len(plain) <= _LONGEST_TEXT:
        return plain
    return f"{plain[:_LONGEST_TEXT]}…({len(plain) - _LONGEST_TEXT} more characters)"
