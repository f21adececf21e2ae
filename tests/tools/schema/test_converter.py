"""Types as JSON Schema, and JSON values as those types."""

from __future__ import annotations

import datetime
import enum
import uuid
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypeAlias,
    TypedDict,
    TypeVar,
)

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from typing_extensions import TypeAliasType

from clawkit.errors import InvalidArgumentsError
from clawkit.tools.schema.constraints import Field
from clawkit.tools.schema.converter import Converter
from clawkit.tools.schema.reader import converter_for

T = TypeVar("T")
UserId = NewType("UserId", int)
Texts = TypeAliasType("Texts", list[str])
ByName = TypeAliasType("ByName", dict[str, T], type_params=(T,))
Names: TypeAlias = "list[str]"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    WORD = "word"
    NUMBER = 2.5


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


@dataclass
class Scene:
    """What is drawn."""

    when: datetime.datetime | str
    file: Path
    size: Annotated[int, Field(ge=1)] = 1
    color: Color = Color.RED


class Movie(TypedDict, total=False):
    title: Required[str]
    year: int


class Loose(TypedDict):
    title: NotRequired[Annotated[str, Field(min_length=1)]]


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str
    age: int = 3


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    born: datetime.date | str


@dataclass
class Node:
    value: Annotated[int, Field(ge=0)]
    children: list[Node] = field(default_factory=list)


@dataclass
class Box(Generic[T]):
    content: T


@dataclass
class NumberBox(Box[int]):
    label: str = ""


@dataclass
class Careful:
    x: int
    seen: ClassVar[int] = 0
    secret: int = field(init=False, default=7)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x must not be negative")


@dataclass(init=False)
class Bare:
    x: int = 1


@dataclass
class HandMade:
    x: int

    def __init__(self, x: int) -> None:
        self.x = 2 * x


def converter(annotation: Any) -> Converter:
    found = converter_for(annotation, where="it")
    Draft202012Validator.check_schema(found.schema)
    return found


