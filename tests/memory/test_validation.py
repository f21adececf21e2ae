from __future__ import annotations

import pytest

from clawkit.errors import InvalidArgumentsError
from clawkit.memory import validation


@pytest.mark.parametrize(("given", "taken"), [(None, 10), (1, 1), (7.9, 7), (30, 30), (1e300, 30)])
def test_a_number_is_clamped_to_the_most(given: float | None, taken: int) -> None:
    assert validation.clamped("limit", given, 10, 30) == taken


@pytest.mark.parametrize("given", [0, -5, 0.5, float("nan")])
def test_less_than_one_is_refused(given: float) -> None:
    with pytest.raises(InvalidArgumentsError, match="limit: must be at least 1"):
        validation.clamped("limit", given, 10, 30)


def test_a_uuid_may_be_written_in_any_case() -> None:
    written = " 123E4567-E89B-12D3-A456-426614174000"
    assert validation.identifier("id", written) == "123e4567-e89b-12d3-a456-426614174000"


def test_a_day_is_whole() -> None:
    start = validation.starts("date", "2026-04-14")
    assert validation.ends("date", "2026-04-14") - start == 86_400


@pytest.mark.parametrize("text", ["", "now", "2026-13-01", "2026-01-01T25:00", "9" * 400])
def test_a_moment_that_is_none_is_named(text: str) -> None:
    with pytest.raises(InvalidArgumentsError, match="as_of"):
        validation.earlier("as_of", text)


@pytest.mark.parametrize("text", ["2026-01-31", "2026-01-31T09:30:00Z", "2026-01-31T09:30+09:00"])
def test_a_moment_is_an_iso_date_or_time(text: str) -> None:
    assert validation.earlier("as_of", text) is not None
