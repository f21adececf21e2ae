"""Where bytes go after a message: to the server, or to the client; and the guard's own replies."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from clawkit.errors import DeniedError, ProtocolError
from clawkit.guard.strict_parser import has_too_many_values
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import RequestId

Side = Literal["client", "server"]


class Passage(msgspec.Struct, frozen=True):
    """What a message leads to: bytes for the server, bytes for the client, or neither."""

    to_server: bytes | None = None
    to_client: bytes | None = None


class _WithId(msgspec.Struct, frozen=True):
    id: Any = None


_decode = msgspec.json.Decoder(_WithId).decode


def forwarded(side: Side, line: bytes) -> Passage:
    """What `side` said goes on."""
    return Passage(to_server=line) if side == "client" else Passage(to_client=line)


def returned(side: Side, line: bytes) -> Passage:
    """`side` gets an answer from the guard itself."""
    return Passage(to_client=line) if side == "client" else Passage(to_server=line)


def failure(request_id: RequestId | None, error: ProtocolError) -> bytes:
    return jsonrpc.encode(jsonrpc.failure(request_id, error))


def denied(request_id: RequestId, reason: str) -> bytes:
    """The error that a model reads: the reason of this denial, and nothing of the other rules."""
    return failure(request_id, DeniedError(f"Denied by policy: {reason}"))


def id_within(line: bytes) -> RequestId | None:
    """The id of what is no proper message, as far as a lenient reader finds one."""
    try:
        found = _decode(line).id  # Nothing else of it is kept, however much there is.
        return found if jsonrpc.valid_id(found) else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        return None if has_too_many_values(line) else jsonrpc.reply_id(json.loads(line))
    except (ValueError, RecursionError):
        return None
