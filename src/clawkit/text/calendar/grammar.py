"""Which days words name, once they are symbols: short patterns, the same for all languages.

A language turns each of its words into one symbol (`W` a weekday, `M` a month, ...). Patterns
repeat nothing without a bound, so reading is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache, lru_cache
from typing import Any, cast

import msgspec

from clawkit.text.calendar import context, spans
from clawkit.text.calendar.context import Evidence, Neighbours, Sentences
from clawkit.text.calendar.lexicon import Lexicon, Word
from clawkit.text.calendar.spans import Span, Unit, Which

_WORD = re.compile(r"[^\W\d_]+")
_MOST_CACHED = 4096
_LONGEST_COUNT = 999
_MONDAY, _FRIDAY = 0, 4
_NEAR = timedelta(183)
_LONGEST_ROW, _FEWEST_IN_ROW = 80, 3
_IN_ROW = re.compile(r"\s*[,/&+]?(?:\s+[^\W\d_]{1,3}){0,2}\s*")
"""Between two weekdays that are told in one breath: "and on", "e a"."""


class PlacedWord(msgspec.Struct, frozen=True):
    """A word in the text."""

    word: Word
    start: int
    end: int
    text: str


Meaning = Callable[["Found"], "Span | None"]


class Found(msgspec.Struct, frozen=True):
    """A pattern's match, and all that its meaning depends on."""

    match: re.Match[str]
    meaning: Meaning
    start: int
    end: int
    places: list[PlacedWord | None]
    lexicon: Lexicon
    sentences: Sentences
    day: date
    asking: bool

    def place(self, group: str) -> PlacedWord:
        """The word of a group that the match has."""
        return cast("PlacedWord", self.places[self.match.start(group)])

    def value(self, group: str) -> Any:
        return self.place(group).word.value if self.symbol(group) else None

    @property
    def neighbours(self) -> Neighbours:
        start = self.place("p").start if self.symbol("p") else self.start
        return Neighbours(self.sentences.text, start, self.end)

    @property
    def words(self) -> str:
        """The words of the match, with the preposition before them."""
        places = self.places[self.match.start() : self.match.end()]
        return " ".join(place.text.lower() for place in places if place)

    def part(self, span: Span) -> Span:
        """The part of a span that is named, if one is."""
        return spans.part(span, self.value("b")) if self.symbol("b") else span

    def symbol(self, group: str) -> str:
        return self.match.groupdict().get(group) or ""

    @property
    def past(self) -> bool:
        """Whether what is not said to be last or next is rather in the past."""
        if "toward" in self.before:
            return False
        time = self.evidence.time
        if "since" in self.before:
            return True
        if "from" in self.before:
            return time != "future"
        return time in {"past", None} if self.asking else time == "past"

    @property
    def before(self) -> frozenset[str]:
        """What the words before it say: since, from, until or toward."""
        first, last = self.match.span("p") if "p" in self.match.re.groupindex else (0, 0)
        places = cast("list[PlacedWord]", self.places[max(first, 0) : max(last, 0)])
        words = [place.word for place in places]
        names = {"V": "since", "Z": "toward"}
        found = {word.value or names[word.symbol] for word in words if word.symbol in names}
        if self.symbol("w") and self.place("w").word.toward:
            found.add("toward")
        return frozenset(found)

    @property
    def evidence(self) -> Evidence:
        return self.sentences.evidence(
            self.start, self.end, self.lexicon.language, ahead="until" in self.before
        )

    @property
    def is_of_two_times(self) -> bool:
        """Whether nothing tells of which time the only verb is, which is the same in both."""
        return self.sentences.has_two_times(self.start, self.lexicon.language)

    def dated(self, number: int, month: int) -> date | None:
        """The day of a date without a year, if it is clear which; a weekday beside it tells."""
        earlier, later = spans.dated(number, month, self.day)
        if self.symbol("w"):
            fitting = [day for day in (earlier, later) if day.weekday() == self.value("w")]
            if len(fitting) == 1:
                return fitting[0] if self._is_near(fitting[0]) else None
            if not fitting and not self.asking:
                return None
        return self.chosen(earlier, later)

    def _is_near(self, day: date) -> bool:
        """Whether a day that its weekday tells is not rather a slip: long ago, though to come."""
        if self.asking or day >= self.day or self.evidence.time == "past":
            return True
        return self.day - day <= _NEAR

    def chosen(self, earlier: date, later: date) -> date | None:
        """The one that is meant of the days of that name around the day of the text."""
        before = self.before
        if self.asking or "since" in before:
            return earlier if self.past else later
        told = self.evidence
        if "toward" in before:
            told = Evidence(told.time, toward=True)
        elif "from" in before and told.time in {"present", None}:
            told = Evidence(told.time, doubtful=True)
        elif told.time is None and self.sentences.tells_what_happened(self.start):
            told = Evidence("past")
        elif told.time is None and self.is_of_two_times:
            told = Evidence(None, doubtful=True)
        return told.choose(earlier, later, self.day)


