"""Reads the days that Japanese, Chinese and Korean name, which need no spaces around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from typing import cast

import msgspec

from clawkit.text.calendar import spans
from clawkit.text.calendar.context import Evidence, Sentences, is_yearly
from clawkit.text.calendar.spans import Mention, Span, Unit, Which
from clawkit.text.tables import by_word, table

_THERE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_PAST = re.compile(
    r"(?:(?<!ま)た|だった|でした|ました)(?:[。、!?\uff01\uff1f\s]|[よねのがけかとんっ]|$)|[了过過]|[刚曾]"
)
_FUTURE = re.compile(r"[会會将將要]|打算|准备|つもり|予定|でしょう|[겠거]")
_AHEAD = re.compile(
    r"予約|招待|締め?切|期限|から|まで|延期|予定|切符|チケット|預訂|[预預][订訂约約]|[订訂][了好]|邀[请請]|截止|"
    r"之前|[为為]止|起|[确確][认認]|推[迟遲]|票|批准|예약|예매|초대|마감|까지|부터|확정|확인|연기|표를|승인"
)
_HABIT = re.compile(
    r"いつも|ごと|毎|普段|每|都是|都有|[总總]是|通常|一般|平[时時]|[课課]|매주|마다|항상|보통|수업"
)
_CLAUSE_END = re.compile(r"[、\uff0c,\uff1a:]")
_LAST_SYLLABLE, _PAST_FINAL = 28, 20
_TENS = re.compile("([二三]?)十([一二三四五六七八九]?)")
_PRESENT_SYLLABLES = "있겠"


def readings(text: str, day: date, *, asking: bool) -> Iterator[Mention]:
    """All that can be read as days, also where one lies within another."""
    if not _THERE.search(text):
        return
    sentences = Sentences(text)
    for match in _pattern().finditer(text):
        said = _Said(match, sentences.sentence(match.start()), day, asking)
        try:
            span = _meaning(said)
        except (ValueError, OverflowError):  # the 31st of April, or 999 years before the first
            continue
        if span is not None:
            yield Mention(match.start(), match.end(), *span)


class _Said(msgspec.Struct, frozen=True):
    """What may name a day, and all that its meaning depends on."""

    match: re.Match[str]
    sentence: str
    day: date
    asking: bool

    @property
    def past(self) -> bool:
        if _tells_past(self.sentence):
            return True
        return self.asking and not _FUTURE.search(self.sentence)

    @property
    def evidence(self) -> Evidence:
        named = self.match[0]
        clause = next(part for part in (*_CLAUSE_END.split(self.sentence), named) if named in part)
        ahead = bool(_AHEAD.search(self.sentence))
        if _tells_past(clause):
            return Evidence("past", ahead=ahead)
        return Evidence("past" if _tells_past(self.sentence) else "present", own=False, ahead=ahead)

    def chosen(self, earlier: date, later: date) -> Span | None:
        if self.asking:
            found = earlier if self.past else later
        else:
            found = self.evidence.choose(earlier, later, self.day)
        return (found, found) if found else None


def _meaning(said: _Said) -> Span | None:
    match, day = said.match, said.day
    if match["month"]:
        return _dated(said)
    if match["of_day"]:
        first, _ = _named_unit(match["of_month"], day)
        found = first.replace(day=_number(match["of_day"]))
        return found, found
    if match["bare"]:
        return said.chosen(*spans.day_of_month(_number(match["bare"]), day))
    if match["only"]:
        return spans.whole_year(int(match["only"]))
    if match["days"]:
        count = int(_meanings("days")[match["days"]])
        return spans.away(_sign(match["days_where"]) * count, "day", day, exact=True)
    if match["unit"]:
        return _away(match, day, asking=said.asking)
    if match["ja"] or match["zh"] or match["ko"]:
        return _weekday(said)
    if match["season"]:
        which = cast("Which", _meanings("season_which")[match["year_of"].strip()])
        return spans.season(int(_meanings("seasons")[match["season"]]), which, day)
    if match["relative"]:
        first, _, last = _meanings("relative")[match["relative"]].partition("..")
        return day + timedelta(int(first)), day + timedelta(int(last or first))
    return _named_unit(match["span"], day)


def _named_unit(words: str, day: date) -> Span:
    which, _, unit = _meanings("spans")[words].rpartition("-")
    return spans.unit(cast("Unit", unit), cast("Which", which), day)


def _dated(said: _Said) -> Span | None:
    match, day = said.match, said.day
    month = _number(match["month"])
    if match["day"]:
        number = _number(match["day"])
        if match["year"]:
            found = date(int(match["year"]), month, number)
            return found, found
        if not (said.asking or said.past) and is_yearly(said.sentence):
            return None
        return said.chosen(*spans.dated(number, month, day))
    if match["year"]:
        return spans.whole_month(month, int(match["year"]))
    return spans.month_near(month, past=said.past, day=day) if 1 <= month <= 12 else None


def _away(match: re.Match[str], day: date, *, asking: bool) -> Span | None:
    unit = cast("Unit", _meanings("units")[match["unit"]])
    count = _sign(match["where"]) * _number(match["count"])
    return spans.away(count, unit, day, exact=not asking or unit == "day")


def _sign(where: str) -> int:
    return -1 if where in "前전" else 1


def _weekday(said: _Said) -> Span | None:
    match, day = said.match, said.day
    wanted = int(_meanings("weekdays")[match["ja"] or match["zh"] or match["ko"]])
    week = match["ja_week"] or match["zh_week"] or match["ko_week"]
    which = match["ja_which"] or match["ko_which"]
    if week:
        found = spans.weekday_of(wanted, cast("Which", _meanings("which")[week]), day)
    elif which:
        found = spans.weekday(wanted, cast("Which", _meanings("which")[which]), day)
    elif not said.asking and not said.past and _HABIT.search(said.sentence):
        return None
    elif wanted == day.weekday() and not (said.asking and said.past):
        found = day
    else:
        found = spans.weekday(wanted, "last" if said.past else "coming", day)
    return found, found


def _number(text: str) -> int:
    if tens := _TENS.fullmatch(text):
        first, last = (int(_meanings("numbers").get(one, one or 0)) for one in tens.groups())
        return 10 * (first or 1) + last
    return int(_meanings("numbers").get(text, text))


def _tells_past(text: str) -> bool:
    return bool(_PAST.search(text)) or any(map(_is_korean_past, text))


def _is_korean_past(syllable: str) -> bool:
    """Whether it ends with the final consonant that makes a Korean past."""
    if not "가" <= syllable <= "힣" or syllable in _PRESENT_SYLLABLES:
        return False
    return (ord(syllable) - ord("가")) % _LAST_SYLLABLE == _PAST_FINAL


@cache
def _meanings(kind: str) -> dict[str, str]:
    return by_word(table("days_cjk")[kind])


@cache
def _pattern() -> re.Pattern[str]:
    digit = "[一二三四五六七八九]"
    number = rf"\d{{1,2}}|[二三]?十{digit}?|{_either('numbers')}"
    day = rf"(?: ?(?P<day>{number})[日号號일])?"
    weekday = (
        r"(?<!毎)(?<!毎週)(?:(?P<ja_week>先[々先]|再来|[先今来])週の?|(?P<ja_which>この前の|次の))?"
        r"(?P<ja>[月火水木金土日])曜日?"
        r"|(?<![每\d一二两三四五六七八九十])(?P<zh_week>(?:上上|下下|[上下这這])[个個]?|本)?(?:星期|[礼禮]拜|[周週])"
        r"(?P<zh>[一二三四五六日天])"
        r"|(?<!매주 )(?:(?P<ko_week>지지난|저저번|다다음|지난|저번|이번|다음|담) ?주 ?"
        r"|(?P<ko_which>지난|저번|이번|다음) )?(?P<ko>[월화수목금토일])(?:요일|욜)"
    )
    months = "|".join(one for one, meant in _meanings("spans").items() if meant.endswith("month"))
    count = rf"(?<!\d)(?P<count>\d{{1,3}}|{_either('numbers')}) ?"
    return re.compile(
        r"(?<!\d)(?:(?P<year>\d{4})[年년] ?)?"
        rf"(?P<month>{number})[月월](?!曜|요){day}"
        rf"|(?P<of_month>{months}) ?の?(?P<of_day>{number})[日号號일]"
        r"|(?<![\d.,:/年月년월第二三十])(?<![年月년월] )"
        rf"(?P<bare>[12]?\d|3[01]|[二三]十{digit}?|十{digit})"
        r"(?:日(?=に(?![\d一二三四五六七八九十何])|から|まで|は)"
        r"|[号號](?=[到来來去回走开開有要上下晚早见見出之前搬考交我他她會会])|일(?=에|부터|까지))"
        r"|(?<!\d)(?P<only>(?:19|20)\d\d)[年년]"
        rf"|(?P<days>{_either('days')}) ?(?P<days_where>[전후뒤])"
        rf"|{count}(?P<unit>{_either('units')})(?:以| )?(?P<where>[前전后後후뒤])"
        rf"|(?P<year_of>{_either('season_which')}) ?(?P<season>{_either('seasons')})"
        rf"|{weekday}"
        rf"|(?P<relative>{_either('relative')})"
        rf"|(?P<span>{_either('spans')})"
    )


def _either(kind: str) -> str:
    return "|".join(map(re.escape, sorted(_meanings(kind), key=len, reverse=True)))