SCHEMAS: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (object, {}),
    (bytes, {"type": "string", "contentEncoding": "base64"}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (list, {"type": "array"}),
    (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
    (Iterable[int], {"type": "array", "items": {"type": "integer"}}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (AbstractSet[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (
        tuple[int, str],
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": False,
            "minItems": 2,
            "maxItems": 2,
        },
    ),
    (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Mapping[str, Any], {"type": "object"}),
    (dict[int, str], {"type": "object", "additionalProperties": {"type": "string"}}),
    (
        dict[Color, int],
        {
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "propertyNames": {"enum": ["red", "blue"]},
        },
    ),
    (Literal["b", "a"], {"type": "string", "enum": ["b", "a"]}),
    (Literal[1, "a", None], {"enum": [1, "a", None]}),
    (Literal[True], {"type": "boolean", "enum": [True]}),
    (Color, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (Mixed, {"enum": ["word", 2.5]}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.time, {"type": "string", "format": "time"}),
    (datetime.timedelta, {"type": "string", "format": "duration"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (Decimal, {"type": "string", "format": "decimal"}),
    (Path, {"type": "string", "format": "path"}),
    (UserId, {"type": "integer"}),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),  # noqa: UP045
    (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
]


@pytest.mark.parametrize(("annotation", "schema"), SCHEMAS, ids=repr)
def test_a_type_has_the_schema_one_would_write(annotation: Any, schema: dict[str, Any]) -> None:
    assert converter(annotation).schema == schema


NOON = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)
KEY = uuid.UUID("123e4567-e89b-12d3-a456-426614174000")

VALUES: list[tuple[Any, Any, Any]] = [
    (int, 5, 5),
    (int, 5.0, 5),
    (int, 2**70, 2**70),
    (float, 5, 5.0),
    (Any, {"a": [1]}, {"a": [1]}),
    (bytes, "aGk=", b"hi"),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, ...], [1, 2], (1, 2)),
    (set[int], [1, 1], {1}),
    (frozenset[int], [1], frozenset({1})),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (dict[Color, int], {"red": 1}, {Color.RED: 1}),
    (Literal["a", 1], 1.0, 1),
    (Literal[True], True, True),
    (Literal[Color.RED], "red", Color.RED),
    (Color, "blue", Color.BLUE),
    (Level, 2, Level.HIGH),
    (Mixed, 2.5, Mixed.NUMBER),
    (datetime.datetime, "2026-01-31T12:00:00Z", NOON),
    (datetime.date, "2026-01-31", datetime.date(2026, 1, 31)),
    (datetime.time, "09:30:00", datetime.time(9, 30)),
    (datetime.timedelta, "PT90S", datetime.timedelta(seconds=90)),
    (uuid.UUID, str(KEY), KEY),
    (Decimal, "1.10", Decimal("1.10")),
    (Decimal, 1.5, Decimal("1.5")),
    (Path, "a/b", Path("a/b")),
    (PurePosixPath, "a/b", PurePosixPath("a/b")),
    (UserId, 3, 3),
    (Point, {"x": 1}, Point(1)),
    (Point, {"x": 1.0, "tags": ["a"]}, Point(1, tags=["a"])),
    (list[Point | None], [{"x": 1}, None], [Point(1), None]),
    (
        Scene,
        {"when": "2026-01-31T12:00:00Z", "file": "a.png", "color": "blue"},
        Scene(NOON, Path("a.png"), 1, Color.BLUE),
    ),
    (dict[str, Scene], {"a": {"when": "x", "file": "b"}}, {"a": Scene("x", Path("b"))}),
    (Movie, {"title": "Alien"}, {"title": "Alien"}),
    (Loose, {}, {}),
    (Loose, {"title": "a"}, {"title": "a"}),
    (Pair, [1], Pair(1)),
    (Renamed, {"firstName": "Ada"}, Renamed("Ada")),
    (Cat | Dog, {"type": "Cat", "lives": 9}, Cat(9)),
    (Cat | Dog, {"type": "Dog", "born": "2026-01-31"}, Dog(datetime.date(2026, 1, 31))),
    (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
    (Box[Point], {"content": {"x": 1}}, Box(Point(1))),
    (Box[datetime.date | str], {"content": "x"}, Box("x")),
    (NumberBox, {"content": 1, "label": "a"}, NumberBox(1, "a")),
    (HandMade, {"x": 2}, HandMade(2)),
    (Careful, {"x": 2, "secret": 9}, Careful(2)),
    (Bare, {}, Bare()),
    (Iterable[int], [1], [1]),
]


@pytest.mark.parametrize(("annotation", "sent", "meant"), VALUES, ids=repr)
def test_a_json_value_becomes_the_python_value(annotation: Any, sent: Any, meant: Any) -> None:
    got = converter(annotation).convert(sent)
    assert got == meant
    assert type(got) is type(meant)


def test_a_named_type_is_defined_once_and_its_root_is_inline() -> None:
    schema = converter(tuple[Point, list[Point]]).schema
    assert list(schema["$defs"]) == ["Point"]
    assert schema["prefixItems"][1] == {"type": "array", "items": {"$ref": "#/$defs/Point"}}
    assert converter(Point).schema == {
        "type": "object",
        "properties": {
            "x": {"type": "integer"},
            "y": {"type": "integer", "default": 0},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        },
        "required": ["x"],
    }


def test_a_class_is_described_by_its_docstring() -> None:
    assert converter(Scene).schema["description"] == "What is drawn."
    assert "description" not in converter(Point).schema


def test_a_type_that_contains_itself_refers_to_itself() -> None:
    schema = converter(Node).schema
    assert schema["type"] == "object"
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["properties"]["value"] == {"type": "integer", "minimum": 0}


def test_two_classes_of_one_name_keep_apart() -> None:
    def make(kind: type) -> type:
        return msgspec.defstruct("Same", [("value", kind)])

    schema = converter(tuple[make(int), make(str)]).schema
    assert schema["prefixItems"] == [{"$ref": "#/$defs/Same"}, {"$ref": "#/$defs/Same_2"}]
    assert schema["$defs"]["Same"]["properties"]["value"] == {"type": "integer"}
    assert schema["$defs"]["Same_2"]["properties"]["value"] == {"type": "string"}


def test_optional_keys_are_not_required() -> None:
    assert converter(Movie).schema["required"] == ["title"]
    assert "required" not in converter(Loose).schema


def test_a_fields_own_check_is_reported() -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        converter(list[Careful]).convert([{"x": -1}])
    assert (refused.value.argument, refused.value.problem) == ("[0]", "x must not be negative")


def test_a_field_is_frozen_and_can_be_hashed() -> None:
    limits = Field(ge=1, examples=[1])
    assert hash(limits) == hash(Field(ge=1, examples=[1]))
    with pytest.raises(AttributeError):
        limits.ge = 2  # pyright: ignore[reportAttributeAccessIssue]


SIMPLE: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, st.integers()),
    (float, st.floats(allow_nan=False, allow_infinity=False) | st.integers()),
    (str, st.text("aß1 ")),
    (bool, st.booleans()),
    (list[int], st.lists(st.integers())),
    (dict[str, float], st.dictionaries(st.text("ab"), st.integers())),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (Point, st.fixed_dictionaries({"x": st.integers()}, optional={"y": st.integers()})),
    (Annotated[int, Field(ge=1, lt=9)], st.integers(1, 8)),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyab"), inner),
)


def test_an_alias_means_what_it_stands_for() -> None:
    assert converter(list[Texts]).schema == converter(list[list[str]]).schema
    assert converter(ByName[Point]).convert({"a": {"x": 1}}) == {"a": Point(1)}


@given(st.data(), st.sampled_from(SIMPLE))
def test_what_fits_the_type_fits_the_schema(data: st.DataObject, case: Any) -> None:
    annotation, strategy = case
    value = data.draw(strategy)
    found = converter(annotation)
    found.convert(value)
    Draft202012Validator(found.schema).validate(value)


@given(JSON, st.sampled_from([annotation for annotation, _ in SIMPLE]))
def test_a_value_is_accepted_exactly_when_its_schema_accepts_it(
    value: Any, annotation: Any
) -> None:
    found = converter(annotation)
    if Draft202012Validator(found.schema).is_valid(value):
        found.convert(value)
        return
    with pytest.raises(InvalidArgumentsError, match=r"\A.{1,300}\Z"):
        found.convert(value)
