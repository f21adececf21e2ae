"""`Passage`: which bytes go to the server and the client; and the guard's own replies."""

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
    """The bytes to send to the server and to the client, if any."""

    to_server: bytes | None = None
    to_client: bytes | None = None


class MessageHead(msgspec.Struct, frozen=True):
    """A message's id and method, if it has them."""

    id: str | int | None = None
    method: str | None = None

    def answers(self, request_id: object) -> bool:
        """Whether it is the answer to this request; `1` is not `"1"`."""
        return self.method is None and self.id == request_id and type(self.id) is type(request_id)


head_of = msgspec.json.Decoder(MessageHead).decode
"""Decodes the head of bytes that are known to be a message."""


class _WithId(msgspec.Struct, frozen=True):
    id: Any = None


_decode = msgspec.json.Decoder(_WithId).decode


def answers(passage: Passage, request_id: object) -> bool:
    """Whether a passage brings a client the answer to this request."""
    return passage.to_client is not None and head_of(passage.to_client).answers(request_id)


def forwarded(side: Side, line: bytes) -> Passage:
    """Send a message of `side` on to the other side."""
    return Passage(to_server=line) if side == "client" else Passage(to_client=line)


def returned(side: Side, line: bytes) -> Passage:
    """Send an answer of the guard itself to `side`."""
    return Passage(to_client=line) if side == "client" else Passage(to_server=line)


def failure(request_id: RequestId | None, error: ProtocolError) -> bytes:
    return jsonrpc.encode(jsonrpc.failure(request_id, error))


def denied(request_id: RequestId, reason: str) -> bytes:
    """The error that a model reads: the reason of this denial, and nothing of the other rules."""
    return failure(request_id, DeniedError(f"Denied by policy: {reason}"))


def id_within(line: bytes) -> RequestId | None:
    """The id of an invalid message, if a lenient parser finds one."""
    try:
        found = _decode(line).id  # Nothing else of it is kept, however much there is.
        return found if jsonrpc.valid_id(found) else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        return None if has_too_many_values(line) else jsonrpc.reply_id(json.loads(line))
    except (ValueError, RecursionError):
        return None
