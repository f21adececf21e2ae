"""Reads the days that words name: words become symbols, and short patterns of symbols days.

Each language turns a run of its words into one symbol a word (`W` a weekday, `M` a month, ...);
the patterns are the same for all. Patterns repeat nothing without a bound, so reading is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, cast

import msgspec

from clawkit.text.calendar import context, spans
from clawkit.text.calendar.context import Evidence, Neighbours, Sentences
from clawkit.text.calendar.lexicon import (
    OTHER,
    Lexicon,
    Word,
    known_words,
    languages_by_word,
    lexicons,
)
from clawkit.text.calendar.spans import Span, Unit, Which

_TOKEN = re.compile(
    r"(?<![\w./-])(?P<iso>\d{4}([-/.])\d{1,2}\2\d{1,2})(?![\w/-]|\.\d)"
    r"|(?<![\w./-])(?P<full>\d{1,2}([-/.])\d{1,2}\4(?:\d{4}|\d\d))(?![\w/-]|\.\d)"
    r"|(?<![\w./-])(?P<short>\d{1,2}\.\d{1,2}\.?|\d{1,2}/\d{1,2})(?![\w/-]|\.\d)"
    r"|(?<![\w.,/])(?P<ordinal>\d{1,2}(?:st|nd|rd|th|er|e|ème|ste|de|ro|\.?[ºª°]|-?\u0433\u043e))(?!\w)"
    r"|(?<![\w.,/])(?P<dotted>\d{1,2}\.)(?=[ \u00a0]?[^\W\d_])"
    r"|(?:(?<=\b[aA]m )|(?<=\b[zZ]um )|(?<=\b[vV]om )|(?<=\bde[mn] ))(?P<last>\d{1,2}\.)(?!\d)"
    r"|(?P<number>\d+(?:[.,:/]\d+)*)"
    r"|(?P<word>[^\W\d_]+)"
)
_GAP = re.compile(r"[ \t\u00a0\u202f]{0,3}(?:\r?\n[ \t]{0,3})?|['\u2019]")
_MARK = re.compile(r"[ \u00a0]?([,.–—-])[ \u00a0\n]{0,2}")
_LONGEST_RUN = 40
_MOST_CACHED = 4096
_YEAR_DIGITS = 4
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_LONGEST_COUNT = 999
_MONDAY, _FRIDAY = 0, 4
_NEAR = timedelta(183)
_LONGEST_ROW, _FEWEST_IN_ROW = 80, 3
_IN_ROW = re.compile(r"\s*[,/&+]?(?:\s+[^\W\d_]{1,3}){0,2}\s*")
"""Between two weekdays that are told in one breath: "and on", "e a"."""


class DayMatch(msgspec.Struct, frozen=True):
    """A place in the text and the days that it names."""

    start: int
    end: int
    span: Span


class _Token(msgspec.Struct, frozen=True):
    kind: str
    start: int
    end: int
    text: str
    gap: str


class _PlacedWord(msgspec.Struct, frozen=True):
    """A word in the text."""

    word: Word
    start: int
    end: int
    text: str


_Meaning = Callable[["_Found"], "Span | None"]


class _Found(msgspec.Struct, frozen=True):
    """A pattern's match, and all that its meaning depends on."""

    match: re.Match[str]
    meaning: _Meaning
    start: int
    end: int
    places: list[_PlacedWord | None]
    lexicon: Lexicon
    sentences: Sentences
    day: date
    asking: bool

    def place(self, group: str) -> _PlacedWord:
        """The word of a group that the match has."""
        return cast("_PlacedWord", self.places[self.match.start(group)])

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
        places = cast("list[_PlacedWord]", self.places[max(first, 0) : max(last, 0)])
        words = [place.word for place in places]
        names = {"V": "since", "Z": "toward"}
        return frozenset(word.value or names[word.symbol] for word in words if word.symbol in names)

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


def readings(text: str, day: date, *, asking: bool) -> Iterator[DayMatch]:
    """The days that are named, in whatever language; the longest reading wins."""
    sentences: Sentences | None = None  # most texts name no day
    for run in _runs(text):
        languages = _languages(run)
        if not languages:
            continue
        sentences = sentences or Sentences(text)
        found = [
            candidate
            for number in sorted(languages)
            for candidate in _read(run, number, text, day, asking=asking, sentences=sentences)
        ]
        if len(found) > 1:
            scores = sentences.scores(run[0].start) if len(languages) > 1 else {}
            found.sort(key=lambda one: (one.start - one.end, -scores.get(one.lexicon.language, 0)))
        yield from _chosen(found)


