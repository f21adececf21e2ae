"""The days that a text names, in several languages, and what callers make of them.

`yesterday` becomes `yesterday (2026-03-04)`: the words stay as they were said, and mean the same
a year later. What names no single day, such as `last month`, is a range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime

import msgspec

from clawkit.text.calendar import cjk, grammar
from clawkit.text.calendar.doubts import in_doubt

Range = tuple[date, date]

_ISO = re.compile(r"(?<!\d)(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)")
_WRITTEN = re.compile(r" \((\d{4}-\d{2}-\d{2})\)")
_LAST_DAY = 253_370_764_800.0  # 9999-01-01
_NEAR = 14
_FAR = 45


class Mention(msgspec.Struct, frozen=True):
    """A place in a text, and the days that it names."""

    start: int
    end: int
    first: date
    last: date


def mentions(
    text: str, day: date, *, asking: bool = False, with_doubts: bool = False
) -> list[Mention]:
    """The days that a text of that day names, in the order of the text.

    A weekday or date that is neither last nor next is decided by the tense; a question asks about
    the past unless it says otherwise. Of what is told, days in doubt are left out.
    """
    found = [*grammar.readings(text, day, asking=asking)]
    if not text.isascii():
        found += cjk.readings(text, day, asking=asking)
    if not found:
        return []
    found.sort(key=lambda one: one.start - one.end)
    taken = bytearray(len(text))
    kept: list[Mention] = []
    for one in found:
        # Longer ones came first, so whoever lies in between covers an end of it.
        if not (taken[one.start] or taken[one.end - 1]):
            mention = _as_written(text, Mention(one.start, one.end, *one.span))
            # The day written behind a name may have been read by itself.
            kept = [other for other in kept if not one.end <= other.start < mention.end]
            taken[one.start : mention.end] = b"\1" * (mention.end - one.start)
            kept.append(mention)
    kept.sort(key=lambda one: one.start)
    if asking or with_doubts:
        return kept
    doubts = in_doubt(text, kept, day)
    return [one for one in kept if one.start not in doubts or _is_written(text, one)]


def resolved(text: str, day: date) -> tuple[str, tuple[str, ...]]:
    """The text with the days that it names written behind their names, and those days."""
    parts: list[str] = []
    days: list[str] = []
    end = 0
    for one in mentions(text, day):
        if one.first != one.last:
            continue
        iso = one.first.isoformat()
        days.append(iso)
        said = text[end : one.end]
        parts.append(said if _is_written(text, one) else f"{said} ({iso})")
        end = one.end
    return "".join(parts) + text[end:], tuple(dict.fromkeys(days))


def resolved_on(
    text: str, when: Sequence[str], today: date | None = None
) -> tuple[str, tuple[str, ...]]:
    """The text resolved from the one day in `when`, and all days; without any, from today.

    From which of several days it was said cannot be known: then the text stays as it is.
    """
    known = list(days(when)) if when else [today] if today else []
    if len(known) != 1:
        return text, tuple(when)
    text, named = resolved(text, known[0])
    own = known[0].isoformat()
    return text, (*(when or (own,)), *(day for day in named if day != own))


def ranges(text: str, now: float) -> list[Range]:
    """The days that a question asks about."""
    return [(one.first, one.last) for one in mentions(text, day_of(now), asking=True)]


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
            try:
                yield date(int(year), int(month), int(day))
            except ValueError:
                continue


def day_of(moment: float) -> date:
    """The day of a time in seconds, whatever a client has sent as such."""
    moment = moment if math.isfinite(moment) else 0.0
    return datetime.fromtimestamp(min(max(moment, 0.0), _LAST_DAY), UTC).date()


def _is_written(text: str, mention: Mention) -> bool:
    return mention.first.isoformat() in text[mention.start : mention.end]


def _as_written(text: str, mention: Mention) -> Mention:
    """A day that was already written behind its words is that day."""
    written = _WRITTEN.match(text, mention.end)
    if written is None:
        return mention
    try:
        day = date.fromisoformat(written[1])
    except ValueError:
        return mention
    return Mention(mention.start, written.end() - 1, day, day)