def _iso(found: Found) -> Span | None:
    numbers = [int(part) for part in re.split(r"[-/.]", found.value("i"))]
    if numbers[0] > 31:
        return _one(date(*numbers[:3]))
    first, second, year = numbers
    day_month = _day_month(first, second, found, "/" in found.value("i"))
    if day_month is None:
        return None
    return _one(date(year if year > 99 else 2000 + year, day_month[1], day_month[0]))


def _short(found: Found) -> Span | None:
    """`22.10.` is a day only where something before it says so: it may be a price or a version."""
    text = found.value("i")
    if text == "24/7" or ("." in text[:-1] and found.lexicon.language == "en"):
        return None
    first, second = (int(part) for part in re.findall(r"\d+", text))
    day_month = _day_month(first, second, found, "/" in text)
    if day_month is None:
        return None
    return _if_clear(found.dated(*day_month))


def _day_month(first: int, second: int, found: Found, slash: bool) -> tuple[int, int] | None:
    """The day comes first, but not for all who write English: in doubt it is no day."""
    if second > 12 >= first and slash:
        return second, first
    if slash and first <= 12 and first != second:
        scores = found.sentences.scores(found.start)
        if scores["en"] >= max(scores.values()):
            return None
    return first, second


def _day_first(found: Found) -> Span | None:
    month = found.place("m")
    if not _is_month(month, found) or found.value("d") > 31:
        return None
    year = found.value("y")
    if year:
        return _one(date(year, month.word.value, found.value("d")))
    if found.sentences.born(month.start):
        return None
    if _comes_back_each_year(found):
        return NOTHING
    return _if_clear(found.dated(found.value("d"), month.word.value))


def _comes_back_each_year(found: Found) -> bool:
    """Whether it is a birthday or the like, and not the one of a year that is told of."""
    if found.asking or found.symbol("w"):
        return False
    if not context.is_yearly(found.sentences.clause(found.start, found.end)):
        return False
    return found.evidence.time in {"present", None}


def _day_and_weekday(found: Found) -> Span | None:
    """`6 October, Tuesday`; another weekday than its own is of what follows."""
    span = _day_first(found)
    fits = span is not None and span[0].weekday() == found.value("w")
    return span if fits else None


def _month_first(found: Found) -> Span | None:
    return _day_first(found) if found.lexicon.month_first else None


def _is_month(month: PlacedWord, found: Found) -> bool:
    """`10 may` is a month where it is written as one."""
    if month.word.symbol == "M" or month.text[0].isupper() or found.lexicon.language != "en":
        return True
    if month.text not in _VERBS:
        return True
    return bool(found.value("y")) or "o" in found.match[0] or found.match[0][0] in "PAV"


def _days_of_month(found: Found) -> Span | None:
    month, year = found.value("m"), found.value("y")
    first, last = found.value("d"), found.value("e")
    if year:
        return date(year, month, first), date(year, month, last)
    ends = found.dated(last, month)
    return (ends.replace(day=first), ends) if ends else NOTHING


def _month_days(found: Found) -> Span | None:
    return _days_of_month(found) if found.lexicon.month_first else None


def _month(found: Found) -> Span | None:
    """A month, or a part of it."""
    span = _month_span(found.place("m"), found)
    return found.part(span) if span else None


def _month_span(month: PlacedWord, found: Found) -> Span | None:
    number = month.word.value
    if found.value("y"):
        return spans.whole_month(number, found.value("y"))
    which = found.value("l") or found.value("r")
    if which:
        if month.text in _VERBS and which == "this":
            return None
        return _month_of(number, which, found.day)
    if not _names_month(month, found):
        return None
    return spans.month_near(number, past=found.past, day=found.day)


