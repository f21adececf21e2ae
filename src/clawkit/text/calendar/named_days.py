"""The days that a text names, in several languages, and what callers make of them.

`yesterday` becomes `yesterday (2026-03-04)`: the words stay as they were said, and mean the same
a year later. What names no single day, such as `last month`, is a range.

What is written behind a name stays for good: of days that are named but not meant, and in doubt
about which is meant, none is. The words that tell are in `days_around.toml`.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from functools import cache
from itertools import pairwise

import msgspec

from clawkit.text.calendar import cjk
from clawkit.text.calendar.context import Sentences
from clawkit.text.calendar.grammar import NOTHING, Found, PlacedWord, matches
from clawkit.text.calendar.lexicon import (
    OTHER,
    Lexicon,
    Word,
    known_words,
    languages_by_word,
    lexicons,
)
from clawkit.text.calendar.spans import Mention, Span
from clawkit.text.tables import table, unbroken

_TOKEN = re.compile(
    r"(?<![\w./-])(?P<iso>\d{4}([-/.])\d{1,2}\2\d{1,2})(?![\w/-]|\.\d)"
    r"|(?<![\w./-])(?P<full>\d{1,2}([-/.])\d{1,2}\4(?:\d{4}|\d\d))(?![\w/-]|\.\d)"
    r"|(?<![\w./-])(?P<short>\d{1,2}\.\d{1,2}\.?|\d{1,2}/\d{1,2})(?![\w/-]|\.\d)"
    r"|(?<![\w.,/])(?P<ordinal>\d{1,2}(?:st|nd|rd|th|er|e|ème|ste|de|ro|\.?[ºª°]|-?\u0433\u043e"
    r"|['\u2019]?s?[i\u0131u\u00fc]n(?:d[ea]n?|[ea])))(?!\w)"
    r"|(?<![\w.,/])(?P<dotted>\d{1,2}\.)(?=[ \u00a0]?[^\W\d_])"
    r"|(?:(?<=\b[aA]m )|(?<=\b[zZ]um )|(?<=\b[vV]om )|(?<=\bde[mn] ))(?P<last>\d{1,2}\.)(?!\d)"
    r"|(?P<number>\d+(?:[.,:/]\d+)*)"
    r"|(?P<word>[^\W\d_]+)"
)
_GAP = re.compile(r"[ \t\u00a0\u202f]{0,3}(?:\r?\n[ \t]{0,3})?|['\u2019]")
_MARK = re.compile(r"[ \u00a0]?([,.–—-])[ \u00a0\n]{0,2}")
_LONGEST_RUN = 40
_ISO = re.compile(r"(?<!\d)(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)")
_WRITTEN = re.compile(r" \((\d{4}-\d{2}-\d{2})\)")
_LAST_DAY = 253_370_764_800.0  # 9999-01-01
_NEAR = 14
_FAR = 45
_YEAR_DIGITS = 4
_FIRST_YEAR, _LAST_YEAR = 1900, 2100


class _Token(msgspec.Struct, frozen=True):
    kind: str
    start: int
    end: int
    text: str
    gap: str


def mentions(
    text: str, day: date, *, asking: bool = False, with_doubts: bool = False
) -> list[Mention]:
    """The days that a text of that day names, in the order of the text.

    A weekday or date that is neither last nor next is decided by the tense; a question asks about
    the past unless it says otherwise. Of what is told, days in doubt are left out.
    """
    found = [*_readings(text, day, asking=asking)]
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
            mention = _as_written(text, one)
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


def ranges(text: str, now: float) -> list[Span]:
    """The days that a question asks about."""
    return [(one.first, one.last) for one in mentions(text, day_of(now), asking=True)]


def fit(when: Sequence[str], asked: Sequence[Span]) -> float:
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


def _readings(text: str, day: date, *, asking: bool) -> Iterator[Mention]:
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


def _chosen(found: list[Found]) -> Iterator[Mention]:
    """The first of those that overlap; what names no day keeps others from reading one there."""
    taken: list[tuple[int, int]] = []
    for one in found:
        if any(start < one.end and one.start < end for start, end in taken):
            continue
        try:
            span = one.meaning(one)
        except (ValueError, OverflowError):  # the 31st of April, or 999 years before the first
            span = NOTHING
        if span is None:
            continue
        taken.append((one.start, one.end))
        if span is not NOTHING and span[0] <= span[1]:
            yield Mention(one.start, one.end, *span)


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
) -> Iterator[Found]:
    """All that the patterns find in one language, also where one lies within another."""
    lexicon = lexicons()[number]
    symbols, places = _symbols(run, lexicon, text, sentences)
    for match, meaning in matches(symbols):
        start, end = _bounds(match, places)
        yield Found(match, meaning, start, end, places, lexicon, sentences, day, asking)


def _bounds(match: re.Match[str], places: list[PlacedWord | None]) -> tuple[int, int]:
    """Where the words of a match are, without the preposition before them."""
    skipped = match.end("p") if "p" in match.re.groupindex and match["p"] else match.start()
    there = [place for place in places[skipped : match.end()] if place is not None]
    return there[0].start, there[-1].end


def _symbols(
    run: list[_Token], lexicon: Lexicon, text: str, sentences: Sentences
) -> tuple[str, list[PlacedWord | None]]:
    symbols: list[str] = []
    places: list[PlacedWord | None] = []
    at = 0
    while at < len(run):
        token = run[at]
        if token.gap:
            symbols.append(token.gap)
            places.append(None)
        word, length = _longest(run, at, lexicon)
        last = run[at + length - 1]
        place = PlacedWord(word, token.start, last.end, text[token.start : last.end])
        if not _is_meant(place, lexicon, sentences):
            place = PlacedWord(OTHER, place.start, place.end, place.text)
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


def _is_meant(place: PlacedWord, lexicon: Lexicon, sentences: Sentences) -> bool:
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


_LONGEST = 60
_QUOTED = re.compile(r"\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|„[^“”\n]{1,80}[“”]|«[^»\n]{1,80}»")


def in_doubt(text: str, named: Sequence[Mention], day: date) -> set[int]:
    """The places of those days that are not to be written, in a text of that day."""
    quotes = [found.span() for found in _QUOTED.finditer(text)]
    ends = {one.end for one in named}
    found = {
        one.start
        for one in named
        if _is_in_doubt(text, one, day, quotes) or _ends_range(text, one, ends)
    }
    for first, second in pairwise(named):
        found |= _of_two(text, first, second, day)
    return found


def _is_in_doubt(text: str, one: Mention, day: date, quotes: list[tuple[int, int]]) -> bool:
    before = text[max(0, one.start - _LONGEST) : one.start]
    after = text[one.end : one.end + _LONGEST]
    quote = bisect_left(quotes, (one.start, one.start)) - 1
    if quote >= 0 and one.end < quotes[quote][1]:
        return True
    if one.first > day and _before("document").search(before):  # a letter is older
        return True
    if any(character.isdigit() for character in text[one.start : one.end]):
        return _after("street").match(after) is not None
    return (
        any(_before(kind).search(before) for kind in ("title", "weeks_on", "wished"))
        or any(_after(kind).match(after) for kind in ("street", "shifted", "feast_day"))
        or (_before("forename").search(before) and _after("relation").match(after)) is not None
        or (_before("thought").search(before) and _after("was").match(after)) is not None
    )


def _ends_range(text: str, one: Mention, ends: set[int]) -> bool:
    """Whether it is the last day of a range whose first was not read as a day."""
    offset = max(0, one.start - _LONGEST)
    first = _after_weekday().search(text[offset : one.start])
    return first is not None and offset + first.end("day") not in ends


def _of_two(text: str, first: Mention, second: Mention, day: date) -> set[int]:
    """Those of two neighbouring days that cannot be meant together."""
    between = text[first.end : second.start]
    if len(between) > _LONGEST:
        return set()
    both = {first.start, second.start}
    if second.first < first.first and _whole("range").fullmatch(between):
        return both
    if second.first <= first.first and _whole("would").search(between):
        return {second.start}
    apart = second.last < first.first or first.last < second.first
    if apart and _whole("beside").fullmatch(between):
        return {first.start} if first.first == first.last == day else both
    return set()


@cache
def _after_weekday() -> re.Pattern[str]:
    """The first day of a range, before its last."""
    names = {
        phrase[0]
        for lexicon in lexicons()
        for phrase, word in lexicon.phrases.items()
        if word.symbol == "W" and len(phrase) == 1
    }
    words = "|".join(sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?P<day>{words})(?:{_around('range')})$", re.IGNORECASE)


@cache
def _before(kind: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_around(kind)})$", _flags(kind))


@cache
def _after(kind: str) -> re.Pattern[str]:
    return re.compile(rf"\s+(?:{_around(kind)})(?!\w)", _flags(kind))


@cache
def _whole(kind: str) -> re.Pattern[str]:
    return re.compile(_around(kind), re.IGNORECASE)


def _flags(kind: str) -> re.RegexFlag:
    """Titles, names and streets have capitals, which tell them from other words."""
    return re.NOFLAG if kind in {"title", "street", "forename", "relation"} else re.IGNORECASE


def _around(kind: str) -> str:
    return unbroken(table("days_around")[kind])