def _chosen(found: list[_Found]) -> Iterator[DayMatch]:
    """The first of those that overlap; what names no day keeps others from reading one there."""
    taken: list[tuple[int, int]] = []
    for one in found:
        if any(start < one.end and one.start < end for start, end in taken):
            continue
        try:
            span = one.meaning(one)
        except (ValueError, OverflowError):  # the 31st of April, or 999 years before the first
            span = _NOTHING
        if span is None:
            continue
        taken.append((one.start, one.end))
        if span is not _NOTHING and span[0] <= span[1]:
            yield DayMatch(one.start, one.end, span)


def _languages(run: list[_Token]) -> set[int]:
    """The languages in which some word or number of these may name a day."""
    anchors, before_day = languages_by_word("anchors"), languages_by_word("before_day")
    found: set[int] = set()
    for token in run:
        if token.kind == "word":
            found.update(anchors.get(token.text, ()))
        elif token.kind != "number" or len(token.text) == _YEAR_DIGITS:
            found.update(range(len(lexicons())))  # a day without a word beside it that says so
    for before, token in pairwise(run):
        if token.kind == "number" and before.kind == "word":
            found.update(before_day.get(before.text, ()))
    return found


def _runs(text: str) -> Iterator[list[_Token]]:
    """Neighbouring words that have something to do with days."""
    known = known_words()
    run: list[_Token] = []
    end = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        word = match[0].lower() if kind == "word" else match[0]
        start = match.start()
        if kind == "word" and word not in known:
            if run:
                yield run
                run = []
            continue
        gap = _gap(text[end:start]) if run else ""
        if gap is None or len(run) == _LONGEST_RUN:
            yield run
            run, gap = [], ""
        end = match.end()
        run.append(_Token(kind, start, end, word, gap))
    if run:
        yield run


def _gap(between: str) -> str | None:
    """What separates two words of one expression; None where they are of two."""
    if between == " ":
        return ""
    if len(between) > 8:
        return None
    if _GAP.fullmatch(between):
        return ""
    mark = _MARK.fullmatch(between)
    return None if mark is None else mark[1] if mark[1] in ",." else "-"


def _read(
    run: list[_Token],
    number: int,
    text: str,
    day: date,
    *,
    asking: bool,
    sentences: Sentences,
) -> Iterator[_Found]:
    """All that the patterns find in one language, also where one lies within another."""
    lexicon = lexicons()[number]
    symbols, places = _symbols(run, lexicon, text, sentences)
    for match, meaning in _matches(symbols):
        start, end = _bounds(match, places)
        yield _Found(match, meaning, start, end, places, lexicon, sentences, day, asking)


@lru_cache(_MOST_CACHED)
def _matches(symbols: str) -> tuple[tuple[re.Match[str], _Meaning], ...]:
    """What the patterns find; the same few words stand around days again and again."""
    return tuple(
        (match, meaning) for pattern, meaning in _rules() for match in pattern.finditer(symbols)
    )


def _bounds(match: re.Match[str], places: list[_PlacedWord | None]) -> tuple[int, int]:
    """Where the words of a match are, without the preposition before them."""
    skipped = match.end("p") if "p" in match.re.groupindex and match["p"] else match.start()
    there = [place for place in places[skipped : match.end()] if place is not None]
    return there[0].start, there[-1].end


def _symbols(
    run: list[_Token], lexicon: Lexicon, text: str, sentences: Sentences
) -> tuple[str, list[_PlacedWord | None]]:
    symbols: list[str] = []
    places: list[_PlacedWord | None] = []
    at = 0
    while at < len(run):
        token = run[at]
        if token.gap:
            symbols.append(token.gap)
            places.append(None)
        word, length = _longest(run, at, lexicon)
        last = run[at + length - 1]
        place = _PlacedWord(word, token.start, last.end, text[token.start : last.end])
        if not _is_meant(place, lexicon, sentences):
            place = _PlacedWord(OTHER, place.start, place.end, place.text)
        symbols.append(place.word.symbol)
        places.append(place)
        at += length
    return "".join(symbols), places


def _longest(run: list[_Token], at: int, lexicon: Lexicon) -> tuple[Word, int]:
    token = run[at]
    if token.kind != "word":
        return _number(token, lexicon.language), 1
    for length in lexicon.lengths.get(token.text, ()):
        part = run[at : at + length]
        if len(part) < length or any(one.gap not in {"", "-"} for one in part[1:]):
            continue
        word = lexicon.phrases.get(tuple(one.text for one in part))
        if word is not None:
            return word, length
    return OTHER, 1