def _month_of(number: int, which: Which, day: date) -> Span:
    if which == "this":
        return spans.whole_month(number, day.year)
    past = which in {"last", "past", "before last"}
    # "Last October" said in October is a year ago.
    if number == day.month:
        return spans.whole_month(number, day.year + (-1 if past else 1))
    return spans.month_near(number, past=past, day=day)


def _names_month(month: PlacedWord, found: Found) -> bool:
    if month.word.symbol == "M" or found.symbol("b"):
        return True
    before = found.symbol("p")[:1]
    if not before or before == "F":
        return False
    if month.word.short:
        return before in "AV" and month.text[0].isupper()
    return month.text[0].isupper() or before in "AV" or found.lexicon.language != "en"


def _weekday(found: Found) -> Span | None:
    name = found.place("w")
    which = cast("Which | None", found.value("l") or found.value("r"))
    before = found.symbol("p")
    if name.word.symbol == "w" and not _is_short_weekday(name, found, before, which):
        return None
    if which is None and _comes_back(found):
        return NOTHING
    if which in {None, "this"}:
        return _if_clear(_weekday_around(name.word.value, found))
    if _is_final(found):
        return NOTHING
    return _one(spans.weekday(name.word.value, which or "coming", found.day))


def _comes_back(found: Found) -> bool:
    """Whether each such weekday is meant: "on Tuesday evenings", "the bins go out on Tuesday"."""
    before = found.symbol("p")
    if found.lexicon.habit and before and before[-1] in "pF":
        return True
    if found.neighbours.follow("each"):
        return True
    time = found.evidence.time
    if found.asking or time in {"past", "future"}:
        return False
    return _is_in_row(found) or found.sentences.is_habit(found.start, found.lexicon.language)


def _is_in_row(found: Found) -> bool:
    """Whether it is one of three weekdays or more: "works on Monday, Tuesday and Thursday"."""
    first = max(0, found.start - _LONGEST_ROW)
    text = found.sentences.text[first : found.end + _LONGEST_ROW].lower()
    row: list[int] = []
    end = 0
    for word in _WORD.finditer(text):
        known = found.lexicon.phrases.get((word[0],))
        if known is None or known.symbol not in "Ww":
            continue
        if not _IN_ROW.fullmatch(text, end, word.start()):
            row = []
        row.append(first + word.start())
        end = word.end()
        if len(row) >= _FEWEST_IN_ROW and found.start in row:
            return True
    return False


def _weekday_around(wanted: int, found: Found) -> date | None:
    """The weekday that is neither last nor next; on that weekday it is today."""
    today = wanted == found.day.weekday()
    if today and "since" not in found.before and not (found.asking and found.past):
        return found.day
    told = found.evidence
    if told.time == "past" and not found.asking and "toward" not in found.before:
        if _is_moved_from(found):
            return spans.weekday(wanted, "coming", found.day)
        said = told.reports and not found.symbol("p")  # "he said Friday"
        others = told.subject or told.apart  # the verb that is known is of another clause
        if said or others or (told.ahead and ("until" in found.before or not told.own)):
            return None
    if told.time is None and not (found.asking or found.before) and found.is_of_two_times:
        return None
    return spans.weekday(wanted, "last" if found.past else "coming", found.day)


def _is_moved_from(found: Found) -> bool:
    """Whether it is the first of two weekdays from one of which to the other something moved."""
    follows = _MOVED_TO.match(found.match.string, found.match.end())
    return bool(follows) and found.sentences.is_moved(found.start, found.lexicon.language)


def _slot(found: Found) -> Span | None:
    """ "Moved from Mon 10 to Wed 14": hours, or days of the month."""
    moved = found.sentences.is_moved(found.start, found.lexicon.language)
    return NOTHING if moved else None


def _weeks_after(found: Found) -> Span | None:
    """ "Monday week", "a week on Friday", "a week last Friday"."""
    if found.symbol("u") and found.lexicon.language != "en":
        return None
    if found.neighbours.precede("how_often"):
        return NOTHING
    weeks = timedelta(7 * (found.value("c") or 1))
    if found.value("l") == "last":
        return _one(spans.weekday(found.value("w"), "last", found.day) - weeks)
    if found.evidence.time == "past" and found.symbol("c"):
        return NOTHING
    return _one(spans.weekday(found.value("w"), "coming", found.day) + weeks)


