"""Arguments of tools as they are typed, and the values that come of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawkit.cli.call.arguments import ArgumentError, read_arguments


def schema(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


STRING, INTEGER, NUMBER, BOOLEAN = (
    {"type": kind} for kind in ("string", "integer", "number", "boolean")
)


@pytest.mark.parametrize(
    ("part", "typed", "value"),
    [
        (STRING, "0123", "0123"),
        (STRING, "true", "true"),
        (STRING, "null", "null"),
        (STRING, "", ""),
        (STRING, "a=b:=c", "a=b:=c"),
        (INTEGER, "-5", -5),
        (NUMBER, "5", 5),
        (NUMBER, "2.5e-1", 0.25),
        (BOOLEAN, "yes", True),
        (BOOLEAN, "False", False),
        (BOOLEAN, "0", False),
        ({"enum": ["window", "garden"]}, "garden", "garden"),
        ({"enum": [1, 2]}, "2", 2),
        ({"const": "x"}, "x", "x"),
        ({"type": "array", "items": INTEGER}, "[1, 2]", [1, 2]),
        ({"type": "array", "items": INTEGER}, "7", [7]),
        ({"type": "array", "items": STRING}, "a,b", ["a,b"]),
        ({"type": "object"}, '{"a": null}', {"a": None}),
        ({"anyOf": [STRING, {"type": "null"}]}, "null", None),
        ({"anyOf": [STRING, {"type": "null"}]}, "nil", "nil"),
        ({"anyOf": [STRING, INTEGER]}, "7", 7),
        ({"anyOf": [STRING, INTEGER, BOOLEAN]}, "1", 1),
        ({"anyOf": [STRING, INTEGER, BOOLEAN]}, "true", True),
        ({"anyOf": [{"type": "array", "items": STRING}, {"type": "null"}]}, "a", ["a"]),
        ({"type": ["integer", "null"]}, "3", 3),
        ({}, "[1]", [1]),
        ({}, "word", "word"),
        ({"$ref": "#/$defs/Day"}, "3", 3),
        ({"allOf": [{"$ref": "#/$defs/Day"}]}, "3", 3),
        ({"$ref": "#/$defs/Loop"}, "x", "x"),
    ],
)
def test_a_value_gets_the_type_that_the_schema_says(
    part: dict[str, Any], typed: str, value: Any
) -> None:
    defined = {"$defs": {"Day": INTEGER, "Loop": {"$ref": "#/$defs/Loop"}}}
    found = read_arguments([f"x={typed}"], {**schema(x=part), **defined})["x"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("days=two", "days=two: expected an integer"),
        ("sunny=maybe", "sunny=maybe: expected yes or no"),
        ("table=cellar", "table=cellar: expected one of window, garden"),
        ("days:=two", "days: is not JSON: Expecting value"),
        ("guest=Ada", "guest: is not JSON: Expecting value"),
        ("ctiy=Oslo", "there is no argument 'ctiy': did you mean city?"),
        ("zzz=Oslo", "there is no argument 'zzz': it takes city, days, sunny, table, guest"),
        ("Oslo", "'Oslo' has no name: write city=Oslo"),
        ("--city", "--city: arguments of a tool are written city=VALUE"),
        ("--city=Oslo", "--city=Oslo: arguments of a tool are written city=Oslo"),
        ("--tmeout", "there is no option --tmeout"),
        ("{", "the arguments: is not JSON: Expecting property name"),
        ("city=@nothing.txt", "city: nothing.txt: No such file or directory; for the text itself"),
    ],
)
def test_what_does_not_fit_is_said_with_what_would(word: str, problem: str) -> None:
    wanted = schema(
        ("city",),
        city=STRING,
        days=INTEGER,
        sunny=BOOLEAN,
        table={"enum": ["window", "garden"]},
        guest={"type": "object"},
    )
    with pytest.raises(ArgumentError) as refused:
        read_arguments([word], wanted)
    assert str(refused.value).startswith(problem)


def test_a_list_is_given_item_by_item_and_anything_else_once() -> None:
    tags = schema(tags={"type": "array", "items": INTEGER}, city=STRING)
    assert read_arguments(["tags=1", "tags=2", "tags=3"], tags) == {"tags": [1, 2, 3]}
    assert read_arguments(["tags:=[[1]]"], tags) == {"tags": [[1]]}
    with pytest.raises(ArgumentError, match="city is given twice"):
        read_arguments(["city=Oslo", "city=Bergen"], tags)
    with pytest.raises(ArgumentError, match="tags=x: expected an integer"):
        read_arguments(["tags=1", "tags=x"], tags)


def test_one_object_has_all_of_them_and_words_behind_it_count_more(tmp_path: Path) -> None:
    wanted = schema(("city",), city=STRING, days=INTEGER)
    given = tmp_path / "given.json"
    given.write_text('{"city": "Oslo", "days": 1}')
    assert read_arguments(['{"city": "Oslo"}', "days=2"], wanted) == {"city": "Oslo", "days": 2}
    assert read_arguments(["days=5"], wanted, str(given)) == {"city": "Oslo", "days": 5}
    with pytest.raises(ArgumentError, match="must be a JSON object"):
        read_arguments([], wanted, str(_written(tmp_path / "list.json", b"[]")))


def test_missing_ones_are_named() -> None:
    with pytest.raises(ArgumentError, match=r"^missing: city, days$"):
        read_arguments([], schema(("city", "days"), city=STRING, days=INTEGER))


def test_a_file_gives_text_numbers_json_or_bytes(tmp_path: Path) -> None:
    wanted = schema(
        text=STRING,
        days=INTEGER,
        guest={"type": "object"},
        picture={"type": "string", "contentEncoding": "base64"},
    )
    text = _written(tmp_path / "a.txt", "two\nlines é\n".encode())
    number = _written(tmp_path / "b.txt", b"12\n")
    guest = _written(tmp_path / "c.json", b'{"name": "Ada"}')
    picture = _written(tmp_path / "d.png", b"\x89PNG\xff")
    words = [f"text=@{text}", f"days=@{number}", f"guest:=@{guest}", f"picture=@{picture}"]
    assert read_arguments(words, wanted) == {
        "text": "two\nlines é",
        "days": 12,
        "guest": {"name": "Ada"},
        "picture": "iVBOR/8=",
    }
    with pytest.raises(ArgumentError, match=r"d\.png is not UTF-8 text"):
        read_arguments([f"text=@{picture}"], wanted)


def test_a_tool_that_takes_anything_gets_it() -> None:
    open_ended = {**schema(a=STRING), "additionalProperties": True}
    assert read_arguments(["b=1"], open_ended) == {"b": 1}
    assert read_arguments(["b=word"], {"type": "object"}) == {"b": "word"}


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
