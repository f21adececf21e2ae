"""Days and spans of days, counted from the day on which something was said."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import date, timedelta
from typing import Literal

import msgspec

Span = tuple[date, date]
Which = Literal["before last", "last", "past", "this", "coming", "next", "after next"]
Unit = Literal["day", "week", "weekend", "month", "year"]
Part = Literal["begin", "middle", "end", "1", "2", "3", "4", "-1"]

_AROUND: dict[Unit, int] = {"day": 0, "week": 3, "weekend": 3, "month": 15, "year": 182}
_LENGTHS: dict[Unit, int] = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_STEPS: dict[Which, int] = {
    **dict.fromkeys(("last", "past"), -1),
    **dict.fromkeys(("next", "coming"), 1),
    "before last": -2,
    "this": 0,
    "after next": 2,
}
_LONG = 100
"""The beginning of what has more days is its first quarter, else its first third."""

_LEAP = 8
"""The 29th of February comes back after so many years, the 31st after fewer months."""


class Mention(msgspec.Struct, frozen=True):
    """A place in a text, and the days that it names."""

    start: int
    end: int
    first: date
    last: date


def weekday(wanted: int, which: Which, day: date) -> date:
    """`last` is before that day, `coming` after it, `next` in the week that follows."""
    if which in {"last", "past"}:
        return day - timedelta((day.weekday() - wanted - 1) % 7 + 1)
    if which == "before last":
        return weekday(wanted, "last", day) - timedelta(7)
    if which == "coming":
        return day + timedelta((wanted - day.weekday() - 1) % 7 + 1)
    return weekday_of(wanted, which, day)


def weekday_of(wanted: int, which: Which, day: date) -> date:
    """That weekday of the week before, this or the next one."""
    return day + timedelta(wanted - day.weekday() + 7 * _STEPS[which])


def dated(number: int, month: int, day: date) -> Span:
    """The latest day of that name until a day, and the first from then on."""
    years = range(day.year - _LEAP, day.year + _LEAP + 1)
    return _around(((year, month, number) for year in years), day)


def day_of_month(number: int, day: date) -> Span:
    """The latest such day of a month until a day, and the first from then on."""
    month = day.year * 12 + day.month - 1
    months = range(month - _LEAP, month + _LEAP + 1)
    return _around(((month // 12, month % 12 + 1, number) for month in months), day)


def _around(candidates: Iterable[tuple[int, int, int]], day: date) -> Span:
    """The last until a day and the first from then on; ValueError where there is none."""
    found: list[date] = []
    for candidate in candidates:
        with suppress(ValueError):
            found.append(date(*candidate))
    return max(one for one in found if one <= day), min(one for one in found if one >= day)


def whole_month(month: int, year: int) -> Span:
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), following - timedelta(1)


def whole_year(year: int) -> Span:
    return date(year, 1, 1), date(year, 12, 31)


def month_near(month: int, *, past: bool, day: date) -> Span:
    """The latest such month that has begun, or the first that has not ended."""
    later = month > day.month if past else month < day.month
    return whole_month(month, day.year + (0 if not later else -1 if past else 1))


def season(first: int, which: Which, day: date) -> Span:
    """The season that begins in that month."""
    year = day.year if first <= day.month else day.year - 1
    begun = season_of(first, year)
    if _STEPS[which] < 0:
        return begun if begun[1] < day else season_of(first, year - 1)
    if which == "this" and (begun[1] >= day or begun[0].year == day.year):
        return begun
    return season_of(first, year + 1)


def season_near(first: int, *, past: bool, day: date) -> Span:
    """The latest that has begun, or the first that has not ended."""
    year = day.year if first <= day.month else day.year - 1
    begun = season_of(first, year)
    return begun if past or begun[1] >= day else season_of(first, year + 1)


def unit(name: Unit, which: Which, day: date) -> Span:
    """The week, weekend, month or year before, around or after that day."""
    step = _STEPS[which]
    if name == "day":
        return day + timedelta(step), day + timedelta(step)
    if name == "week":
        monday = weekday_of(0, which, day)
        return monday, monday + timedelta(6)
    if name == "weekend":
        return _weekend(which, day)
    if name == "month":
        months = day.year * 12 + day.month - 1 + step
        return whole_month(months % 12 + 1, months // 12)
    return whole_year(day.year + step)


def until_now(count: int, name: Unit, day: date) -> Span:
    return day - timedelta(count * _LENGTHS[name]), day


def from_now(count: int, name: Unit, day: date) -> Span:
    return day, day + timedelta(count * _LENGTHS[name])


def away(count: int, name: Unit, day: date, *, exact: bool) -> Span:
    """So many days or weeks from a day; what is not meant to the day has some days around it."""
    middle = day + timedelta(count * _LENGTHS[name])
    if exact and name in {"day", "week"}:
        return middle, middle
    around = timedelta(_AROUND[name])
    return middle - around, middle + around


def few_away(sign: int, name: Unit, day: date) -> Span:
    """Two to five of a unit before or after a day."""
    near, far = (day + timedelta(sign * count * _LENGTHS[name]) for count in (2, 5))
    return (far, near) if sign < 0 else (near, far)


def part(span: Span, which: Part) -> Span:
    """The beginning, middle or end of a span, or one of its weeks."""
    first, last = span
    if which == "-1":
        return last - timedelta(6), last
    if which.isdigit():
        start = first + timedelta(7 * (int(which) - 1))
        return start, start + timedelta(6)
    length = (last - first).days + 1
    share = timedelta(length // (4 if length > _LONG else 3))
    if which == "begin":
        return first, first + share - timedelta(1)
    if which == "middle":
        return first + share, last - share
    return last - share + timedelta(1), last


def _weekend(which: Which, day: date) -> Span:
    """On a weekend, `this` is that one and `last` the one before."""
    saturday = day + timedelta(5 - day.weekday())
    if which in {"last", "past"}:
        saturday -= timedelta(7)
    elif which == "next" or (which == "coming" and saturday <= day):
        saturday += timedelta(7)
    return saturday, saturday + timedelta(1)


def season_of(first: int, year: int) -> Span:
    ends = whole_month((first + 1) % 12 + 1, year + (first + 1) // 12)
    return date(year, first, 1), ends[1]
