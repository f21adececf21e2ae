"""Where a message leads: bytes for the server or the client; and the guard's own replies."""

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


class MessageHead(msgspec.Struct, frozen=True):
    """A message's id and method; None for what it does not have."""

    id: str | int | None = None
    method: str | None = None

    def answers(self, request_id: object) -> bool:
        """Whether it is the answer to this request; `1` is not `"1"`."""
        return self.method is None and self.id == request_id and type(self.id) is type(request_id)


class _WithId(msgspec.Struct, frozen=True):
    id: Any = None


_decode = msgspec.json.Decoder(_WithId).decode
_decode_head = msgspec.json.Decoder(MessageHead).decode


def head_of(message: bytes) -> MessageHead:
    """The head of bytes that are known to be a message."""
    return _decode_head(message)


def answers(passage: Passage, request_id: object) -> bool:
    """Whether a passage brings a client the answer to this request."""
    return passage.to_client is not None and head_of(passage.to_client).answers(request_id)


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
