"""The parameters in a tool's JSON Schema as a person reads them: for lists, help and pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from clawkit.wire.jsonrpc import as_list, as_object

_DEEPEST = 20
"""References that are followed; a schema of somebody else may lead in a circle."""
_DEEPEST_SHOWN = 3
"""Objects within objects of which the fields are shown."""


class ShownParameter(msgspec.Struct, frozen=True):
    """One parameter: `default` is its JSON, empty where there is none."""

    name: str
    kind: str
    required: bool
    default: str = ""
    description: str = ""

    @property
    def presence(self) -> str:
        """Whether it must be given, or what it is without."""
        return "required" if self.required else self.default and f"default {self.default}"


def parameters_of(
    schema: dict[str, Any], root: dict[str, Any] | None = None
) -> tuple[ShownParameter, ...]:
    """The parameters that an input schema describes, in its order; `root` has what it refers to."""
    required = as_list(schema.get("required"))
    return tuple(
        ShownParameter(
            name,
            kind_of_schema(part, root or schema),
            name in required,
            _json(part["default"]) if "default" in part else "",
            str(part.get("description", "")),
        )
        for name, part in properties(schema).items()
    )


def nested_parameters(schema: dict[str, Any]) -> Iterator[ShownParameter]:
    """The parameters, each followed by those of the objects in it: `place.city`, `stops[].name`."""
    yield from _nested(schema, schema, "", ())


def _nested(
    schema: dict[str, Any], root: dict[str, Any], above: str, within: tuple[dict[str, Any], ...]
) -> Iterator[ShownParameter]:
    parts = properties(schema)
    for one in parameters_of(schema, root):
        yield msgspec.structs.replace(one, name=above + one.name)
        for inner, way in objects_in(parts[one.name], root):
            # One that refers to itself is shown once.
            if len(within) < _DEEPEST_SHOWN and inner not in within:
                yield from _nested(inner, root, f"{above}{one.name}{way}.", (*within, inner))


def objects_in(part: dict[str, Any], root: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """The objects that a value may be, or a list of: their schemas, and `[]` for a list."""
    found: list[tuple[dict[str, Any], str]] = []
    for one in alternatives(part, root):
        if one.get("type") == "array":
            items = alternatives(as_object(one.get("items")) or {}, root)
            found += [(item, "[]") for item in items if item.get("type") == "object"]
        elif one.get("type") == "object":
            found.append((one, ""))
    return found


def properties(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = as_object(schema.get("properties")) or {}
    return {str(name): as_object(part) or {} for name, part in found.items()}


def takes(schema: dict[str, Any]) -> str:
    """All parameters on one line, the optional ones with a question mark."""
    return ", ".join(
        f"{one.name}{'' if one.required else '?'}: {one.kind}" for one in parameters_of(schema)
    )


def resolved(part: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """A part of the schema `root`, with what it refers to in its place."""
    for _ in range(_DEEPEST):
        reference = part.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return part
        found: Any = root
        for step in reference[2:].split("/"):
            found = (as_object(found) or {}).get(step.replace("~1", "/").replace("~0", "~"))
        part = {**(as_object(found) or {}), **{k: v for k, v in part.items() if k != "$ref"}}
    return {}


def kind_of_schema(part: dict[str, Any], root: dict[str, Any]) -> str:
    """What a value may be, in a word or a few: `integer`, `string[]`, `window | garden`."""
    return " | ".join(dict.fromkeys(_kinds(part, root, _DEEPEST))) or "any"


def alternatives(part: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas of one type each that a value may follow; an empty one takes anything."""
    return _alternatives(part, root, _DEEPEST)


def _alternatives(part: dict[str, Any], root: dict[str, Any], depth: int) -> list[dict[str, Any]]:
    part = resolved(part, root)
    several = as_list(part.get("anyOf")) or as_list(part.get("oneOf")) or as_list(part.get("allOf"))
    if several and depth:
        return [
            one for each in several for one in _alternatives(as_object(each) or {}, root, depth - 1)
        ]
    kinds = part.get("type")
    if isinstance(kinds, list):
        return [{**part, "type": kind} for kind in cast("list[Any]", kinds)]
    return [part]


def _kinds(part: dict[str, Any], root: dict[str, Any], depth: int) -> list[str]:
    return [_kind(one, root, depth) for one in _alternatives(part, root, depth)]


def _kind(part: dict[str, Any], root: dict[str, Any], depth: int) -> str:
    if values := as_list(part.get("enum")):
        return " | ".join(value if isinstance(value, str) else _json(value) for value in values)
    if "const" in part:
        return str(part["const"])
    kind = part.get("type")
    if kind == "array" and depth:
        of = _kinds(as_object(part.get("items")) or {}, root, depth - 1)
        inner = " | ".join(dict.fromkeys(of))
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object" and isinstance(part.get("title"), str):
        return part["title"]
    return kind if isinstance(kind, str) else "any"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
