"""Times in a question, as ranges of days, and how well a memory's days fit them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta

Range = tuple[date, date]

_MONTH_NAMES = (
    "january february march april may june july august september october november december"
)
_WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_MONTHS: tuple[str, ...] = tuple(_MONTH_NAMES.split())
_WEEKDAYS: tuple[str, ...] = tuple(_WEEKDAY_NAMES.split())
_MONTH = "|".join(f"{name}|{name[:3]}" for name in _MONTHS) + "|sept"
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ISO = re.compile(r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b")
_DAY_MONTH = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?(?P<month>{_MONTH})\b\.?"
    r"(?: (?P<after>\d{1,2})(?:st|nd|rd|th)?\b(?!\d))?(?:,? (?:of )?(?P<year>\d{4}))?",
    re.IGNORECASE,
)
_MAY = re.compile(r"\b(?:in|last|since|this|next|of|early|late|during|by)\s+may\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:in|since|during|of|year) (\d{4})\b", re.IGNORECASE)
_AGO = re.compile(
    r"\b(\d+|an?|one|two|three|four|five|six|a few|a couple of) (day|week|month|year)s? ago\b",
    re.IGNORECASE,
)
_LAST = re.compile(
    rf"\b(last|this|past) (week|month|year|weekend|{'|'.join(_WEEKDAYS)}|{'|'.join(_SEASONS)})\b",
    re.IGNORECASE,
)
_JAPANESE = re.compile(
    r"(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?:(?P<day>\d{1,2})日)?|(?P<only>\d{4})年"
)
_NUMBERS = {
    **dict.fromkeys(("a", "an", "one"), 1),
    **dict.fromkeys(("two", "a couple of"), 2),
    **dict.fromkeys(("three", "a few"), 3),
    "four": 4,
    "five": 5,
    "six": 6,
}
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
# How many days back a word reaches: from, to.
_BACK = {
    **dict.fromkeys(("today", "今日"), (0, 0)),
    # Before 昨日, which it ends with.
    **dict.fromkeys(("一昨日", "おととい"), (2, 2)),
    **dict.fromkeys(("yesterday", "昨日", "きのう", "昨夜"), (1, 1)),
    **dict.fromkeys(("recently", "lately", "最近"), (30, 0)),
    "先日": (14, 1),
    "今週": (6, 0),
    "先週": (13, 5),
}
_BACK_WORD = re.compile("|".join(rf"\b{w}\b" if w.isascii() else w for w in _BACK), re.IGNORECASE)
_MONTHS_BACK = {"今月": 0, "先月": 1, "先々月": 2}
_YEARS_BACK = {"今年": 0, "去年": 1, "昨年": 1, "一昨年": 2, "おととし": 2}
_NEAR = 14
_FAR = 45


def ranges(text: str, now: float) -> list[Range]:
    """The times that a text speaks of; a year that it leaves out is the latest that fits."""
    today = datetime.fromtimestamp(now, UTC).date()
    found = [*_written(text, today), *_relative(text, today), *_japanese(text, today)]
    return [(first, last) for first, last in found if first <= last]


def fit(when: Sequence[str], asked: Sequence[Range]) -> float:
    """1 for a day within what is asked, less for one shortly after, 0 for one far away.

    People tell of a day some days later, so after counts for more than before.
    """
    best = 0.0
    for day in days(when):
        for first, last in asked:
            if first <= day <= last:
                return 1.0
            if day > last:
                best = max(best, 0.6 * (1 - (day - last).days / _FAR))
            else:
                best = max(best, 0.3 * (1 - (first - day).days / _NEAR))
    return best


def days(when: Sequence[str]) -> Iterator[date]:
    """The days in a memory's `when`, however they are written around it."""
    for text in when:
        for year, month, day in _ISO.findall(text):
            yield from _day(int(year), int(month), int(day))


def _written(text: str, today: date) -> Iterator[Range]:
    for year, month, day in _ISO.findall(text):
        yield from _span(int(year), int(month), int(day))
    dated = False
    for match in _DAY_MONTH.finditer(text):
        day = match["day"] or match["after"]
        if match["month"].lower() == "may" and not (day or match["year"] or _MAY.search(text)):
            continue
        month = next(n for n, m in enumerate(_MONTHS, 1) if m[:3] == match["month"][:3].lower())
        dated = dated or bool(match["year"])
        year = int(match["year"]) if match["year"] else _latest_year(month, today)
        yield from _span(year, month, int(day) if day else None)
    if not dated:
        for year in _YEAR.findall(text):
            yield from _span(int(year), None, None)


def _relative(text: str, today: date) -> Iterator[Range]:
    for match in _BACK_WORD.finditer(text):
        first, last = _BACK[match[0].lower()]
        yield today - timedelta(first), today - timedelta(last)
    for count, unit in _AGO.findall(text):
        number = int(count) if count.isdigit() else _NUMBERS[count.lower()]
        span = _DAYS[unit.lower()]
        if number * span < 36_500:
            middle, slack = today - timedelta(number * span), timedelta(span // 2)
            yield middle - slack, middle + slack
    for which, unit in _LAST.findall(text):
        yield _last(which.lower(), unit.lower(), today)


def _last(which: str, unit: str, today: date) -> Range:
    this = which == "this"
    if unit == "week":
        return (today - timedelta(6), today) if this else (today - timedelta(13), today)
    if unit == "month":
        return _month_back(0 if this else 1, today)
    if unit == "year":
        year = today.year - (not this)
        return date(year, 1, 1), date(year, 12, 31)
    if unit == "weekend":
        saturday = today - timedelta((today.weekday() - 5) % 7)
        return saturday, saturday + timedelta(1)
    if unit in _SEASONS:
        month = _SEASONS[unit]
        year = _latest_year(month, today)
        first = date(year, month, 1)
        return first, first + timedelta(91)
    back = (today.weekday() - _WEEKDAYS.index(unit)) % 7 or 7
    return today - timedelta(back), today - timedelta(back)


def _japanese(text: str, today: date) -> Iterator[Range]:
    for match in _JAPANESE.finditer(text):
        if match["only"]:
            yield from _span(int(match["only"]), None, None)
            continue
        month = int(match["month"])
        if 1 <= month <= 12:
            year = int(match["year"]) if match["year"] else _latest_year(month, today)
            yield from _span(year, month, int(match["day"]) if match["day"] else None)
    for word, back in _MONTHS_BACK.items():
        if word in text:
            yield _month_back(back, today)
    for word, back in _YEARS_BACK.items():
        if word in text and not (word == "昨年" and "一昨年" in text):
            yield date(today.year - back, 1, 1), date(today.year - back, 12, 31)


def _latest_year(month: int, today: date) -> int:
    return today.year if month <= today.month else today.year - 1


def _month_back(back: int, today: date) -> Range:
    months = today.year * 12 + today.month - 1 - back
    return next(_span(months // 12, months % 12 + 1, None))


def _span(year: int, month: int | None, day: int | None) -> Iterator[Range]:
    if not 1 <= year < 9999:
        return
    if month is None:
        yield date(year, 1, 1), date(year, 12, 31)
    elif day is None:
        for first in _day(year, month, 1):
            following = date(year + month // 12, month % 12 + 1, 1)
            yield first, following - timedelta(1)
    else:
        for found in _day(year, month, day):
            yield found, found


def _day(year: int, month: int, day: int) -> Iterator[date]:
    try:
        yield date(year, month, day)
    except ValueError:
        return