def _is_final(found: Found) -> bool:
    """Whether `last` is the last of all: "my last night here"; in doubt it is."""
    if found.neighbours.precede("own"):
        return True
    alone = found.sentences.begins(found.start) and found.evidence.time is None
    return alone and found.neighbours.follow("there")


def _two_weekdays(found: Found) -> Span | None:
    """Spanish weekdays have no plural: without their article, two of them come back."""
    comes_back = found.lexicon.language == "es" and not found.symbol("p")
    return NOTHING if comes_back else None


def _is_short_weekday(name: PlacedWord, found: Found, before: str, which: Which | None) -> bool:
    if name.word.doubtful:  # a word of its own, such as the Portuguese `sexta`
        return bool(before or which)
    if not name.text[0].isupper():
        return False
    return bool(before or which) or (found.symbol("dot") == "." and name.text not in _TITLES)


def _weekday_in_week(found: Found) -> Span | None:
    return _one(spans.weekday_of(found.value("w"), found.value("l"), found.day))


def _unit(found: Found) -> Span | None:
    unit = cast("Unit", found.value("u"))
    which = cast("Which", found.value("l") or "this")
    if which == "past":
        return spans.until_now(1, unit, found.day)
    return found.part(spans.unit(unit, which, found.day))


def _weekend(found: Found) -> Span | None:
    return spans.unit("weekend", "last" if found.past else "coming", found.day)


def _day_of_month(found: Found) -> Span | None:
    """The 22nd, where no noun follows that it counts."""
    number, language = found.value("d"), found.lexicon.language
    certain = context.has_in(language, "certain", found.words)
    if not 1 <= number <= 31 or not (certain or found.neighbours.are_not_counted()):
        return None
    if found.symbol("p")[:1] == "A" or context.has_in(language, "floor", found.words):
        return None
    if not found.asking and _has_month(found):
        return NOTHING
    return _if_clear(found.chosen(*spans.day_of_month(number, found.day)))


def _has_month(found: Found) -> bool:
    """Whether the sentence names a month elsewhere, whose day it may be."""
    words = _WORD.findall(found.sentences.sentence(found.start).lower())
    phrases = found.lexicon.phrases
    known = (phrases.get((word,)) for word in words if word not in _VERBS)
    return any(one is not None and one.symbol in "Mm" and not one.short for one in known)


def _bare_day(found: Found) -> Span | None:
    """`el 24`, `le 24`: a number alone, which may be that of a bus, too."""
    before = found.places[found.match.start("d") - 1]
    if before is None or before.text.lower().split()[-1] not in found.lexicon.before_day:
        return None
    taken = found.neighbours.precede("taken")  # the number of a bus line or a channel
    if taken or not found.sentences.are_in(found.lexicon.language, found.start):
        return None
    numbered = context.has("numbered", found.sentences.sentence(found.start))
    return None if numbered else _day_of_month(found)


def _bare_ordinal(found: Found) -> Span | None:
    """The Dutch `de 24e`, and what is the same in Russian."""
    language = found.lexicon.language
    if not context.has_in(language, "ordinal", found.words):
        return None
    is_day = language == "ru" or found.sentences.are_in(language, found.start)
    return _day_of_month(found) if is_day else None


def _season(found: Found) -> Span | None:
    first, year = found.value("s"), found.value("y")
    if year:
        span = spans.season_of(first, year)
    elif found.value("l"):
        span = spans.season(first, found.value("l"), found.day)
    else:
        span = spans.season_near(first, past=found.past, day=found.day)
    return found.part(span)


def _counted_span(found: Found) -> Span | None:
    count = found.value("c") or 3
    unit = cast("Unit", found.value("u"))
    if found.value("l") in {"last", "past"}:
        return spans.until_now(count, unit, found.day)
    return spans.from_now(count, unit, found.day)


def _ago(found: Found) -> Span | None:
    return _away(found, -1)


def _ahead(found: Found) -> Span | None:
    """In two weeks; in a sentence about the past that is how long something took."""
    beside = found.neighbours
    if found.symbol("a") == "j" and beside.precede("how_often"):
        return _one(found.day)
    compared = beside.follow("than") or beside.precede("than")  # more in nine days than in four
    if found.symbol("a") == "A" and (found.evidence.time == "past" or compared):
        return None
    return _away(found, 1)


