"""Days that are named from where the speaker stands, as days of the calendar.

`yesterday` becomes `yesterday (2026-03-04)`: the words stay as they were said, and mean the same
a year later. What names no single day, such as `last month`, stays as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_KANJI_DAYS = "月火水木金土日"
_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
_KANJI_NUMBERS = {c: n for n, c in enumerate("〇一二三四五六七八九十")}
_RELATIVE = {
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "yesterday": -1,
    "last night": -1,
    "the day before yesterday": -2,
    "tomorrow": 1,
    "tomorrow night": 1,
    "the day after tomorrow": 2,
    "今日": 0,
    "きょう": 0,
    "本日": 0,
    "今朝": 0,
    "今夜": 0,
    "今晩": 0,
    "昨日": -1,
    "きのう": -1,
    "昨夜": -1,
    "昨晩": -1,
    "一昨日": -2,
    "おととい": -2,
    "明日": 1,
    "あした": 1,
    "あす": 1,
    "明後日": 2,
    "あさって": 2,
}
_UNITS = {"day": 1, "week": 7, "日": 1, "週間": 7}
_COUNT = rf"(\d{{1,3}}|{'|'.join(_NUMBERS)})"
_MONTH = "|".join(f"{month}|{month[:3]}" for month in _MONTHS)

_LAST_DAY = 253_370_764_800.0  # 9999-01-01

_Found = Callable[[re.Match[str], date], date | None]


def resolved(text: str, day: date) -> tuple[str, tuple[str, ...]]:
    """The text with the days that it names written behind their names, and those days."""
    found: dict[tuple[int, int], date] = {}
    for pattern, meaning in _FORMS:
        for match in pattern.finditer(text):
            if any(a < match.end() and match.start() < b for a, b in found):
                continue
            meant = _safe(meaning, match, day)
            if meant is not None:
                found[match.span()] = meant
    parts: list[str] = []
    end = 0
    for (start, stop), meant in sorted(found.items()):
        iso = meant.isoformat()
        parts.append(text[end:stop] if iso in text[start:stop] else f"{text[end:stop]} ({iso})")
        end = stop
    days = dict.fromkeys(meant.isoformat() for _, meant in sorted(found.items()))
    return "".join(parts) + text[end:], tuple(days)


def day_of(moment: float) -> date:
    """The day of a time in seconds, whatever a client has sent as such."""
    moment = moment if math.isfinite(moment) else 0.0
    return datetime.fromtimestamp(min(max(moment, 0.0), _LAST_DAY), UTC).date()


def _safe(meaning: _Found, match: re.Match[str], day: date) -> date | None:
    try:
        return meaning(match, day)
    except (ValueError, OverflowError):  # the 31st of April, or 999 weeks before the year 1
        return None


def _iso(match: re.Match[str], _: date) -> date:
    return date(int(match[1]), int(match[2]), int(match[3]))


def _relative(match: re.Match[str], day: date) -> date:
    return day + timedelta(days=_RELATIVE[match[0].lower()])


def _ago(match: re.Match[str], day: date) -> date:
    return day - timedelta(days=_number(match[1]) * _UNITS[match[2].lower()])


def _ahead(match: re.Match[str], day: date) -> date:
    return day + timedelta(days=_number(match[1]) * _UNITS[match[2].lower()])


def _weekday(match: re.Match[str], day: date) -> date:
    """`last` is before today, `next` in the week that follows, plain `on` the coming one."""
    wanted = _DAYS.index(match[2].lower())
    return _in_week((match[1] or "").lower(), wanted, day)


def _kanji_weekday(match: re.Match[str], day: date) -> date:
    which = {"先週": "last week", "来週": "next", "今週": "this"}[match[1]]
    return _in_week(which, _KANJI_DAYS.index(match[2]), day)


def _in_week(which: str, wanted: int, day: date) -> date:
    monday = day - timedelta(days=day.weekday())
    if which == "last week":
        return monday + timedelta(days=wanted - 7)
    if which == "last":
        return day - timedelta(days=(day.weekday() - wanted - 1) % 7 + 1)
    if which == "next":
        return monday + timedelta(days=7 + wanted)
    if which == "this":
        return monday + timedelta(days=wanted)
    return day + timedelta(days=(wanted - day.weekday()) % 7)


def _month_first(match: re.Match[str], day: date) -> date:
    return _dated(match[3], match[1], match[2], day)


def _day_first(match: re.Match[str], day: date) -> date:
    return _dated(match[3], match[2], match[1], day)


def _kanji_date(match: re.Match[str], day: date) -> date:
    if match[1]:
        return date(int(match[1]), int(match[2]), int(match[3]))
    return _closest(int(match[2]), int(match[3]), day)


def _dated(year: str | None, month: str, number: str, day: date) -> date:
    n = next(n for n, name in enumerate(_MONTHS, 1) if name.startswith(month.lower()[:3]))
    return date(int(year), n, int(number)) if year else _closest(n, int(number), day)


def _closest(month: int, number: int, day: date) -> date:
    """The date of that name that is nearest to the day when it was said."""
    years = (day.year - 1, day.year, day.year + 1)
    there: list[date] = []
    for year in years:
        try:
            there.append(date(year, month, number))
        except ValueError:
            continue
    return min(there, key=lambda one: abs((one - day).days))


def _number(text: str) -> int:
    text = text.lower()
    if text in _NUMBERS:
        return _NUMBERS[text]
    return _KANJI_NUMBERS[text] if text in _KANJI_NUMBERS else int(text)


_relative_words = "|".join(
    rf"\b{word}\b" if word.isascii() else word for word in sorted(_RELATIVE, key=len, reverse=True)
)
_FORMS: tuple[tuple[re.Pattern[str], _Found], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), meaning)
    for pattern, meaning in (
        (r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b", _iso),
        (r"(?:(\d{4})年)?(\d{1,2})月(\d{1,2})日", _kanji_date),
        (rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?\b", _month_first),
        (rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\.?(?:,? (\d{{4}}))?\b", _day_first),
        (rf"\b{_COUNT} (day|week)s? ago\b", _ago),
        (rf"\bin {_COUNT} (day|week)s?\b(?! or)", _ahead),
        (r"(\d{1,3}|[一二三四五六七八九十])(日|週間)前", _ago),
        (r"(\d{1,3}|[一二三四五六七八九十])(日|週間)後", _ahead),
        (rf"\b(last|next|this|on|by|until) ({'|'.join(_DAYS)})\b", _weekday),
        (rf"(先週|来週|今週)の?([{_KANJI_DAYS}])曜日?", _kanji_weekday),
        (_relative_words, _relative),
    )
)
