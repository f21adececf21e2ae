"""Owns the kinds of types: which ones msgspec reads as we mean them, and what is asked of types."""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from collections import abc
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, Union, get_args, get_origin

import msgspec

from clawkit.tools.schema.casts import hook


def _formatted(kind: type, format: str) -> Any:
    """msgspec names a format only if a time zone is demanded, or forbidden."""
    return Annotated[kind, msgspec.Meta(extra_json_schema={"format": format})]


LEAVES: dict[Any, Any] = {
    **{
        kind: kind
        for kind in (
            NoneType, Any, str, int, float, bool, bytes, bytearray, datetime.date,
            datetime.timedelta, uuid.UUID, decimal.Decimal, list, tuple, set, frozenset, dict,
        )
    },
    None: NoneType,
    datetime.datetime: _formatted(datetime.datetime, "date-time"),
    datetime.time: _formatted(datetime.time, "time"),
}  # fmt: skip

UNIONS: tuple[Any, ...] = (Union, UnionType)
SETS: set[Any] = {set, frozenset, abc.Set, abc.MutableSet}
MAPPINGS: set[Any] = {dict, abc.Mapping, abc.MutableMapping}
CONTAINERS: set[Any] = {
    *SETS, *MAPPINGS, list, tuple, abc.Collection, abc.Sequence, abc.MutableSequence,
}  # fmt: skip


def objection(kind: Any) -> str | None:
    """What msgspec has against a type; None if it takes it."""
    try:
        msgspec.json.Decoder(kind, dec_hook=hook)
    except (TypeError, ValueError, NameError, RuntimeError) as error:
        return str(error)
    return None


def is_optional(annotation: Any) -> bool:
    """Whether an annotation is a union with None, under whatever name."""
    if isinstance(annotation, NewType):
        return is_optional(annotation.__supertype__)
    origin = get_origin(annotation) or annotation
    if hasattr(origin, "__value__"):
        return is_optional(origin.__value__)
    if origin is Annotated:
        return is_optional(annotation.__origin__)
    return origin in UNIONS and NoneType in get_args(annotation)


def is_path(kind: Any) -> bool:
    """Whether a type is one of `pathlib`, which somebody who names it has imported."""
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and isinstance(kind, type) and issubclass(kind, pathlib.PurePath)


def type_name(kind: Any) -> str:
    """A type as its author would write it."""
    if not isinstance(kind, type) or get_args(kind):
        return str(kind).replace("typing.", "")
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def is_hashable(kind: Any) -> bool:
    """Whether the values of a type can be in a set."""
    if get_origin(kind) is Annotated:
        return is_hashable(get_args(kind)[0])
    if get_origin(kind) in UNIONS:
        return all(map(is_hashable, get_args(kind)))
    return getattr(get_origin(kind) or kind, "__hash__", None) is not None
