"""Owns the schema of one tool while it is made: its parts, and the `$defs` that they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

Schema = dict[str, Any]


class Definitions:
    """Describes types, and gathers the schemas of the named ones by a name of their own."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}
        self._names: dict[type, str] = {}

    def describe(self, kinds: Sequence[Any]) -> list[Schema]:
        """The schema of each of `kinds`, which are types that msgspec knows, or stand-ins."""
        return list(msgspec.json.schema_components(kinds, schema_hook=self._hook)[0])

    def describe_struct(self, struct: type[msgspec.Struct]) -> Schema:
        """The schema of a struct in full, where `describe` would give a reference to it."""
        (reference,), components = msgspec.json.schema_components([struct], schema_hook=self._hook)
        schema = components[reference["$ref"].removeprefix("#/$defs/")]
        del schema["title"]  # it is the name in `$defs` once more
        if not schema.get("required", True):
            del schema["required"]
        return schema

    def define(self, kind: type, name: str, describe: Callable[[], Schema]) -> Schema:
        """A reference to the schema of `kind`, described at its first use."""
        if kind not in self._names:
            self._names[kind] = self._reserve(_clean(name))
            self.schemas[self._names[kind]] = describe()
        return {"$ref": _reference(self._names[kind])}

    def include(self, kind: type, name: str, schema: Schema) -> Schema:
        """A reference to the schema of `kind`, made elsewhere, perhaps for others too."""
        if kind not in self._names:
            name, adopted = _clean(name), self.adopt(schema)
            if self.schemas.get(name) != adopted:
                name = self._reserve(name)
                self.schemas[name] = adopted
            self._names[kind] = name
        return {"$ref": _reference(self._names[kind])}

    def adopt(self, schema: Schema) -> Schema:
        """A schema made elsewhere, with its own `$defs` moved to ours."""
        schema = dict(schema)
        theirs: dict[str, Schema] = schema.pop("$defs", {})
        renamed = {
            _reference(name): _reference(self._reserve(name))
            for name, definition in theirs.items()
            if self.schemas.get(name) != definition
        }
        for name, definition in theirs.items():
            ours = renamed.get(_reference(name), _reference(name))
            self.schemas[ours.removeprefix("#/$defs/")] = _renamed(definition, renamed)
        return _renamed(schema, renamed)

    def rooted(self, schema: Schema) -> Schema:
        """`schema` as the whole document: a reference at its root is followed."""
        defs = dict(self.schemas)
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            schema = {**defs[name], **{k: v for k, v in schema.items() if k != "$ref"}}
            if not _mentions([schema, defs], _reference(name)):
                del defs[name]
        return {**schema, "$defs": defs} if defs else schema

    def _hook(self, kind: Any) -> Schema:
        return kind.describe(self)

    def _reserve(self, name: str) -> str:
        free, number = name, 1
        while free in self.schemas:
            number += 1
            free = f"{name}_{number}"
        self.schemas[free] = {}
        return free


def without_null(schema: Schema) -> Schema:
    """The schema of `T`, given that of `T | None`."""
    others = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if not others:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}


def _clean(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9._-]+", "_", name).strip("_")


def _reference(name: str) -> str:
    return f"#/$defs/{name}"


def _renamed(part: Any, names: dict[str, str]) -> Any:
    if isinstance(part, str):
        return names.get(part, part)
    if isinstance(part, list):
        return [_renamed(item, names) for item in cast("list[Any]", part)]
    if isinstance(part, dict):
        return {k: _renamed(v, names) for k, v in cast("Schema", part).items()}
    return part


def _mentions(part: Any, reference: str) -> bool:
    if isinstance(part, list):
        return any(_mentions(item, reference) for item in cast("list[Any]", part))
    if isinstance(part, dict):
        return any(_mentions(item, reference) for item in cast("Schema", part).values())
    return part == reference
