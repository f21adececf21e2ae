"""Judges messages without blocking the event loop, and reads a message's id and method."""

from __future__ import annotations

import asyncio

import msgspec

from clawkit.errors import ProtocolError
from clawkit.guard.conversation import Deliver, GuardConversation, Side
from clawkit.guard.passages import Passage
from clawkit.guard.strict_parser import parse


class MessageHead(msgspec.Struct, frozen=True):
    """A message's id and method; None for what it does not have."""

    id: str | int | None = None
    method: str | None = None

    def answers(self, request_id: object) -> bool:
        """Whether it is the answer to this request; `1` is not `"1"`."""
        return self.method is None and self.id == request_id and type(self.id) is type(request_id)


_decode = msgspec.json.Decoder(MessageHead).decode


def head_of(message: bytes) -> MessageHead:
    """The head of bytes that are known to be a message."""
    return _decode(message)


def answers(passage: Passage, request_id: object) -> bool:
    """Whether a passage brings a client the answer to this request."""
    return passage.to_client is not None and head_of(passage.to_client).answers(request_id)


_LARGE = 64 * 1024


def is_readable(line: bytes | None, depth: int) -> bool:
    """Whether it is a message. Where no answer is expected, nobody's answer can be unreadable."""
    try:
        return line is not None and bool(parse(line, depth))
    except ProtocolError:
        return False


async def judged(
    conversation: GuardConversation, side: Side, line: bytes | None, deliver: Deliver | None = None
) -> Passage:
    """What a message leads to; a large one is looked through in a thread."""
    if line is None or len(line) < _LARGE:
        return conversation.receive(side, line, deliver)
    return await asyncio.to_thread(conversation.receive, side, line, deliver)
