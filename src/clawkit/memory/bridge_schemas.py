"""Validates the JSON Schemas of acts, and arguments against them, in a bounded number of steps.

One server holds the bridges of many, so a schema must not be able to keep it busy: references lead
only to places in the same schema, every step is counted, and what takes a regular expression
(`pattern`, `patternProperties`) or knowledge of formats (`format`) is left for the bridge to check.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from clawkit.errors import InvalidArgumentsError

_DEEPEST = 64
_MOST_STEPS = 20_000

_KINDS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: value.is_integer() if isinstance(value, float) else type(value) is int,
}
_LIMITS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "minimum": (operator.ge, "at least"),
    "maximum": (operator.le, "at most"),
    "exclusiveMinimum": (operator.gt, "more than"),
    "exclusiveMaximum": (operator.lt, "less than"),
}
_ONE = (
    *("items", "additionalItems", "additionalProperties", "contains", "propertyNames", "not"),
    *("if", "then", "else", "unevaluatedItems", "unevaluatedProperties"),
)
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_NUMBERS = (*_LIMITS, "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_SIZES = (
    ("Length", "string", "characters"),
    ("Items", "array", "items"),
    ("Properties", "object", "entries"),
)


class BadSchemaError(ValueError):
    """What is wrong with a schema, and where."""


class _Misfit(Exception):
    """Where a value does not fit, and why."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem


def check_schema(schema: dict[str, Any]) -> None:
    """Raise BadSchemaError unless this is a JSON Schema of an object, which arguments are."""
    if "object" not in _types(schema, "object"):
        raise BadSchemaError('.type must be "object": arguments always are one')
    _check(schema, "", schema, 0)


