"""Types that msgspec does not know: unions it refuses, and pydantic's models."""

from __future__ import annotations

import datetime
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pydantic.dataclasses
import pytest
from jsonschema import Draft202012Validator

from clawkit.errors import InvalidArgumentsError, SchemaError
from clawkit.tools.schema.converter import Converter
from clawkit.tools.schema.reader import converter_for


@dataclass
class Circle:
    radius: float
    kind: Literal["circle"] = "circle"


@dataclass
class Square:
    side: float
    kind: Literal["square"] = "square"


@dataclass
class Anything:
    radius: float | None = None
    side: float | None = None


@dataclass
class Nothing:
    left: int = 0


class Item(pydantic.BaseModel):
    name: str
    count: int = pydantic.Field(default=1, ge=1, le=9)


class Order(pydantic.BaseModel):
    """An order."""

    items: list[Item]
    due: datetime.date | None = None

    @pydantic.field_validator("items")
    @classmethod
    def not_empty(cls, items: list[Item]) -> list[Item]:
        if not items:
            raise ValueError("an order has items")
        return items


class Tree(pydantic.BaseModel):
    children: list[Tree] = []


@pydantic.dataclasses.dataclass
class Weight:
    grams: int


@dataclass
class Shelf:
    items: list[Item | Circle]
    place: Path | None = None


DAY = datetime.date(2026, 1, 31)
KEY = uuid.UUID("123e4567-e89b-12d3-a456-426614174000")


def converter(annotation: Any) -> Converter:
    found = converter_for(annotation, where="it")
    Draft202012Validator.check_schema(found.schema)
    return found


def refusal(annotation: Any, value: Any) -> tuple[str, str]:
    with pytest.raises(InvalidArgumentsError) as refused:
        converter(annotation).convert(value)
    return refused.value.argument, refused.value.problem


@pytest.mark.parametrize(
    ("annotation", "sent", "meant"),
    [
        (Circle | Square, {"radius": 1}, Circle(1)),
        (Circle | Square, {"side": 1}, Square(1)),
        (Circle | Square, {"side": 1, "kind": "square"}, Square(1)),
        (Circle | Square | None, None, None),
        (Nothing | Anything, {"side": 2}, Anything(side=2)),
        (Anything | Nothing, {"left": 2}, Nothing(2)),
        (dict[str, int] | Nothing, {"left": 2}, Nothing(2)),
        (dict[str, int] | Circle, {"other": 2}, {"other": 2}),
        (datetime.date | str, "2026-01-31", DAY),
        (str | datetime.date, "2026-01-31", DAY),
        (str | datetime.date, "today", "today"),
        (str | bytes, "aGk=", "aGk="),
        (uuid.UUID | int | str, str(KEY), KEY),
        (uuid.UUID | int | str, 5.0, 5),
        (Any | Circle | Square, "a", "a"),
        (Path | int, "a", Path("a")),
        (list[int] | set[str], ["a"], {"a"}),
        (list[Circle | Square], [{"side": 1}, {"radius": 2}], [Square(1), Circle(2)]),
        (Literal["a"] | Circle | int, "a", "a"),
        (Item | int, {"name": "a"}, Item(name="a")),
        (Item | Circle, {"radius": 1}, Circle(1)),
        (dict[str, Item | None], {"a": {"name": "b"}}, {"a": Item(name="b")}),
        (Weight, {"grams": 5}, Weight(5)),
        (Tree, {"children": [{}]}, Tree(children=[Tree()])),
        (
            Shelf,
            {"items": [{"name": "a"}, {"radius": 1}], "place": "b"},
            Shelf([Item(name="a"), Circle(1)], Path("b")),
        ),
    ],
    ids=repr,
)
def test_the_member_that_fits_is_taken(annotation: Any, sent: Any, meant: Any) -> None:
    found = converter(annotation)
    assert found.convert(sent) == meant
    Draft202012Validator(found.schema).validate(sent)


def test_a_union_is_described_by_its_members() -> None:
    schema = converter(Circle | Square | None).schema
    assert schema["anyOf"] == [
        {"$ref": "#/$defs/Circle"},
        {"$ref": "#/$defs/Square"},
        {"type": "null"},
    ]
    assert schema["$defs"]["Circle"]["properties"]["kind"] == {
        "type": "string",
        "enum": ["circle"],
        "default": "circle",
    }


