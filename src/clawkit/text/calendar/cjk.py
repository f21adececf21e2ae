"""Reads the days that Japanese, Chinese and Korean name, which need no spaces around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import cache
from typing import cast

from clawkit.text.calendar import spans
from clawkit.text.calendar.grammar import DayMatch
from clawkit.text.calendar.spans import Span, Unit, Which
from clawkit.text.calendar.tense import Sentences

_THERE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_NUMBERS = {
    **{c: n for n, c in enumerate("〇一二三四五六七八九十")},
    "两": 2,
    "十一": 11,
    "十二": 12,
    **dict(zip(("한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟"), range(1, 9), strict=True)),
    "하루": 1,
    "이틀": 2,
    "사흘": 3,
    "나흘": 4,
    "일주일": 1,
}
_RELATIVE: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("今日", "きょう", "本日", "今朝", "今夜", "今晩"), (0, 0)),
    **dict.fromkeys(("今天", "今晚", "今早", "오늘"), (0, 0)),
    **dict.fromkeys(("昨日", "きのう", "昨夜", "昨晩", "ゆうべ"), (-1, -1)),
    **dict.fromkeys(("昨天", "昨晚", "어제", "어젯밤"), (-1, -1)),
    **dict.fromkeys(("一昨日", "おととい", "前天", "그저께", "그제"), (-2, -2)),
    **dict.fromkeys(("明日", "あした", "明天", "明晚", "내일"), (1, 1)),
    **dict.fromkeys(("明後日", "あさって", "后天", "後天", "모레", "내일모레"), (2, 2)),
    **dict.fromkeys(("最近", "최근", "요즘"), (-30, 0)),
    **dict.fromkeys(("先日", "前几天", "前幾天", "며칠 전"), (-14, -1)),
}
_WHICH: dict[str, Which] = {
    **dict.fromkeys(("先", "この前の", "上个", "上個", "上", "지난", "저번"), "last"),
    **dict.fromkeys(("今", "这个", "這個", "这", "這", "本", "이번"), "this"),
    **dict.fromkeys(("来", "次の", "下个", "下個", "下", "다음"), "next"),
}
_WEEKDAYS = {
    **{c: n for n, c in enumerate("月火水木金土日")},
    **{c: n for n, c in enumerate("一二三四五六")},
    **dict.fromkeys(("日天"), 6),
    **{c: n for n, c in enumerate("월화수목금토일")},
}
_UNITS: dict[str, Unit] = {
    **dict.fromkeys(("日", "天", "일"), "day"),
    **dict.fromkeys(
        ("週間", "周", "週", "个星期", "個星期", "星期", "个礼拜", "주", "주일"), "week"
    ),
    **dict.fromkeys(("ヶ月", "か月", "カ月", "ヵ月", "个月", "個月", "개월", "달"), "month"),
    **dict.fromkeys(("年", "년"), "year"),
}
_SPANS: dict[str, tuple[Unit, Which]] = {
    **dict.fromkeys(
        ("先週末", "上周末", "上週末", "上个周末", "지난 주말", "지난주말"), ("weekend", "last")
    ),
    **dict.fromkeys(("今週末", "这周末", "這週末", "这个周末", "이번 주말"), ("weekend", "this")),
    **dict.fromkeys(("来週末", "下周末", "下週末", "다음 주말"), ("weekend", "next")),
    **dict.fromkeys(
        ("先週", "上周", "上週", "上个星期", "上个礼拜", "지난주", "저번주"), ("week", "last")
    ),
    **dict.fromkeys(
        ("今週", "这周", "這週", "本周", "这个星期", "이번 주", "이번주"), ("week", "this")
    ),
    **dict.fromkeys(("来週", "下周", "下週", "下个星期", "다음 주", "다음주"), ("week", "next")),
    **dict.fromkeys(("先月", "上个月", "上個月", "지난달", "지난 달"), ("month", "last")),
    **dict.fromkeys(("今月", "这个月", "這個月", "本月", "이번 달", "이번달"), ("month", "this")),
    **dict.fromkeys(("来月", "下个月", "下個月", "다음 달", "다음달"), ("month", "next")),
    **dict.fromkeys(("去年", "昨年", "작년", "지난해"), ("year", "last")),
    **dict.fromkeys(("今年", "올해"), ("year", "this")),
    **dict.fromkeys(("来年", "明年", "내년"), ("year", "next")),
}
_TWO_BACK = {
    **dict.fromkeys(("先々月", "上上个月"), "month"),
    **dict.fromkeys(("一昨年", "おととし", "前年", "재작년"), "year"),
}
_SEASONS = {
    **{c: 3 * n for n, c in enumerate("春夏秋冬", 1)},
    **dict(zip(("봄", "여름", "가을", "겨울"), (3, 6, 9, 12), strict=True)),
}
_PAST = re.compile(
    r"(?:(?<!ま)た|だった|でした|ました)(?:[。、!?\uff01\uff1f\s]|[よねのがけかとんっ]|$)|[了过過]|[刚曾]"
)
_FUTURE = re.compile(r"[会會将將要]|打算|准备|つもり|予定|でしょう|[겠거]")
_LAST_SYLLABLE, _PAST_FINAL = 28, 20
_PRESENT_SYLLABLES = "있겠"


def readings(text: str, day: date, *, asking: bool, sentences: Sentences) -> Iterator[DayMatch]:
    """All that can be read as days, also where one lies within another."""
    if text.isascii() or not _THERE.search(text):
        return
    for match in _pattern().finditer(text):
        past = _past(sentences.sentence(match.start()), asking=asking)
        try:
            span = _meaning(match, day, past=past, asking=asking)
        except (ValueError, OverflowError):  # the 31st of April, or 999 years before the first
            continue
        if span is not None:
            yield DayMatch(match.start(), match.end(), span)


def _meaning(match: re.Match[str], day: date, *, past: bool, asking: bool) -> Span | None:
    if match["month"]:
        return _dated(match, day, past=past)
    if match["only"]:
        return spans.whole_year(int(match["only"]))
    if match["unit"]:
        return _away(match, day, asking=asking)
    if match["ja"] or match["zh"] or match["ko"]:
        return _weekday(match, day, past=past)
    if match["season"]:
        which = _SEASON_WHICH[match["year_of"].strip()]
        return spans.season(_SEASONS[match["season"]], which, day)
    if match["relative"]:
        first, last = _RELATIVE[match["relative"]]
        return day + timedelta(first), day + timedelta(last)
    if match["two"]:
        unit = cast("Unit", _TWO_BACK[match["two"]])
        before = spans.unit(unit, "last", day)[0]
        return spans.unit(unit, "last", before)
    return spans.unit(*_SPANS[match["span"]], day)


def _dated(match: re.Match[str], day: date, *, past: bool) -> Span | None:
    month = _number(match["month"])
    if match["day"]:
        number = _number(match["day"])
        if match["year"]:
            found = date(int(match["year"]), month, number)
        else:
            found = spans.dated(number, month, past=past, day=day)
        return found, found
    if match["year"]:
        return spans.whole_month(month, int(match["year"]))
    return spans.month_near(month, past=past, day=day) if 1 <= month <= 12 else None


def _away(match: re.Match[str], day: date, *, asking: bool) -> Span | None:
    unit = _UNITS[match["unit"]]
    sign = -1 if match["where"] in "前전" else 1
    return spans.away(sign * _number(match["count"]), unit, day, exact=not asking or unit == "day")


def _weekday(match: re.Match[str], day: date, *, past: bool) -> Span:
    wanted = _WEEKDAYS[match["ja"] or match["zh"] or match["ko"]]
    week = match["ja_week"] or match["zh_week"] or match["ko_week"]
    which = match["ja_which"] or match["ko_which"]
    if week:
        found = spans.weekday_of(wanted, _WHICH[week], day)
    elif which:
        found = spans.weekday(wanted, _WHICH[which], day)
    else:
        found = spans.weekday(wanted, "last" if past else "coming", day)
    return found, found


def _number(text: str) -> int:
    return _NUMBERS[text] if text in _NUMBERS else int(text)


def _past(sentence: str, *, asking: bool) -> bool:
    if _PAST.search(sentence) or any(map(_is_korean_past, sentence)):
        return True
    return asking and not _FUTURE.search(sentence)


def _is_korean_past(syllable: str) -> bool:
    """Whether it ends with the final consonant that makes a Korean past."""
    if not "가" <= syllable <= "힣" or syllable in _PRESENT_SYLLABLES:
        return False
    return (ord(syllable) - ord("가")) % _LAST_SYLLABLE == _PAST_FINAL


_SEASON_WHICH: dict[str, Which] = {
    **dict.fromkeys(("去年の", "去年", "昨年の", "この前の", "작년", "지난"), "last"),
    **dict.fromkeys(("今年の", "今年", "この", "올해", "이번"), "this"),
    **dict.fromkeys(("来年の", "明年", "내년", "다음"), "next"),
}


@cache
def _pattern() -> re.Pattern[str]:
    number = rf"\d{{1,2}}|{_either(_NUMBERS)}"
    day = rf"(?: ?(?P<day>{number})[日号號일])?"
    weekday = (
        r"(?<!毎)(?<!毎週)(?:(?P<ja_week>[先今来])週の?|(?P<ja_which>この前の|次の))?"
        r"(?P<ja>[月火水木金土日])曜日?"
        r"|(?<![每\d一二两三四五六七八九十])(?P<zh_week>[上下这這][个個]?|本)?(?:星期|[礼禮]拜|[周週])"
        r"(?P<zh>[一二三四五六日天])"
        r"|(?<!매주 )(?:(?P<ko_week>지난|저번|이번|다음) ?주 ?|(?P<ko_which>지난|저번|이번|다음) )?"
        r"(?P<ko>[월화수목금토일])요일"
    )
    count = rf"(?<!\d)(?P<count>\d{{1,3}}|{_either(_NUMBERS)}) ?"
    return re.compile(
        r"(?<!\d)(?:(?P<year>\d{4})[年년] ?)?"
        rf"(?P<month>{number})[月월](?!曜|요){day}"
        r"|(?<!\d)(?P<only>(?:19|20)\d\d)[年년]"
        rf"|{count}(?P<unit>{_either(_UNITS)})(?:以| )?(?P<where>[前전后後후뒤])"
        rf"|(?P<year_of>{_either(_SEASON_WHICH)}) ?(?P<season>{_either(_SEASONS)})"
        rf"|{weekday}"
        rf"|(?P<two>{_either(_TWO_BACK)})|(?P<relative>{_either(_RELATIVE)})"
        rf"|(?P<span>{_either(_SPANS)})"
    )


def _either(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