def _is_meant(place: _PlacedWord, lexicon: Lexicon, sentences: Sentences) -> bool:
    """Whether a word that means other things elsewhere is one of this language here."""
    lower = place.text.lower()
    if lower in lexicon.nouns and place.text[0].isupper():
        return sentences.begins(place.start)
    if not place.word.doubtful:
        return True
    return sentences.are_in(lexicon.language, place.start)


def _number(token: _Token, language: str) -> Word:
    text = token.text
    if token.kind == "ordinal":
        return Word("o", int(re.sub(r"\D", "", text)))
    if token.kind in {"dotted", "last"}:
        return Word("o", int(text[:-1])) if language == "de" else OTHER
    if token.kind in {"iso", "full", "short"}:
        return Word("D" if token.kind == "short" else "I", text)
    if not text.isascii() or not text.isdigit() or len(text) > 4:
        return OTHER
    value = int(text)
    if len(text) == 4:
        return Word("Y", value) if _FIRST_YEAR <= value <= _LAST_YEAR else OTHER
    if 1 <= value <= 31 and len(text) <= 2:
        return Word("d", value)
    return Word("n", value)


def _iso(found: _Found) -> Span | None:
    numbers = [int(part) for part in re.split(r"[-/.]", found.value("i"))]
    if numbers[0] > 31:
        return _one(date(*numbers[:3]))
    first, second, year = numbers
    day_month = _day_month(first, second, found, "/" in found.value("i"))
    if day_month is None:
        return None
    return _one(date(year if year > 99 else 2000 + year, day_month[1], day_month[0]))


def _short(found: _Found) -> Span | None:
    """`22.10.` is a day only where something before it says so: it may be a price or a version."""
    text = found.value("i")
    if text == "24/7" or ("." in text[:-1] and found.lexicon.language == "en"):
        return None
    first, second = (int(part) for part in re.findall(r"\d+", text))
    day_month = _day_month(first, second, found, "/" in text)
    if day_month is None:
        return None
    return _if_clear(found.dated(*day_month))


def _day_month(first: int, second: int, found: _Found, slash: bool) -> tuple[int, int] | None:
    """The day comes first, but not for all who write English: in doubt it is no day."""
    if second > 12 >= first and slash:
        return second, first
    if slash and first <= 12 and first != second:
        scores = found.sentences.scores(found.start)
        if scores["en"] >= max(scores.values()):
            return None
    return first, second


def _day_first(found: _Found) -> Span | None:
    month = found.place("m")
    if not _is_month(month, found) or found.value("d") > 31:
        return None
    year = found.value("y")
    if year:
        return _one(date(year, month.word.value, found.value("d")))
    if found.sentences.born(month.start):
        return None
    if _comes_back_each_year(found):
        return _NOTHING
    return _if_clear(found.dated(found.value("d"), month.word.value))


def _comes_back_each_year(found: _Found) -> bool:
    """Whether it is a birthday or the like, and not the one of a year that is told of."""
    if found.asking or found.symbol("w"):
        return False
    if not context.is_yearly(found.sentences.clause(found.start, found.end)):
        return False
    return found.evidence.time in {"present", None}


def _day_and_weekday(found: _Found) -> Span | None:
    """`6 October, Tuesday`; another weekday than its own is of what follows."""
    span = _day_first(found)
    fits = span is not None and span[0].weekday() == found.value("w")
    return span if fits else None


def _month_first(found: _Found) -> Span | None:
    return _day_first(found) if found.lexicon.month_first else None


def _is_month(month: _PlacedWord, found: _Found) -> bool:
    """`10 may` is a month where it is written as one."""
    if month.word.symbol == "M" or month.text[0].isupper() or found.lexicon.language != "en":
        return True
    if month.text not in _VERBS:
        return True
    return bool(found.value("y")) or "o" in found.match[0] or found.match[0][0] in "PAV"


def _days_of_month(found: _Found) -> Span | None:
    month, year = found.value("m"), found.value("y")
    first, last = found.value("d"), found.value("e")
    if year:
        return date(year, month, first), date(year, month, last)
    ends = found.dated(last, month)
    return (ends.replace(day=first), ends) if ends else _NOTHING


def _month_days(found: _Found) -> Span | None:
    return _days_of_month(found) if found.lexicon.month_first else None