def check_arguments(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Raise InvalidArgumentsError, with the place, unless the arguments fit the schema."""
    try:
        _Walk(schema).fit(schema, arguments, "arguments", 0)
    except _Misfit as misfit:
        raise InvalidArgumentsError(misfit.path, misfit.problem) from None


def _check(schema: Any, path: str, root: dict[str, Any], depth: int) -> None:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise BadSchemaError(f"{path} must be an object or a boolean")
    if depth > _DEEPEST:
        raise BadSchemaError(f"{path} is nested too deeply")
    members = cast("dict[str, Any]", schema)
    _check_values(members, path)
    if "$ref" in members:
        _referred(root, members["$ref"], path)
    for place, inner in _inner(members, path):
        _check(inner, place, root, depth + 1)


def _inner(schema: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Each schema within a schema, and where it stands."""
    for name in _ONE:
        if name in schema and not (name == "items" and isinstance(schema[name], list)):
            yield f"{path}.{name}", schema[name]
    for name in (*_MANY, *(["items"] if isinstance(schema.get("items"), list) else [])):
        if name in schema:
            if not isinstance(schema[name], list) or not schema[name]:
                raise BadSchemaError(f"{path}.{name} must be a list of schemas")
            for at, inner in enumerate(cast("list[Any]", schema[name])):
                yield f"{path}.{name}[{at}]", inner
    for name in _NAMED:
        if name in schema:
            if not isinstance(schema[name], dict):
                raise BadSchemaError(f"{path}.{name} must be an object of schemas")
            for key, inner in cast("dict[str, Any]", schema[name]).items():
                yield f"{path}.{name}.{key}", inner


def _check_values(schema: dict[str, Any], path: str) -> None:
    """The keywords that hold no schema."""
    kinds = _types(schema, "object")
    if not kinds or not all(isinstance(kind, str) and kind in _KINDS for kind in kinds):
        raise BadSchemaError(f"{path}.type must be one of {', '.join(_KINDS)}")
    if "enum" in schema and not (isinstance(schema["enum"], list) and schema["enum"]):
        raise BadSchemaError(f"{path}.enum must be a list of values")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(
        isinstance(name, str) for name in cast("list[Any]", required)
    ):
        raise BadSchemaError(f"{path}.required must be a list of names")
    for name in _NUMBERS:
        if name in schema and not (_KINDS["number"](schema[name]) and math.isfinite(schema[name])):
            raise BadSchemaError(f"{path}.{name} must be a number")
    if schema.get("multipleOf", 1) <= 0:
        raise BadSchemaError(f"{path}.multipleOf must be more than 0")
    for name in _COUNTS:
        if name in schema and not (_KINDS["integer"](schema[name]) and schema[name] >= 0):
            raise BadSchemaError(f"{path}.{name} must be a whole number that is not negative")
    if not isinstance(schema.get("uniqueItems", False), bool):
        raise BadSchemaError(f"{path}.uniqueItems must be true or false")
    if not isinstance(schema.get("pattern", ""), str):
        raise BadSchemaError(f"{path}.pattern must be a string")


def _types(schema: dict[str, Any], *usual: str) -> list[Any]:
    """The kinds of value that a schema takes."""
    given = schema.get("type", list(usual))
    return cast("list[Any]", given) if isinstance(given, list) else [given]


def _referred(root: dict[str, Any], reference: Any, path: str) -> Any:
    """The schema that a `$ref` names, which is a place in the same schema."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        raise BadSchemaError(f'{path}.$ref must name a place in this schema, such as "#/$defs/x"')
    found: Any = root
    for step in reference.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(cast("Any", found)):
            found = cast("list[Any]", found)[int(name)]
        elif isinstance(found, dict) and name in found:
            found = cast("dict[str, Any]", found)[name]
        else:
            raise BadSchemaError(f"{path}.$ref names {reference[:100]}, which is not there")
    if not isinstance(found, dict | bool):
        raise BadSchemaError(f"{path}.$ref names {reference[:100]}, which is no schema")
    return cast("Any", found)


class _Walk:
    """One comparison of a value with a schema; it ends after so many steps."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._steps = 0

    def fit(self, schema: Any, value: Any, path: str, depth: int) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS or depth > _DEEPEST:
            raise InvalidArgumentsError(path, "is too much to be compared with its input_schema")
        if schema is True:
            return
        if schema is False:
            raise _Misfit(path, "must not be there")
        if "$ref" in schema:
            self.fit(_referred(self._root, schema["$ref"], ""), value, path, depth + 1)
        _fit_value(schema, value, path)
        self._fit_choices(schema, value, path, depth)
        if isinstance(value, list):
            self._fit_items(schema, cast("list[Any]", value), path, depth)
        elif isinstance(value, dict):
            self._fit_members(schema, cast("dict[str, Any]", value), path, depth)

    def _fits(self, schema: Any, value: Any, path: str, depth: int) -> bool:
        try:
            self.fit(schema, value, path, depth + 1)
        except _Misfit:
            return False
        return True

    def _fit_choices(self, schema: dict[str, Any], value: Any, path: str, depth: int) -> None:
        for inner in schema.get("allOf", ()):
            self.fit(inner, value, path, depth + 1)
        if "anyOf" in schema and not any(
            self._fits(inner, value, path, depth) for inner in schema["anyOf"]
        ):
            raise _Misfit(path, "fits none of the shapes that it may have")
        if "oneOf" in schema:
            count = sum(self._fits(inner, value, path, depth) for inner in schema["oneOf"])
            if count != 1:
                which = "several" if count else "none"
                raise _Misfit(path, f"fits {which} of the shapes of which it must have one")
        if "not" in schema and self._fits(schema["not"], value, path, depth):
            raise _Misfit(path, "has a shape that it must not have")
        if "if" in schema:
            branch = "then" if self._fits(schema["if"], value, path, depth) else "else"
            self.fit(schema.get(branch, True), value, path, depth + 1)

    def _fit_items(self, schema: dict[str, Any], items: list[Any], path: str, depth: int) -> None:
        listed = schema.get("items")
        first = (
            cast("list[Any]", listed) if isinstance(listed, list) else schema.get("prefixItems", ())
        )
        rest = schema.get("additionalItems") if isinstance(listed, list) else listed
        for at, item in enumerate(items):
            inner = first[at] if at < len(first) else rest
            if inner is not None:
                self.fit(inner, item, f"{path}[{at}]", depth + 1)
        if schema.get("uniqueItems"):
            seen = {msgspec.json.encode(item, order="deterministic") for item in items}
            if len(seen) < len(items):
                raise _Misfit(path, "must not have the same item twice")
        if "contains" in schema and not any(
            self._fits(schema["contains"], item, path, depth) for item in items
        ):
            raise _Misfit(path, "has none of the items of which it needs one")

    def _fit_members(
        self, schema: dict[str, Any], members: dict[str, Any], path: str, depth: int
    ) -> None:
        known: dict[str, Any] = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in members:
                raise _Misfit(f"{path}.{name}", "is missing")
        # Which names a regular expression covers is for the bridge to say.
        others = True if "patternProperties" in schema else schema.get("additionalProperties", True)
        for name, value in members.items():
            if name in known:
                self.fit(known[name], value, f"{path}.{name}", depth + 1)
            elif others is False:
                takes = ", ".join(known) or "none"
                raise _Misfit(f"{path}.{name}", f"is unknown; the arguments are: {takes}")
            else:
                self.fit(others, value, f"{path}.{name}", depth + 1)
            if "propertyNames" in schema:
                self.fit(schema["propertyNames"], name, f"{path}.{name}", depth + 1)
        for name, inner in schema.get("dependentSchemas", {}).items():
            if name in members:
                self.fit(inner, members, path, depth + 1)


def _fit_value(schema: dict[str, Any], value: Any, path: str) -> None:
    """The keywords that concern the value itself."""
    kinds: list[str] = _types(schema)
    if kinds and not any(_KINDS[kind](value) for kind in kinds):
        wanted = " or ".join(map(_with_article, kinds))
        raise _Misfit(path, f"must be {wanted}, not {_kind(value)}")
    if "const" in schema and not _same(schema["const"], value):
        raise _Misfit(path, f"must be {_shown(schema['const'])}")
    if "enum" in schema and not any(_same(one, value) for one in schema["enum"]):
        allowed = ", ".join(map(_shown, schema["enum"][:20]))
        raise _Misfit(path, f"must be one of {allowed}")
    if _KINDS["number"](value):
        _fit_number(schema, value, path)
    for name, kind, things in _SIZES:
        if _KINDS[kind](value):
            _fit_size(schema, len(value), path, name, things)


def _fit_number(schema: dict[str, Any], value: float, path: str) -> None:
    for name, (fits, words) in _LIMITS.items():
        if name in schema and not fits(value, schema[name]):
            raise _Misfit(path, f"must be {words} {schema[name]}")
    step = schema.get("multipleOf")
    if step is not None and not math.isclose(math.remainder(value, step), 0, abs_tol=step * 1e-9):
        raise _Misfit(path, f"must be a multiple of {step}")


def _fit_size(schema: dict[str, Any], size: int, path: str, name: str, things: str) -> None:
    if size < schema.get(f"min{name}", 0):
        raise _Misfit(path, f"must have at least {schema[f'min{name}']} {things}")
    if size > schema.get(f"max{name}", size):
        raise _Misfit(path, f"must have at most {schema[f'max{name}']} {things}")


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: true is not 1, and 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(cast("list[Any]", one), cast("list[Any]", other), strict=False)
        return len(cast("Any", one)) == len(cast("Any", other)) and all(
            _same(a, b) for a, b in pairs
        )
    if isinstance(one, dict) and isinstance(other, dict):
        mine, theirs = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return mine.keys() == theirs.keys() and all(_same(mine[k], theirs[k]) for k in mine)
    return one == other


def _kind(value: Any) -> str:
    return _with_article(next(kind for kind, has in _KINDS.items() if has(value)))


def _with_article(kind: str) -> str:
    if kind == "null":
        return kind
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()[:100]
