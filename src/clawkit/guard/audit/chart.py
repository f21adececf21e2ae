"""Draws calls per hour, and how many of them were blocked, with block characters or ASCII."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from clawkit.guard.audit.stats import Hour

if TYPE_CHECKING:
    from datetime import datetime

_ROWS = 5


class Ink(msgspec.Struct, frozen=True):
    """What to draw with: `levels` go from nothing to full."""

    levels: str
    wall: str
    corner: str
    floor: str


BLOCKS = Ink(levels=" ▁▂▃▄▅▆▇█", wall="│", corner="└", floor="─")
ASCII = Ink(levels=" .:=#", wall="|", corner="+", floor="-")


class _Column(msgspec.Struct):
    start: datetime
    calls: int = 0
    blocked: int = 0


def draw(hours: Iterable[Hour], width: int, ink: Ink = BLOCKS) -> list[str]:
    """The lines of the chart, none wider than `width`; no calls, no lines."""
    known = [(moment, hour) for hour in hours if (moment := _moment(hour.hour))]
    if not known:
        return []
    top_label = str(max(hour.calls for _, hour in known))
    margin = max(len(top_label), len("blocked")) + 2
    columns, step = _columns(known, max(8, width - margin))
    most = max(column.calls for column in columns)
    wide = 2 if len(columns) * 2 <= width - margin else 1
    chart = [_title(step)]
    for row in range(_ROWS - 1, -1, -1):
        cells = (_cell(column.calls / most, row, ink) * wide for column in columns)
        label = str(most) if row == _ROWS - 1 else ""
        chart.append(f"{label:>{margin - 2}} {ink.wall}{''.join(cells)}")
    chart.append(" " * (margin - 1) + ink.corner + ink.floor * (len(columns) * wide))
    shares = (_share(column, ink) * wide for column in columns)
    chart.append(f"{'blocked':>{margin - 2}}  {''.join(shares)}")
    chart.append(" " * margin + _times(columns, len(columns) * wide))
    return [line.rstrip() for line in chart]


def _moment(hour: str) -> datetime | None:
    from datetime import datetime

    try:
        return datetime.fromisoformat(f"{hour}:00Z")
    except ValueError:
        return None


def _columns(known: list[tuple[datetime, Hour]], most: int) -> tuple[list[_Column], int]:
    """As many columns as fit, without a gap in time, and how many hours each of them has."""
    from datetime import timedelta

    first = known[0][0]
    total = _hours(first, known[-1][0]) + 1
    step = -(-total // most)
    columns = [_Column(first + timedelta(hours=at)) for at in range(0, total, step)]
    for moment, hour in known:
        column = columns[_hours(first, moment) // step]
        column.calls += hour.calls
        column.blocked += hour.blocked
    return columns, step


def _hours(start: datetime, end: datetime) -> int:
    return int((end - start).total_seconds() // 3600)


def _cell(share: float, row: int, ink: Ink) -> str:
    """One cell of a bar: full, empty, or the part that the bar reaches into it."""
    full = len(ink.levels) - 1
    height = max(1, round(share * _ROWS * full)) if share else 0
    return ink.levels[min(full, max(0, height - row * full))]


def _share(column: _Column, ink: Ink) -> str:
    if not column.blocked:
        return ink.levels[0]
    full = len(ink.levels) - 1
    return ink.levels[max(1, round(column.blocked / column.calls * full))]


def _title(step: int) -> str:
    return "calls per hour" if step == 1 else f"calls per {step} hours"


def _times(columns: list[_Column], width: int) -> str:
    """The local time of the first and the last column, if both fit."""
    first, last = (
        column.start.astimezone().strftime("%m-%d %H:%M") for column in (columns[0], columns[-1])
    )
    gap = width - len(first) - len(last)
    return first + " " * gap + last if gap > 0 else first