def _month(found: _Found) -> Span | None:
    """A month, or a part of it."""
    span = _month_span(found.place("m"), found)
    return found.part(span) if span else None


def _month_span(month: _PlacedWord, found: _Found) -> Span | None:
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


def _names_month(month: _PlacedWord, found: _Found) -> bool:
    if month.word.symbol == "M" or found.symbol("b"):
        return True
    before = found.symbol("p")[:1]
    if not before or before == "F":
        return False
    if month.word.short:
        return before in "AV" and month.text[0].isupper()
    return month.text[0].isupper() or before in "AV" or found.lexicon.language != "en"


def _weekday(found: _Found) -> Span | None:
    name = found.place("w")
    which = cast("Which | None", found.value("l") or found.value("r"))
    before = found.symbol("p")
    if name.word.symbol == "w" and not _is_short_weekday(name, found, before, which):
        return None
    if which is None and _comes_back(found):
        return _NOTHING
    if which in {None, "this"}:
        return _if_clear(_weekday_around(name.word.value, found))
    if _is_final(found):
        return _NOTHING
    return _one(spans.weekday(name.word.value, which or "coming", found.day))


def _comes_back(found: _Found) -> bool:
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


def _is_in_row(found: _Found) -> bool:
    """Whether it is one of three weekdays or more: "works on Monday, Tuesday and Thursday"."""
    first = max(0, found.start - _LONGEST_ROW)
    text = found.sentences.text[first : found.end + _LONGEST_ROW].lower()
    row: list[int] = []
    end = 0
    for word in _TOKEN.finditer(text):
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


def _weekday_around(wanted: int, found: _Found) -> date | None:
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


def _is_moved_from(found: _Found) -> bool:
    """Whether it is the first of two weekdays from one of which to the other something moved."""
    follows = _MOVED_TO.match(found.match.string, found.match.end())
    return bool(follows) and found.sentences.is_moved(found.start, found.lexicon.language)


def _slot(found: _Found) -> Span | None:
    """ "Moved from Mon 10 to Wed 14": hours, or days of the month."""
    moved = found.sentences.is_moved(found.start, found.lexicon.language)
    return _NOTHING if moved else None


def _weeks_after(found: _Found) -> Span | None:
    """ "Monday week", "a week on Friday", "a week last Friday"."""
    if found.symbol("u") and found.lexicon.language != "en":
        return None
    if found.neighbours.precede("how_often"):
        return _NOTHING
    weeks = timedelta(7 * (found.value("c") or 1))
    if found.value("l") == "last":
        return _one(spans.weekday(found.value("w"), "last", found.day) - weeks)
    if found.evidence.time == "past" and found.symbol("c"):
        return _NOTHING
    return _one(spans.weekday(found.value("w"), "coming", found.day) + weeks)


def _is_final(found: _Found) -> bool:
    """Whether `last` is the last of all: "my last night here"; in doubt it is."""
    if found.neighbours.precede("own"):
        return True
    alone = found.sentences.begins(found.start) and found.evidence.time is None
    return alone and found.neighbours.follow("there")


def _two_weekdays(found: _Found) -> Span | None:
    """Spanish weekdays have no plural: without their article, two of them come back."""
    comes_back = found.lexicon.language == "es" and not found.symbol("p")
    return _NOTHING if comes_back else None


def _is_short_weekday(name: _PlacedWord, found: _Found, before: str, which: Which | None) -> bool:
    if name.word.doubtful:  # a word of its own, such as the Portuguese `sexta`
        return bool(before or which)
    if not name.text[0].isupper():
        return False
    return bool(before or which) or (found.symbol("dot") == "." and name.text not in _TITLES)


def _weekday_in_week(found: _Found) -> Span | None:
    return _one(spans.weekday_of(found.value("w"), found.value("l"), found.day))


def _unit(found: _Found) -> Span | None:
    unit = cast("Unit", found.value("u"))
    which = cast("Which", found.value("l") or "this")
    if which == "past":
        return spans.until_now(1, unit, found.day)
    return found.part(spans.unit(unit, which, found.day))


def _weekend(found: _Found) -> Span | None:
    return spans.unit("weekend", "last" if found.past else "coming", found.day)


def _day_of_month(found: _Found) -> Span | None:
    """The 22nd, where no noun follows that it counts."""
    number = found.value("d")
    if not 1 <= number <= 31 or not found.neighbours.are_not_counted():
        return None
    if found.symbol("p")[:1] == "A" or context.has_in(found.lexicon.language, "floor", found.words):
        return None
    if not found.asking and _has_month(found):
        return _NOTHING
    return _if_clear(found.chosen(*spans.day_of_month(number, found.day)))