def _away(found: Found, sign: int) -> Span | None:
    unit = cast("Unit", found.value("u"))
    count = found.value("c")
    if count is None:
        return spans.few_away(sign, unit, found.day)
    if not 0 < count <= _LONGEST_COUNT:
        return None
    return spans.away(sign * count, unit, found.day, exact=not found.asking or unit == "day")


def _relative(found: Found) -> Span | None:
    first, last = found.value("t")
    if context.has("last_night", found.words) and _is_final(found):
        return NOTHING
    return found.day + timedelta(first), found.day + timedelta(last)


def _from_today(found: Found) -> Span | None:
    return _one(found.day) if found.place("a").text.lower() == "from today" else None


def _year(found: Found) -> Span | None:
    return found.part(spans.whole_year(found.value("y")))


def _nothing(_: Found) -> Span | None:
    return NOTHING


def _working_week(found: Found) -> Span | None:
    """From Monday to Friday is each week; from Tuesday to Friday may be where it was moved to."""
    first, last = found.value("w"), found.value("x")
    return NOTHING if first == _MONDAY and last >= _FRIDAY else None


def _one(day: date) -> Span:
    return day, day


def _if_clear(day: date | None) -> Span:
    return NOTHING if day is None else _one(day)


NOTHING: Span = (date.min, date.min)
_VERBS = frozenset({"may", "march", "mar"})
_TITLES = frozenset({"Fr", "So", "Do"})
# P on, p on or of, A in, V since, Z for; F of; L last, N next, H this; y day, u week, U others.
_BEFORE = r"(?P<p>[PpAVZ][Fp]?|[Fp])"
_WEEKDAY = r"(?:(?P<w>[Ww])\.?,?[PpF]{0,2})?"
_YEAR = r"(?:[.,-]?[Fp]{0,2}U?(?P<y>Y))?"
_WHICH = "[LNH]"
_AFTER_MONTH = rf"(?:F?(?P<r>{_WHICH})|\.?[.,-]?[Fp]{{0,2}}U?(?P<y>Y))?"
_COUNT = "(?P<c>[CdnQ])"
_MOVED_TO = re.compile("[-TZPpFA]{1,3}[Ww]")

