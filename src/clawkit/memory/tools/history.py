"""The tools over whole conversations: `search_history` and `trigger_patrol`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clawkit.errors import InvalidArgumentsError
from clawkit.memory.caller import Caller
from clawkit.memory.checking import LONGEST_ASKED, LONGEST_NAME, clamped, counted, said, sized
from clawkit.memory.tools.tool import Work, number, text

if TYPE_CHECKING:
    from clawkit.memory.memory import Memory
    from clawkit.memory.patrol.conversation import Message

_DEFAULT, _MOST = 10, 50
_MOST_MESSAGES = 2_000


class HistoryArguments(msgspec.Struct, frozen=True):
    """What `search_history` takes."""

    query: str | None = None
    date_from: str | None = None
    date_to: str | None = None
    limit: float | None = None


class MessageArgument(msgspec.Struct, frozen=True):
    """A message of a client; its content is a text or a list of content blocks."""

    role: str
    content: Any


class PatrolArguments(msgspec.Struct, frozen=True):
    """What `trigger_patrol` takes."""

    messages: list[MessageArgument]
    marker_id: str | None = None


def search_history(memory: Memory, _caller: Caller, given: HistoryArguments) -> str:
    from clawkit.memory.cleaning import shown, told

    found = memory.history(
        given.query or "",
        given.date_from or None,
        given.date_to or None,
        clamped("limit", given.limit, _DEFAULT, _MOST),
    )
    lines = [f"[{_time(one.at)}] {shown(one.role, 40)}: {told(one.text)}" for one in found]
    return "\n".join([f"Messages found: {len(found)}, the newest first", *lines])


def trigger_patrol(memory: Memory, caller: Caller, given: PatrolArguments) -> dict[str, Any]:
    counted("messages", len(given.messages), _MOST_MESSAGES)
    messages = [_message(f"messages[{at}]", one) for at, one in enumerate(given.messages)]
    marker = sized("marker_id", given.marker_id or "", LONGEST_NAME) or None
    sieve = memory.sieve()
    outcome = memory.patrol(caller, messages, marker, sieve=sieve)
    return {**msgspec.to_builtins(outcome), **sieve.told()}


def _message(where: str, given: MessageArgument) -> Message:
    from clawkit.memory.patrol.conversation import Message

    role = said(f"{where}.role", given.role, LONGEST_NAME)
    content = sized(f"{where}.content", _text(f"{where}.content", given.content), LONGEST_ASKED)
    return Message(role, content)


def _text(where: str, content: Any) -> str:
    """The words of a message; pictures and tool calls among its blocks are no words."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InvalidArgumentsError(where, "must be a string")
    blocks = [cast("dict[str, Any]", b) for b in cast("list[Any]", content) if isinstance(b, dict)]
    return "\n".join(str(block["text"]) for block in blocks if "text" in block)


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


SEARCH_HISTORY = Work(
    "search_history",
    "Search past conversation messages by keyword, by date range, or both.",
    {
        "query": text("Partial-match keyword"),
        "date_from": text("Start date YYYY-MM-DD (inclusive, from 00:00:00 UTC)"),
        "date_to": text("End date YYYY-MM-DD (inclusive, until 23:59:59 UTC)"),
        "limit": number(f"Max results (default {_DEFAULT}, max {_MOST})"),
    },
    (),
    HistoryArguments,
    search_history,
)

TRIGGER_PATROL = Work(
    "trigger_patrol",
    "Run the patrol: scenes are found in the messages and noted, scene notes become memory nodes, "
    "and memory is put in order. Without a model key, topics are named by their words, and only "
    "memories that say the same in the same words are merged.",
    {
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "role": text("Who speaks: user, assistant, …"),
                    "content": text("What was said"),
                },
                "required": ["role", "content"],
            },
            "description": "Messages to process ([] processes existing scene notes only)",
        },
        "marker_id": text("Previous patrol marker id; messages up to it are not looked at again"),
    },
    ("messages",),
    PatrolArguments,
    trigger_patrol,
)
