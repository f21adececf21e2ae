from __future__ import annotations

from datetime import date

import pytest

from clawkit.memory.patrol.dates import day_of, resolved

WEDNESDAY = date(2026, 3, 4)


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("I flew home yesterday", "2026-03-03"),
        ("we leave the day after tomorrow", "2026-03-06"),
        ("dinner tonight", "2026-03-04"),
        ("it broke 3 days ago", "2026-03-01"),
        ("it broke a week ago", "2026-02-25"),
        ("it starts in two weeks", "2026-03-18"),
        ("we met last Monday", "2026-03-02"),
        ("we met last Wednesday", "2026-02-25"),
        ("we meet next Friday", "2026-03-13"),
        ("we meet on Friday", "2026-03-06"),
        ("the exam is on March 20th", "2026-03-20"),
        ("the exam is on 20 March 2027", "2027-03-20"),
        ("my birthday is Dec 30", "2025-12-30"),
        ("released on 2026-05-01", "2026-05-01"),
        ("昨日、映画を見た", "2026-03-03"),
        ("明後日は休みです", "2026-03-06"),
        ("三日前に届いた", "2026-03-01"),
        ("3日前に届いた", "2026-03-01"),
        ("2週間後に引っ越す", "2026-03-18"),
        ("来週の月曜日に会議がある", "2026-03-09"),
        ("先週の金曜に会った", "2026-02-27"),
        ("誕生日は5月3日です", "2026-05-03"),
        ("2027年1月2日に結婚する", "2027-01-02"),
        ("last month was hard", None),
        ("I may go", None),
        ("on April 31 nothing happens", None),
        ("999 weeks ago", "2007-01-10"),
    ],
)
def test_a_day_is_resolved_from_where_the_speaker_stands(said: str, day: str | None) -> None:
    text, days = resolved(said, WEDNESDAY)
    assert days == ((day,) if day else ())
    assert (day is None and text == said) or (day is not None and day in text)


def test_the_words_stay_and_the_day_stands_behind_them() -> None:
    text, days = resolved("Yesterday I ran, tomorrow I rest.", WEDNESDAY)
    assert text == "Yesterday (2026-03-03) I ran, tomorrow (2026-03-05) I rest."
    assert days == ("2026-03-03", "2026-03-05")


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), -1e18, 1e300])
def test_any_number_is_some_day(moment: float) -> None:
    assert 1970 <= day_of(moment).year <= 9999
