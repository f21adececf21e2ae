"""What `Annotated` says: our Field, msgspec's, pydantic's, annotated_types, and plain texts."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Annotated, Any

import annotated_types as at
import msgspec
import pydantic
import pytest
from jsonschema import Draft202012Validator

from clawkit.errors import InvalidArgumentsError, SchemaError
from clawkit.tools.schema.constraints import Field
from clawkit.tools.schema.reader import converter_for


def schema(annotation: Any) -> dict[str, Any]:
    found = converter_for(annotation, where="it").schema
    Draft202012Validator.check_schema(found)
    return found


def problem(annotation: Any, value: Any) -> str:
    with pytest.raises(InvalidArgumentsError) as refused:
        converter_for(annotation, where="it").convert(value)
    return refused.value.problem


class Doc:
    """The same shape as `typing_extensions.Doc`."""

    def __init__(self, documentation: str) -> None:
        self.documentation = documentation


def test_our_field_says_everything_there_is_to_say() -> None:
    limits = Field(
        description="How many.", title="Count", examples=[2], ge=1, lt=9, multiple_of=2, header="N"
    )
    assert schema(Annotated[int, limits]) == {
        "type": "integer",
        "description": "How many.",
        "title": "Count",
        "examples": [2],
        "minimum": 1,
        "exclusiveMaximum": 9,
        "multipleOf": 2,
        "x-mcp-header": "N",
    }
    text = Field(min_length=1, max_length=3, pattern="^a")
    assert schema(Annotated[str, text]) == {
        "type": "string",
        "minLength": 1,
        "maxLength": 3,
        "pattern": "^a",
    }


@pytest.mark.parametrize(
    "said",
    [
        "How many.",
        Field(description="How many."),
        msgspec.Meta(description="How many."),
        pydantic.Field(description="How many."),
        Doc("How many."),
    ],
    ids=["text", "ours", "msgspec", "pydantic", "doc"],
)
def test_a_description_can_be_said_in_many_ways(said: Any) -> None:
    assert schema(Annotated[int, said]) == {"type": "integer", "description": "How many."}


@pytest.mark.parametrize(
    ("said", "limits"),
    [
        ([Field(ge=1, le=9)], {"minimum": 1, "maximum": 9}),
        ([pydantic.Field(ge=1, le=9)], {"minimum": 1, "maximum": 9}),
        ([at.Ge(1), at.Le(9)], {"minimum": 1, "maximum": 9}),
        ([at.Interval(gt=0, lt=10)], {"exclusiveMinimum": 0, "exclusiveMaximum": 10}),
        ([at.Gt(0), at.Lt(10)], {"exclusiveMinimum": 0, "exclusiveMaximum": 10}),
        ([at.MultipleOf(3)], {"multipleOf": 3}),
        ([Field(ge=5), Field(ge=1)], {"minimum": 1}),
    ],
    ids=repr,
)
def test_numbers_have_limits(said: list[Any], limits: dict[str, Any]) -> None:
    annotation = Annotated[int, *said]
    assert schema(annotation) == {"type": "integer", **limits}
    assert converter_for(annotation, where="it").convert(3) == 3
    assert problem(annotation, -1).startswith("must be ")


@pytest.mark.parametrize(
    ("said", "limits"),
    [
        ([Field(min_length=2, max_length=3)], {"minLength": 2, "maxLength": 3}),
        ([pydantic.Field(min_length=2, max_length=3)], {"minLength": 2, "maxLength": 3}),
        ([at.Len(2, 3)], {"minLength": 2, "maxLength": 3}),
        ([at.MinLen(2), at.MaxLen(3)], {"minLength": 2, "maxLength": 3}),
        ([at.Len(0, 3)], {"maxLength": 3}),
        ([pydantic.StringConstraints(pattern="^a+$")], {"pattern": "^a+$"}),
        ([pydantic.Field(pattern="^a+$")], {"pattern": "^a+$"}),
        ([re.compile("^a+$")], {"pattern": "^a+$"}),
    ],
    ids=repr,
)
def test_strings_have_sizes_and_patterns(said: list[Any], limits: dict[str, Any]) -> None:
    annotation = Annotated[str, *said]
    assert schema(annotation) == {"type": "string", **limits}
    assert converter_for(annotation, where="it").convert("aa") == "aa"
    assert problem(annotation, "bbbb").startswith("must ")


def test_limits_hold_at_every_depth() -> None:
    annotation = Annotated[
        list[Annotated[dict[str, Annotated[int, Field(ge=1)]], Field(min_length=1)]],
        Field(max_length=2),
    ]
    assert schema(annotation) == {
        "type": "array",
        "maxItems": 2,
        "items": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "integer", "minimum": 1},
        },
    }
    assert problem(annotation, [{}, {}, {}]) == "must have at most 2 items"
    assert problem(annotation, [{}]) == "must have at least 1 entry"
    assert problem(annotation, [{"a": 0}]) == "must be at least 1"


def test_the_limits_of_a_union_hold_for_the_members_that_can_have_them() -> None:
    optional = Annotated[int | None, Field(ge=1, description="d")]
    assert schema(optional) == {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
        "description": "d",
    }
    assert converter_for(optional, where="it").convert(None) is None
    assert problem(optional, 0) == "must be at least 1"
    either = Annotated[datetime.date | str, Field(min_length=3)]
    assert schema(either)["anyOf"][1] == {"type": "string", "minLength": 3}
    assert converter_for(either, where="it").convert("abc") == "abc"


CROWDED: list[Any] = [
    tuple[int, str] | Annotated[int, msgspec.Meta(ge=0)],
    Annotated[str, msgspec.Meta(pattern="a")] | list[int] | int,
    Annotated[str, Field(pattern="a")] | dict[str, int],
    Annotated[str, Field(pattern="a")] | Annotated[list[int], Field(min_length=1)],
    Annotated[int | tuple[int, str] | dict[str, int], Field(ge=0)],
]


@pytest.mark.parametrize("annotation", CROWDED, ids=repr)
@pytest.mark.parametrize("wrap", [list, tuple, dict, type], ids=repr)
def test_limits_in_a_union_do_not_crash_msgspec(annotation: Any, wrap: type) -> None:
    """Each of these ends the process, if msgspec 0.22 is given it as it is."""
    struct = msgspec.defstruct("Crowded", [("value", annotation)])
    record = dataclass(type("Record", (), {"__annotations__": {"value": annotation}}))
    for kind in (annotation, struct, record):
        wrapped = {list: list[kind], tuple: tuple[kind, int], dict: dict[str, kind], type: kind}
        found = converter_for(wrapped[wrap], where="it")
        Draft202012Validator.check_schema(found.schema)
        for value in (1, -1, "a", "b", [1], [], {"a": 1}, {"value": 1}, {}, None, [1, "a"]):
            sent = {list: [value], tuple: [value, 1], dict: {"k": value}, type: value}[wrap]
            if Draft202012Validator(found.schema).is_valid(sent):
                found.convert(sent)
                continue
            with pytest.raises(InvalidArgumentsError):
                found.convert(sent)


def test_words_for_a_class_stand_beside_its_reference() -> None:
    model = msgspec.defstruct("Point", [("x", int)])
    found = schema(tuple[Annotated[model, "Where."], model])
    assert found["prefixItems"][0] == {"$ref": "#/$defs/Point", "description": "Where."}


def test_a_validator_of_pydantic_is_obeyed() -> None:
    doubled = converter_for(
        Annotated[int, pydantic.Field(ge=1), pydantic.AfterValidator(lambda n: 2 * n)], where="it"
    )
    assert doubled.schema == {"type": "integer", "minimum": 1}
    assert doubled.convert(2) == 4


def test_our_field_beside_a_validator_of_pydantic_is_obeyed_or_refused() -> None:
    validator = pydantic.AfterValidator(abs)
    described = schema(Annotated[int, validator, Field(description="d"), pydantic.Field(le=3)])
    assert described["description"] == "d"
    with pytest.raises(SchemaError, match="Can only set `ge`"):
        converter_for(Annotated[int, validator, Field(ge=1)], where="it")


@pytest.mark.parametrize(
    ("annotation", "says"),
    [
        (Annotated[str, Field(ge=1)], "`ge` on a numeric type"),
        (Annotated[int, Field(min_length=1)], "min_length"),
        (Annotated[int, Field(ge=1), Field(min_length=1)], "Cannot mix"),
        (Annotated[dict | None, Field(ge=1)], "no member of the union"),
        (Annotated[datetime.date, at.Ge(datetime.date(2026, 1, 1))], "not a JSON number"),
    ],
)
def test_a_limit_that_the_type_cannot_have_is_refused(annotation: Any, says: str) -> None:
    with pytest.raises(SchemaError, match=says) as refused:
        converter_for(annotation, where="it")
    assert str(refused.value).startswith("it: ")


def test_limits_that_no_type_can_have_together_are_refused_where_they_are_written() -> None:
    with pytest.raises(SchemaError, match="Field: Cannot mix"):
        Field(ge=1, min_length=1)


def test_metadata_that_says_nothing_is_left_alone() -> None:
    assert schema(Annotated[int, object(), int, 5, None]) == {"type": "integer"}
