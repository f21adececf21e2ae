from __future__ import annotations

from datetime import date

import pytest

from clawkit.memory.recall.times import fit, ranges
from clawkit.memory.records import moment

NOW = moment("2024-03-15T12:00:00")  # a Friday


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What happened in June 2023?", "2023-06-01", "2023-06-30"),
        ("on 8 May, 2023", "2023-05-08", "2023-05-08"),
        ("on May 8th 2023", "2023-05-08", "2023-05-08"),
        ("What did I do last May?", "2023-05-01", "2023-05-31"),
        ("in February", "2024-02-01", "2024-02-29"),
        ("in 2022", "2022-01-01", "2022-12-31"),
        ("on 2023-12-24", "2023-12-24", "2023-12-24"),
        ("yesterday", "2024-03-14", "2024-03-14"),
        ("two weeks ago", "2024-02-27", "2024-03-04"),
        ("last month", "2024-02-01", "2024-02-29"),
        ("last year", "2023-01-01", "2023-12-31"),
        ("last Tuesday", "2024-03-12", "2024-03-12"),
        ("last weekend", "2024-03-09", "2024-03-10"),
        ("last summer", "2023-06-01", "2023-08-31"),
        ("昨日", "2024-03-14", "2024-03-14"),
        ("一昨日は?", "2024-03-13", "2024-03-13"),
        ("先月の旅行", "2024-02-01", "2024-02-29"),
        ("2023年5月", "2023-05-01", "2023-05-31"),
        ("12月24日", "2023-12-24", "2023-12-24"),
        ("去年", "2023-01-01", "2023-12-31"),
        ("2021年に", "2021-01-01", "2021-12-31"),
    ],
)
def test_a_time_in_words_is_a_range_of_days(text: str, first: str, last: str):
    assert ranges(text, NOW) == [(date.fromisoformat(first), date.fromisoformat(last))]


@pytest.mark.parametrize(
    "text",
    ["You may go", "May I?", "on 31 February 2023", "9999999 years ago", "13月", "no time at all"],
)
def test_what_is_no_time_has_no_range(text: str):
    assert ranges(text, NOW) == []


def test_a_day_within_fits_best_and_shortly_after_better_than_before():
    asked = ranges("in June 2023", NOW)
    within, after, before, far = (
        fit((day,), asked) for day in ("2023-06-15", "2023-07-04", "2023-05-29", "2022-01-01")
    )
    assert within == 1.0
    assert within > after > before > far == 0.0


def test_days_are_found_in_a_when_that_tells_more():
    assert fit(("2023-06-15 at the fair",), ranges("in June 2023", NOW)) == 1.0
    assert fit(("some day", ""), ranges("in June 2023", NOW)) == 0.0
