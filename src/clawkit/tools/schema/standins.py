"""Owns stand-ins: classes that msgspec takes for the types it does not know, and asks us about.

A stand-in says how a JSON value becomes a Python value and how it is described. msgspec calls it
wherever the type occurs, however deep, and adds the path to what goes wrong there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Annotated, Any, cast, get_args, get_origin

import msgspec

from clawkit.tools.schema.converter import (
    Misfit,
    boxed,
    expectation,
    kind_of,
    not_among,
    one_line,
    shape,
    unboxed,
    wrong_kind,
)
from clawkit.tools.schema.definitions import Definitions, Schema

_PYDANTIC_WORDS = [
    (r"^Value error, ", ""),
    (r"^\w+ should ", "must "),
    (r"greater than or equal to", "at least"),
    (r"less than or equal to", "at most"),
    (r"greater than", "more than"),
]
_JSON_NAMES: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


class StandIn(type):
    """The class of stand-ins; every value is an instance of one, for msgspec asks that.

    `values` are the JSON values that it takes, if they can be listed. `keys` are those of the
    JSON object that it takes, if it takes one, each with the values it takes there, if listed.
    `native` says that msgspec alone reads the type with the same meaning, which cannot be said
    of a record before it is finished.
    """

    decode: Callable[[Any], Any]
    describe: Callable[[Definitions], Schema]
    native: bool = False
    values: tuple[Any, ...] = ()
    keys: Mapping[str, tuple[Any, ...]] = {}

    def __instancecheck__(cls, instance: Any) -> bool:
        return True


def stand_in(
    name: str, decode: Callable[[Any], Any], describe: Callable[[Definitions], Schema]
) -> StandIn:
    made = cast("StandIn", StandIn(name, (), {}))
    made.decode, made.describe = decode, describe
    return made


def choice(kinds: Sequence[Any]) -> StandIn:
    """A union that msgspec cannot tell apart by JSON kind: the first member that fits is taken.

    `str` takes any string and `Any` takes everything, so that they are tried last. Of several
    that take objects, the one is tried first that contradicts the object's values least, and
    knows most of its keys.
    """
    last = {str: 1, bytes: 2, Any: 3}
    ordered = sorted(kinds, key=lambda kind: last.get(_bare(kind), 0))
    members = [(_bare(kind), partial(shape, struct=boxed(kind))) for kind in ordered]

    def decode(value: Any) -> Any:
        candidates = members
        if isinstance(value, dict):
            sent = cast("dict[str, Any]", value)
            candidates = sorted(members, key=lambda member: _distance(member[0], sent))
        misfits: list[Misfit] = []
        for _, cast_box in candidates:
            try:
                return unboxed(cast_box, value)
            except Misfit as misfit:
                misfits.append(misfit)
        raise _closest(misfits, value)

    return stand_in("Choice", decode, lambda defs: {"anyOf": defs.describe(kinds)})


def one_of(meanings: Sequence[tuple[Any, Any]]) -> StandIn:
    """A closed set of JSON values, each with the Python value that it means."""
    values = tuple(value for value, _ in meanings)

    def decode(value: Any) -> Any:
        for known, meant in meanings:
            if type(value) is type(known) and value == known:
                return meant
        raise Misfit("", not_among(values), values)

    schema: Schema = {"enum": list(values)}
    names = {_JSON_NAMES.get(type(value)) for value in values}
    if len(names) == 1 and None not in names:
        schema = {"type": names.pop(), **schema}
    made = stand_in("OneOf", decode, lambda _: dict(schema))
    made.values = values
    return made


def literal(values: Sequence[Any]) -> StandIn:
    return one_of([(_json(value), value) for value in values])


def members_of(enum: type[Enum]) -> StandIn:
    return one_of([(_json(member), member) for member in enum])


def from_string(make: Callable[[str], Any], **schema: Any) -> StandIn:
    """A type made of one string."""

    def decode(value: Any) -> Any:
        if not isinstance(value, str):
            raise Misfit("", wrong_kind(["a string"], value))
        return make(value)

    return stand_in("String", decode, lambda _: {"type": "string", **schema})


def is_pydantic(kind: Any) -> bool:
    """Whether pydantic, if anybody has imported it, knows how to make this class."""
    return "pydantic" in sys.modules and (
        hasattr(kind, "__pydantic_core_schema__") or hasattr(kind, "__get_pydantic_core_schema__")
    )


def model(kind: Any) -> StandIn:
    """A pydantic model, or another class that brings its own pydantic schema.

    Strict, so that pydantic keeps the rule that strings do not become numbers.
    """
    name = getattr(kind, "__name__", str(kind))
    adapter = sys.modules["pydantic"].TypeAdapter(kind)
    schema: Schema = adapter.json_schema(ref_template="#/$defs/{model}")

    def decode(value: Any) -> Any:
        try:
            return adapter.validate_json(msgspec.json.encode(value), strict=True)
        except ValueError as error:
            raise _pydantic_misfit(error) from None

    def describe(defs: Definitions) -> Schema:
        if "properties" not in schema:
            return defs.adopt(schema)
        return defs.include(made, name, schema)

    made = stand_in(name, decode, describe)
    root = schema.get("$defs", {}).get(schema.get("$ref", "").removeprefix("#/$defs/"), schema)
    made.keys = {
        key: tuple(part.get("enum", [part["const"]] if "const" in part else ()))
        for key, part in root.get("properties", {}).items()
    }
    return made


def _json(value: Any) -> Any:
    """The JSON value of a literal or of an enum's member; raises TypeError if there is none."""
    plain = value.value if isinstance(value, Enum) else value
    if plain is None or isinstance(plain, str | int | float):
        return plain
    raise TypeError(f"{value!r} is not a JSON string, number, boolean or null")


def listed(kind: Any) -> tuple[Any, ...]:
    """The JSON values that a type takes, if they can be listed."""
    bare = _bare(kind)
    return bare.values if isinstance(bare, StandIn) else ()


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _distance(kind: Any, sent: dict[str, Any]) -> tuple[int, int]:
    """How far an object is from what a member takes: contradictions, then keys in common.

    Asked at every call: a record that contains itself is not finished when a choice is made of it.
    """
    keys: Mapping[str, tuple[Any, ...]] = kind.keys if isinstance(kind, StandIn) else {}
    known = [key for key in sent if key in keys]
    return sum(1 for key in known if keys[key] and sent[key] not in keys[key]), -len(known)


def _closest(misfits: list[Misfit], value: Any) -> Misfit:
    """The problem of the member that came nearest, or all that was expected."""
    if all(misfit.allowed and misfit.path == misfits[0].path for misfit in misfits):
        allowed = tuple(value for misfit in misfits for value in misfit.allowed)
        return Misfit(misfits[0].path, not_among(allowed), allowed)
    expected: list[str] = []
    for misfit in misfits:
        wanted = expectation(misfit.problem)
        if misfit.path or wanted is None:
            return misfit
        expected.append(wanted)
    return Misfit("", wrong_kind(expected, value))


def _pydantic_misfit(error: Any) -> Misfit:
    first = error.errors(include_url=False)[0]
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
    if first["type"] == "missing":
        return Misfit(path, "missing required field")
    said = re.sub(r"a valid (?=([aeiou])?)", lambda m: "an " if m[1] else "a ", first["msg"])
    if first["type"].endswith("_type"):
        said = f"{said.replace('Input should be', 'expected')}, got {kind_of(first['input'])}"
    for theirs, ours in _PYDANTIC_WORDS:
        said = re.sub(theirs, ours, said)
    return Misfit(path, one_line(said))