_RULES: tuple[tuple[str, Meaning], ...] = (
    (r"(?:[Ww]\.?,?[PpF]{0,2})?(?P<i>I)", _iso),
    (r"(?:(?P<p>[PpAVZF]{1,2})|(?P<w>[Ww])\.?,?[PpF]{0,2})(?P<i>D)", _short),
    (
        rf"{_BEFORE}?{_WEEKDAY}y?(?P<d>[doO])[.-]?[Fp]{{0,2}}(?P<m>[Mm]){_YEAR}",
        _day_first,
    ),
    (rf"{_BEFORE}?{_WEEKDAY}(?P<m>[Mm])\.?F?(?P<d>[doO])(?:,?(?P<y>Y))?", _month_first),
    (rf"{_BEFORE}?(?P<d>[doO])[.-]?[Fp]{{0,2}}(?P<m>[Mm]),?(?P<w>W)", _day_and_weekday),
    (
        rf"(?P<d>[do])[-TZPpF]{{1,3}}(?P<e>[do])[Fp]{{0,2}}(?P<m>[Mm]){_YEAR}",
        _days_of_month,
    ),
    (r"(?P<m>[Mm])\.?(?P<d>[do])[-TZPpF]{1,2}(?P<e>[do])(?:,?(?P<y>Y))?", _month_days),
    (
        rf"{_BEFORE}?(?:(?P<b>B)[PpF]{{0,2}}-?)?(?P<l>{_WHICH})?(?<!d)(?P<m>[Mm]){_AFTER_MONTH}",
        _month,
    ),
    (rf"{_BEFORE}?(?P<l>{_WHICH})?(?P<w>[Ww])(?:(?P<dot>\.)|F?(?P<r>{_WHICH}))?", _weekday),
    (rf"(?P<w>W),?[PpF]{{0,2}}(?:(?P<l>{_WHICH})u)", _weekday_in_week),
    (rf"(?P<w>W),?[PpF]{{0,2}}(?:u(?P<l>{_WHICH}))", _weekday_in_week),
    (rf"(?P<l>{_WHICH})u,?[PpF]{{0,2}}(?P<w>W)", _weekday_in_week),
    (rf"u(?P<l>{_WHICH}),?[PpF]{{0,2}}(?P<w>W)", _weekday_in_week),
    (rf"(?:(?P<b>B)[PpF]{{0,2}})?(?P<l>{_WHICH})(?P<u>[Uuk])", _unit),
    (rf"(?:(?P<b>B)[PpF]{{0,2}})?(?P<u>[Uuk])(?P<l>{_WHICH})", _unit),
    (r"(?P<b>B)[PpF]{1,2}(?P<u>[Uuk])", _unit),
    (rf"(?P<l>{_WHICH}){_COUNT}(?P<u>[yUuk])", _counted_span),
    (r"(?P<p>[PpAVZ][Fp]{0,2})(?P<k>k)", _weekend),
    (r"(?P<p>[PpAVZ][Fp]?y?)(?P<d>o)(?![Mm])", _day_of_month),
    (r"(?P<p>[PpAVZ][Fp]?y)(?P<d>d)(?![Fp]{0,2}[Mm])", _day_of_month),
    (r"W,?[PpF]{0,2}(?P<d>o)(?![Fp]{0,2}[Mm])", _day_of_month),
    (r"(?P<p>[PpAVZF]{1,2}y?|y)(?P<d>d)(?![Fp]{0,2}[Mm])", _bare_day),
    (r"(?P<p>[PpVZ]?F|[PpVZ])?(?P<d>[do])y?(?![Fp]{0,2}[Mm])", _bare_ordinal),
    (r"(?P<p>[PpF])?W,?TW", _two_weekdays),
    (rf"(?:(?P<b>B)[PpF]{{0,2}})?(?P<l>{_WHICH})(?P<s>S)(?:F{{0,2}}(?P<y>Y))?", _season),
    (rf"(?:(?P<b>B)[PpF]{{0,2}})?(?P<s>S)(?:F?(?P<l>{_WHICH}))(?P<y>Y)?", _season),
    (r"(?:(?P<b>B)[PpF]{0,2})?(?P<s>S)(?P<l>L)?(?:[PpFA]{0,2}(?P<y>Y))", _season),
    (r"(?P<p>[PAVZp][Fp]?)(?P<b>B)?(?P<s>S)(?P<l>L)?(?P<y>Y)?", _season),
    (rf"{_COUNT}(?P<u>[yUuk])g", _ago),
    (rf"G{_COUNT}(?P<u>[yUuk])", _ago),
    (rf"(?P<a>A){_COUNT}(?P<u>[yUuk])(?!g)", _ahead),
    (rf"{_COUNT}(?P<u>[yUuk])(?P<a>j)", _ahead),
    (r"(?P<a>j)", _from_today),
    (rf"{_BEFORE}?(?P<w>W)(?P<u>u)(?!{_WHICH})", _weeks_after),
    (r"(?P<c>[Cd])(?P<u>u)[PZ](?P<w>W)", _weeks_after),
    (r"(?P<c>[Cd])u(?P<l>L)(?P<w>W)", _weeks_after),
    (r"(?P<w>W)A(?P<c>[Cd])u", _weeks_after),
    (r"[ZVPp]?[Ww]\.?d[ZTPp][Ww]\.?d", _slot),
    (r"(?P<t>R)", _relative),
    (r"(?P<p>[PpAVZ][Fp]?U?)(?P<y>Y)", _year),
    (r"(?P<b>B)[PpF]{0,2}U?(?P<y>Y)", _year),
    (r"X", _nothing),
    (r"E[Fp]?[WwSMyu]", _nothing),
    (r"[CQO]W", _nothing),
    (r"(?P<w>[Ww])\.?[-TZPpF]{1,2}(?P<x>[Ww])", _working_week),
)


@cache
def _rules() -> tuple[tuple[re.Pattern[str], Meaning], ...]:
    return tuple((re.compile(pattern), meaning) for pattern, meaning in _RULES)


@lru_cache(_MOST_CACHED)
def matches(symbols: str) -> tuple[tuple[re.Match[str], Meaning], ...]:
    """What the patterns find; the same few words stand around days again and again."""
    return tuple(
        (match, meaning) for pattern, meaning in _rules() for match in pattern.finditer(symbols)
    )