def _has_month(found: _Found) -> bool:
    """Whether the sentence names a month elsewhere, whose day it may be."""
    words = _TOKEN.finditer(found.sentences.sentence(found.start).lower())
    phrases = found.lexicon.phrases
    names = (word[0] for word in words if word.lastgroup == "word" and word[0] not in _VERBS)
    known = (phrases.get((name,)) for name in names)
    return any(one is not None and one.symbol in "Mm" and not one.short for one in known)


def _bare_day(found: _Found) -> Span | None:
    """`el 24`, `le 24`: a number alone, which may be that of a bus, too."""
    before = found.places[found.match.start("d") - 1]
    if before is None or before.text.lower().split()[-1] not in found.lexicon.before_day:
        return None
    taken = found.neighbours.precede("taken")  # the number of a bus line or a channel
    if taken or not found.sentences.are_in(found.lexicon.language, found.start):
        return None
    numbered = context.has("numbered", found.sentences.sentence(found.start))
    return None if numbered else _day_of_month(found)


def _bare_ordinal(found: _Found) -> Span | None:
    """The Dutch `de 24e`, and what is the same in Russian."""
    language = found.lexicon.language
    if not context.has_in(language, "ordinal", found.words):
        return None
    is_day = language == "ru" or found.sentences.are_in(language, found.start)
    return _day_of_month(found) if is_day else None


def _season(found: _Found) -> Span | None:
    first, year = found.value("s"), found.value("y")
    if year:
        span = spans.season_of(first, year)
    elif found.value("l"):
        span = spans.season(first, found.value("l"), found.day)
    else:
        span = spans.season_near(first, past=found.past, day=found.day)
    return found.part(span)


def _counted_span(found: _Found) -> Span | None:
    count = found.value("c") or 3
    unit = cast("Unit", found.value("u"))
    if found.value("l") in {"last", "past"}:
        return spans.until_now(count, unit, found.day)
    return spans.from_now(count, unit, found.day)


def _ago(found: _Found) -> Span | None:
    return _away(found, -1)


def _ahead(found: _Found) -> Span | None:
    """In two weeks; in a sentence about the past that is how long something took."""
    beside = found.neighbours
    if found.symbol("a") == "j" and beside.precede("how_often"):
        return _one(found.day)
    compared = beside.follow("than") or beside.precede("than")  # more in nine days than in four
    if found.symbol("a") == "A" and (found.evidence.time == "past" or compared):
        return None
    return _away(found, 1)


def _away(found: _Found, sign: int) -> Span | None:
    unit = cast("Unit", found.value("u"))
    count = found.value("c")
    if count is None:
        return spans.few_away(sign, unit, found.day)
    if not 0 < count <= _LONGEST_COUNT:
        return None
    return spans.away(sign * count, unit, found.day, exact=not found.asking or unit == "day")


def _relative(found: _Found) -> Span | None:
    first, last = found.value("t")
    if context.has("last_night", found.words) and _is_final(found):
        return _NOTHING
    return found.day + timedelta(first), found.day + timedelta(last)


def _from_today(found: _Found) -> Span | None:
    return _one(found.day) if found.place("a").text.lower() == "from today" else None


def _year(found: _Found) -> Span | None:
    return found.part(spans.whole_year(found.value("y")))


def _nothing(_: _Found) -> Span | None:
    return _NOTHING


def _working_week(found: _Found) -> Span | None:
    """From Monday to Friday is each week; from Tuesday to Friday may be where it was moved to."""
    first, last = found.value("w"), found.value("x")
    return _NOTHING if first == _MONDAY and last >= _FRIDAY else None


def _one(day: date) -> Span:
    return day, day


def _if_clear(day: date | None) -> Span:
    return _NOTHING if day is None else _one(day)


_NOTHING: Span = (date.min, date.min)
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

_RULES: tuple[tuple[str, _Meaning], ...] = (
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
        rf"{_BEFORE}?(?:(?P<b>B)[PpF]{{0,2}}-?)?(?P<l>{_WHICH})?(?P<m>[Mm]){_AFTER_MONTH}",
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
def _rules() -> tuple[tuple[re.Pattern[str], _Meaning], ...]:
    return tuple((re.compile(pattern), meaning) for pattern, meaning in _RULES)
