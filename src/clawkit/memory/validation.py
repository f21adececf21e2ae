"""Checks what callers pass: dates, UUIDs, numbers in their range, texts that can be kept."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

from clawkit.errors import InvalidArgumentsError
from clawkit.memory.records import Scene, moment

LONGEST_TEXT = 20_000
"""Characters of an action, a note, an entry."""

LONGEST_NAME = 200
"""Characters of an actor, a theme, a date, a key."""

LONGEST_ASKED = 100_000
"""Characters of a message or query; recall looks at its beginning."""

MOST_AT_ONCE = 100
"""Scenes, notes, ids, actors or themes in one call."""


def clamped(argument: str, value: float | None, default: int, most: int) -> int:
    """How many are wanted: `most` at most."""
    if value is None:
        return default
    if not value >= 1:
        raise InvalidArgumentsError(argument, f"must be at least 1, not {value:g}")
    return int(min(value, most))


def identifier(argument: str, value: str) -> str:
    """A UUID as it is written in here."""
    try:
        return str(uuid.UUID(value.strip()))
    except ValueError:
        shown = value[:60]
        raise InvalidArgumentsError(argument, f"must be a UUID, and {shown!r} is none") from None


def day(argument: str, value: str) -> date:
    """A real date, `YYYY-MM-DD`."""
    try:
        found = date.fromisoformat(value)
    except ValueError:
        found = None
    if found is None or found.isoformat() != value:
        raise InvalidArgumentsError(
            argument, f"must be a date such as 2026-01-31 (YYYY-MM-DD), not {value[:40]!r}"
        )
    return found


def starts(argument: str, value: str) -> float:
    """The first moment of a day, UTC."""
    found = day(argument, value)
    return datetime(found.year, found.month, found.day, tzinfo=UTC).timestamp()


def ends(argument: str, value: str) -> float:
    """The first moment after a day, UTC."""
    return starts(argument, value) + timedelta(days=1).total_seconds()


def earlier(argument: str, value: str) -> float:
    """A moment of the past, as an ISO date or time."""
    try:
        return moment(value)
    except (ValueError, OverflowError):
        problem = (
            f"must be a date or time such as 2026-01-31 or 2026-01-31T09:30:00Z, not {value[:40]!r}"
        )
        raise InvalidArgumentsError(argument, problem) from None


def sized(argument: str, value: str, longest: int = LONGEST_TEXT) -> str:
    if len(value) > longest:
        raise InvalidArgumentsError(
            argument, f"has {len(value):,} characters; at most {longest:,} are kept in one"
        )
    return value


def said(argument: str, value: str, longest: int = LONGEST_TEXT) -> str:
    """A text that has something in it."""
    if not value.strip():
        raise InvalidArgumentsError(argument, "must not be empty")
    return sized(argument, value, longest)


def few(argument: str, values: Iterable[str]) -> tuple[str, ...]:
    found = tuple(values)
    counted(argument, len(found))
    return tuple(sized(f"{argument}[{at}]", one, LONGEST_NAME) for at, one in enumerate(found))


def counted(argument: str, number: int, most: int = MOST_AT_ONCE) -> None:
    if number > most:
        raise InvalidArgumentsError(argument, f"has {number:,} items; at most {most:,} at once")


def scene(argument: str, given: Scene) -> Scene:
    """A scene whose parts are all right; raises with the name of the one that is not."""
    said(f"{argument}.action", given.action)
    sized(f"{argument}.setting", given.setting)
    sized(f"{argument}.feeling", given.feeling)
    few(f"{argument}.actors", given.actors)
    few(f"{argument}.themes", given.themes)
    counted(f"{argument}.when", len(given.when))
    for at, value in enumerate(given.when):
        day(f"{argument}.when[{at}]", value)
    if not 0 <= given.importance <= 1:
        raise InvalidArgumentsError(
            f"{argument}.importance", f"must be between 0 and 1, not {given.importance:g}"
        )
    return given
