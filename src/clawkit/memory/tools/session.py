"""The tools for the start of a session and its clock: `get_context` and `get_current_time`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from clawkit.errors import InvalidArgumentsError
from clawkit.memory.caller import Caller
from clawkit.memory.tools.tool import Work, text

if TYPE_CHECKING:
    from clawkit.memory.memory import Memory

Offered = Callable[[int], list[dict[str, Any]]]
"""What bridges offer or sense for the Being of a number."""

_WEEKDAYS = "月火水木金土日"


class NoArguments(msgspec.Struct, frozen=True):
    """What a tool without parameters takes."""


class TimeArguments(msgspec.Struct, frozen=True):
    """What `get_current_time` takes."""

    timezone: str | None = None


def get_context(capabilities: Offered, senses: Offered) -> Work:
    """The tool of a server that has these bridges."""

    def run(memory: Memory, _caller: Caller, _given: NoArguments) -> dict[str, Any]:
        n = memory.being.n
        return memory.context(capabilities(n), senses(n))

    return Work(
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


GET_CURRENT_TIME = Work(
    "get_current_time",
    "Returns the current date and time in a timezone.",
    {"timezone": text("IANA timezone identifier, e.g. Asia/Tokyo (default: UTC)")},
    (),
    TimeArguments,
    get_current_time,
)
