"""A record as the bytes of one line, whatever its values are."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from clawkit.guard.audit.chain import LONGEST_BODY
from clawkit.guard.audit.record import Record
from clawkit.wire.jsonrpc import one_line

_to_json = msgspec.json.Encoder().encode
_LONGEST_TEXT = 256
_MOST_FLAGS = 16
_OPEN = ("arguments", "outside")
"""The fields in which any value may be."""


def _encode(value: Any) -> bytes:
    return one_line(_to_json(value))


def body_of(record: Record) -> bytes:
    """The record's JSON without the braces, so that the log can put the chain around it."""
    try:
        body = _encode(record)[1:-1]
    except (UnicodeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        body = _encode(_writable(record, type(error).__name__))[1:-1]
    if len(body) > LONGEST_BODY:
        mark = {"dropped": f"the record had {len(body)} bytes"}
        body = _encode(_cut(record, mark))[1:-1]
    return body


def _writable(record: Record, problem: str) -> Record:
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
    return Record(**fields)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return {_plain(key): _plain(part) for key, part in pairs}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in cast("list[Any]", value)]
    return value


def _cut(record: Record, mark: dict[str, str]) -> Record:
    """The record without its arguments, and with no text longer than a person would read."""
    fields: dict[str, Any] = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        fields[name] = _shortened(value) if isinstance(value, str) else value
    fields["arguments"] = mark
    fields["outside"] = None if record.outside is None else mark
    fields["flags"] = tuple(_shortened(flag) for flag in record.flags[:_MOST_FLAGS])
    return Record(**fields)


def _shortened(text: str) -> str:
    plain = _plain(text)
    if len(plain) <= _LONGEST_TEXT:
        return plain
    return f"{plain[:_LONGEST_TEXT]}…({len(plain) - _LONGEST_TEXT} more characters)"
