"""The words for what does not fit: short, in one line, and of use to a model."""

from __future__ import annotations

import datetime
import enum
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
import pytest

from clawkit.errors import InvalidArgumentsError
from clawkit.tools.schema.constraints import Field
from clawkit.tools.schema.reader import converter_for

Aware = Annotated[datetime.datetime, msgspec.Meta(tz=True)]
Naive = Annotated[datetime.datetime, msgspec.Meta(tz=False)]
Many = enum.Enum("Many", {f"M{n}": f"m{n}" for n in range(30)})


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    a: int = 0


PROBLEMS: list[tuple[Any, Any, str]] = [
    (int, "5", "expected an integer, got a string"),
    (int, True, "expected an integer, got a boolean"),
    (int, 5.5, "expected an integer, got a fractional number"),
    (int, None, "expected an integer, got null"),
    (int, [], "expected an integer, got a list"),
    (int, {}, "expected an integer, got an object"),
    (float, "5", "expected a number, got a string"),
    (float, True, "expected a number, got a boolean"),
    (str, 5, "expected a string, got an integer"),
    (bool, 1, "expected a boolean, got an integer"),
    (bool, "true", "expected a boolean, got a string"),
    (None, 1, "expected null, got an integer"),
    (int | str | None, [], "expected an integer, a string or null, got a list"),
    (list[int], "a", "expected a list, got a string"),
    (dict[str, int], [], "expected an object, got a list"),
    (dict[int, int], {"a": 1}, "a key of it: expected an integer, got a string"),
    (bytes, 1, "expected a base64 string, got an integer"),
    (bytes, "?", "must be base64"),
    (Annotated[int, Field(ge=1)], 0, "must be at least 1"),
    (Annotated[int, Field(gt=0)], 0, "must be at least 1"),
    (Annotated[float, Field(gt=0)], 0, "must be more than 0"),
    (Annotated[float, Field(le=0.5)], 1, "must be at most 0.5"),
    (Annotated[float, Field(lt=0.5)], 1, "must be less than 0.5"),
    (Annotated[int, Field(multiple_of=2)], 1, "must be a multiple of 2"),
    (Annotated[str, Field(min_length=1)], "", "must have at least 1 character"),
    (Annotated[str, Field(max_length=2)], "abc", "must have at most 2 characters"),
    (Annotated[bytes, Field(max_length=2)], "YWJj", "must have at most 2 bytes"),
    (Annotated[list[int], Field(min_length=1)], [], "must have at least 1 item"),
    (Annotated[dict[str, int], Field(min_length=2)], {}, "must have at least 2 entries"),
    (Annotated[str, Field(pattern="^a+$")], "b", "must match the pattern ^a+$"),
    (tuple[int, int], [1], "expected a list of 2, got 1 item"),
    (tuple[int, int], [1, 2, 3], "expected a list of 2, got 3 items"),
    (Literal["a", "b"], "c", 'must be one of "a", "b"'),
    (Literal["a"], 5, 'must be "a"'),
    (datetime.datetime, "now", 'must be a date and time such as "2026-01-31T09:30:00Z"'),
    (datetime.datetime, 5, "expected a date and time as a string, got an integer"),
    (datetime.date, "now", 'must be a date such as "2026-01-31"'),
    (datetime.time, "now", 'must be a time such as "09:30:00"'),
    (datetime.timedelta, "now", 'must be a duration such as "PT1H30M"'),
    (uuid.UUID, "a", 'must be a UUID such as "123e4567-e89b-12d3-a456-426614174000"'),
    (Decimal, "a", 'must be a decimal number such as "12.50"'),
    (Aware, "2026-01-31T09:30:00", "must have a time zone, such as Z"),
    (Naive, "2026-01-31T09:30:00Z", "must have no time zone"),
    (Strict, {"b": 1}, "unknown field b"),
]


@pytest.mark.parametrize(("annotation", "value", "problem"), PROBLEMS, ids=repr)
def test_a_value_that_does_not_fit_is_told_why(annotation: Any, value: Any, problem: str) -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        converter_for(annotation, where="it").convert(value)
    assert refused.value.problem == problem


def test_a_long_list_of_values_is_cut() -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        converter_for(Many, where="it").convert("x")
    assert refused.value.problem.startswith('must be one of "m0", "m1", ')
    assert refused.value.problem.endswith('"m19", …')


def test_a_problem_is_one_short_line_whatever_was_sent() -> None:
    class Talkative(msgspec.Struct):
        a: int

        def __post_init__(self) -> None:
            raise ValueError("so\nmany\nwords " * 100)

    with pytest.raises(InvalidArgumentsError) as refused:
        converter_for(Talkative, where="it").convert({"a": 1})
    assert "\n" not in refused.value.problem
    assert len(refused.value.problem) == 240


@pytest.mark.parametrize(
    ("annotation", "value", "argument"),
    [
        (list[list[int]], [[1], [2, "a"]], "[1][1]"),
        (list[Strict], [{}, {"a": "b"}], "[1].a"),
        (tuple[int, Strict], [1, {"a": "b"}], "[1].a"),
        (dict[str, list[Strict]], {"k": [{"a": "b"}]}, "[...][0].a"),
        (list[Strict | list[Strict]], [[{"a": "b"}]], "[0][0].a"),
    ],
    ids=repr,
)
def test_a_problem_inside_is_found_by_its_path(annotation: Any, value: Any, argument: str) -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        converter_for(annotation, where="it").convert(value)
    assert refused.value.argument == argument
    assert str(refused.value) == f"{argument}: expected an integer, got a string"


def test_a_value_that_looks_like_a_path_does_not_mislead() -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        converter_for(list[Literal["a"]], where="it").convert([" - at `$.x`"])
    assert (refused.value.argument, refused.value.problem) == ("[0]", 'must be "a"')