@pytest.mark.parametrize(
    ("annotation", "sent", "argument", "problem"),
    [
        (Circle | Square, 3, "", "expected an object, got an integer"),
        (Circle | int, "a", "", "expected an object or an integer, got a string"),
        (datetime.date | str, 3, "", "expected a string, got an integer"),
        (Circle | Square, {"side": "a"}, "side", "expected a number, got a string"),
        (
            Circle | Square,
            {"radius": 1, "side": "a", "kind": "square"},
            "side",
            "expected a number, got a string",
        ),
        (
            Circle | Square,
            {"kind": "cube", "side": 1, "radius": 1},
            "kind",
            'must be one of "circle", "square"',
        ),
        (list[Circle | Square], [{"side": "a"}], "[0].side", "expected a number, got a string"),
        (dict[str, Path], {"a": 1}, "[...]", "expected a string, got an integer"),
    ],
    ids=repr,
)
def test_the_problem_is_that_of_the_nearest_member(
    annotation: Any, sent: Any, argument: str, problem: str
) -> None:
    assert refusal(annotation, sent) == (argument, problem)


def test_a_pydantic_model_brings_its_own_schema() -> None:
    schema = converter(tuple[Order, list[Item]]).schema
    assert schema["prefixItems"] == [
        {"$ref": "#/$defs/Order"},
        {"type": "array", "items": {"$ref": "#/$defs/Item"}},
    ]
    assert list(schema["$defs"]) == ["Item", "Order"]
    assert schema["$defs"]["Order"]["properties"]["items"]["items"] == {"$ref": "#/$defs/Item"}
    assert converter(Order).schema["type"] == "object"


def test_a_pydantic_model_and_a_dataclass_of_one_name_keep_apart() -> None:
    other = dataclass(type("Item", (), {"__annotations__": {"other": int}}))
    schema = converter(tuple[other, Order]).schema
    assert list(schema["$defs"]["Item"]["properties"]) == ["other"]
    assert schema["$defs"]["Order"]["properties"]["items"]["items"] == {"$ref": "#/$defs/Item_2"}
    assert list(schema["$defs"]["Item_2"]["properties"]) == ["name", "count"]


@pytest.mark.parametrize(
    ("sent", "argument", "problem"),
    [
        ({}, "items", "missing required field"),
        ({"items": [{"name": 1}]}, "items[0].name", "expected a string, got an integer"),
        ({"items": [{"count": "5"}]}, "items[0].name", "missing required field"),
        (
            {"items": [{"name": "a", "count": "5"}]},
            "items[0].count",
            "expected an integer, got a string",
        ),
        ({"items": [{"name": "a", "count": 0}]}, "items[0].count", "must be at least 1"),
        ({"items": [{"name": "a", "count": 10}]}, "items[0].count", "must be at most 9"),
        ({"items": []}, "items", "an order has items"),
        ([], "", "expected an object, got a list"),
    ],
    ids=repr,
)
def test_what_pydantic_finds_is_said_in_our_words(sent: Any, argument: str, problem: str) -> None:
    assert refusal(Order, sent) == (argument, problem)
    assert refusal(list[Order | None], [sent])[1] in (
        problem,
        problem.replace(", got", " or null, got"),
    )


def test_pydantic_takes_a_whole_number_for_an_integer() -> None:
    assert converter(Item).convert({"name": "a", "count": 2.0}) == Item(name="a", count=2)


def test_other_types_of_pydantic_are_described_by_pydantic() -> None:
    assert converter(pydantic.HttpUrl).schema["format"] == "uri"
    assert converter(pydantic.PositiveInt).schema == {"type": "integer", "exclusiveMinimum": 0}


def test_a_model_that_has_no_schema_is_refused() -> None:
    class Odd(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        path: Annotated[type, "not JSON"] | complex
        odd: object = None
        lock: subprocess.Popen[bytes] | None = None

    with pytest.raises(SchemaError, match=r"it: .*Odd: "):
        converter_for(Odd, where="it")


def test_pydantic_is_not_imported_for_those_who_do_not_use_it() -> None:
    program = (
        "import sys; from clawkit.tools.schema.reader import converter_for;"
        "converter_for(int | str, where='it'); sys.exit('pydantic' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
