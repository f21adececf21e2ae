"""A conversation's judgement, in an event loop that has others to serve meanwhile."""

from __future__ import annotations

import asyncio

from clawkit.errors import ProtocolError
from clawkit.guard.conversation import Conversation, Deliver, Side
from clawkit.guard.prompts import Passage
from clawkit.guard.strict import parse

_LARGE = 64 * 1024


def is_readable(line: bytes | None, depth: int) -> bool:
    """Whether it is a message. Where no answer is expected, nobody's answer can be unreadable."""
    try:
        return line is not None and bool(parse(line, depth))
    except ProtocolError:
        return False


async def judged(
    conversation: Conversation, side: Side, line: bytes | None, deliver: Deliver | None = None
) -> Passage:
    """What a message leads to; a large one is looked through in a thread."""
    if line is None or len(line) < _LARGE:
        return conversation.receive(side, line, deliver)
    return await asyncio.to_thread(conversation.receive, side, line, deliver)
