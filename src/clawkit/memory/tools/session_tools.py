"""The tools of a session: its context, the clock, the conversation history, a patrol."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from clawkit.errors import InvalidArgumentsError
from clawkit.memory.caller import Caller
from clawkit.memory.tools.being_tool import BeingTool, number, text
from clawkit.memory.validation import LONGEST_ASKED, LONGEST_NAME, clamped, counted, said, sized

if TYPE_CHECKING:
    from clawkit.memory.memory import Memory
    from clawkit.memory.patrol.transcript import ConversationMessage

Offered = Callable[[int], list[dict[str, Any]]]
"""What bridges offer or sense for the Being of a number."""

_WEEKDAYS = "月火水木金土日"


class NoArguments(msgspec.Struct, frozen=True):
    """What a tool without parameters takes."""


class TimeArguments(msgspec.Struct, frozen=True):
    """What `get_current_time` takes."""

    timezone: str | None = None


def get_context(capabilities: Offered, senses: Offered) -> BeingTool:
    """The tool of a server that has these bridges."""

    def run(memory: Memory, _caller: Caller, _given: NoArguments) -> dict[str, Any]:
        n = memory.being.n
        return memory.context(capabilities(n), senses(n))

    return BeingTool(
        "get_context",
        "Call once at session start. Returns the Being's persona definition (system_prompt) and "
        "memory snapshot, with hints for prompt caching, the capabilities of connected bridges "
        "and the most recently activated memories.",
        {},
        (),
        NoArguments,
        run,
    )


def get_current_time(memory: Memory, _caller: Caller, given: TimeArguments) -> dict[str, str]:
    return time_in(given.timezone or "UTC", memory.now)


def time_in(timezone: str, moment: float) -> dict[str, str]:
    """A moment as a zone's clocks and calendars show it."""
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        problem = f"{timezone[:60]!r} is no IANA timezone; one is Asia/Tokyo"
        raise InvalidArgumentsError("timezone", problem) from None
    here = datetime.fromtimestamp(moment, zone)
    iso = here.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    day = f"{here:%Y/%m/%d}({_WEEKDAYS[here.weekday()]}) {here:%H:%M:%S}"
    return {"datetime": day, "iso": iso, "timezone": timezone}


GET_CURRENT_TIME = BeingTool(
    "get_current_time",
    "Returns the current date and time in a timezone.",
    {"timezone": text("IANA timezone identifier, e.g. Asia/Tokyo (default: UTC)")},
    (),
    TimeArguments,
    get_current_time,
)

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
    from clawkit.memory.display_text import shown, told

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


def _message(where: str, given: MessageArgument) -> ConversationMessage:
    from clawkit.memory.patrol.transcript import ConversationMessage

    role = said(f"{where}.role", given.role, LONGEST_NAME)
    content = sized(f"{where}.content", _text(f"{where}.content", given.content), LONGEST_ASKED)
    return ConversationMessage(role, content)


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


SEARCH_HISTORY = BeingTool(
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

TRIGGER_PATROL = BeingTool(
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
