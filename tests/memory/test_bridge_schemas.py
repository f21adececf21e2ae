"""Schemas of bridges, side by side with a complete implementation of JSON Schema."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from clawkit.errors import InvalidArgumentsError
from clawkit.memory.bridge_schemas import BadSchemaError, check_arguments, check_schema

TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "additionalProperties": False,
        }
    },
}
SCHEMAS: list[dict[str, Any]] = [
    {},
    {"type": "object"},
    {"type": ["object", "null"], "maxProperties": 1},
    {"properties": {"x": {"type": "integer"}}, "required": ["x"]},
    {"properties": {"x": {"type": ["number", "null"], "exclusiveMinimum": 0, "multipleOf": 0.5}}},
    {"properties": {"x": {"enum": [1, "a", None, [1], {"b": True}]}}},
    {"properties": {"x": {"const": True}}},
    {"properties": {"x": {"type": "string", "minLength": 1, "maxLength": 2}}},
    {"properties": {"x": {"anyOf": [{"type": "string"}, {"minimum": 2, "type": "number"}]}}},
    {"properties": {"x": {"oneOf": [{"type": "number"}, {"type": "integer"}]}}},
    {"properties": {"x": {"not": {"type": "string"}}}},
    {"properties": {"x": {"allOf": [{"type": "number"}, {"maximum": 1}]}}},
    {"properties": {"x": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}}},
    {"properties": {"x": {"prefixItems": [{"type": "string"}], "items": False}}},
    {"properties": {"x": {"contains": {"type": "string"}, "minItems": 1}}},
    {"additionalProperties": {"type": "integer"}},
    {"properties": {"x": True, "y": False}},
    {"propertyNames": {"maxLength": 1}},
    {"if": {"required": ["y"]}, "then": {"required": ["x"]}, "else": {"maxProperties": 1}},
    {"dependentSchemas": {"x": {"required": ["y"]}}},
    TREE,
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 1.0, 2, 2.5, -3, "", "a", "abc"),
    *([], [1], [1, 1], ["a"], ["a", 1], {}, {"b": True}, {"b": 1}, {"kids": [{}, {"kids": []}]}),
]
ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"y": 1},
    {"root": {"kids": [{"kids": [{"dog": 1}]}]}},
    {"root": {"kids": [{}]}},
    {"long name": 1},
    {"x": 1, "y": 2},
    *({"x": value} for value in VALUES),
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=repr)
def test_arguments_fit_where_json_schema_says_so(schema: dict[str, Any]) -> None:
    check_schema(schema)
    whole = Draft202012Validator(schema)
    for arguments in ARGUMENTS:
        assert fits(schema, arguments) is whole.is_valid(arguments), arguments


def fits(schema: dict[str, Any], arguments: dict[str, Any]) -> bool:
    try:
        check_arguments(schema, arguments)
    except InvalidArgumentsError as error:
        return not error.argument.startswith("arguments")
    return True


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "string"}, ".type"),
        ({"type": []}, ".type"),
        ({"type": "objekt"}, ".type"),
        ({"properties": []}, ".properties"),
        ({"properties": {"x": 5}}, ".properties.x"),
        ({"properties": {"x": {"type": 5}}}, ".properties.x.type"),
        ({"required": "x"}, ".required"),
        ({"required": [1]}, ".required"),
        ({"properties": {"x": {"enum": "ab"}}}, ".properties.x.enum"),
        ({"properties": {"x": {"minimum": "1"}}}, ".properties.x.minimum"),
        ({"properties": {"x": {"multipleOf": 0}}}, ".properties.x.multipleOf"),
        ({"properties": {"x": {"minLength": -1}}}, ".properties.x.minLength"),
        ({"properties": {"x": {"uniqueItems": 1}}}, ".properties.x.uniqueItems"),
        ({"properties": {"x": {"pattern": 1}}}, ".properties.x.pattern"),
        ({"anyOf": []}, ".anyOf"),
        ({"anyOf": [{}, {"type": "no"}]}, ".anyOf[1].type"),
        ({"items": [{"type": "no"}]}, ".items[0].type"),
        ({"$ref": "#/$defs/x"}, ".$ref"),
        ({"$ref": "https://example.com/schema"}, ".$ref"),
        ({"$ref": 5}, ".$ref"),
        ({"$ref": "#/required", "required": []}, ".$ref"),
    ],
    ids=repr,
)
def test_what_is_no_schema_is_refused_with_its_place(schema: dict[str, Any], place: str) -> None:
    with pytest.raises(BadSchemaError) as caught:
        check_schema(schema)
    assert str(caught.value).startswith(place)


def test_a_schema_that_is_nested_too_deeply_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(500):
        schema = {"not": schema}
    with pytest.raises(BadSchemaError, match="too deeply"):
        check_schema({"properties": {"x": schema}})


def test_a_schema_that_grows_without_end_ends() -> None:
    doubling = {
        f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]}
        for n in range(30)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": {**doubling, "d30": False}}
    check_schema(schema)
    with pytest.raises(InvalidArgumentsError, match="too much"):
        check_arguments(schema, {})
    with pytest.raises(InvalidArgumentsError, match="too much"):
        check_arguments({"$ref": "#"}, {})


def test_regular_expressions_are_left_to_the_bridge() -> None:
    schema = {
        "properties": {"x": {"pattern": "(a+)+$"}},
        "patternProperties": {"(b+)+$": False},
        "additionalProperties": False,
    }
    check_schema(schema)
    check_arguments(schema, {"x": "a" * 50 + "!", "b" * 50 + "!": 1})
