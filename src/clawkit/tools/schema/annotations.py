"""Owns what annotations mean: their names where they were written, and the kinds of types."""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from collections import abc
from types import CodeType, NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from clawkit.tools.schema.converter import hook


class AnnotationScope(msgspec.Struct, frozen=True, eq=False):
    """The names that the annotations of one function may use."""

    module: dict[str, Any]
    local: dict[str, Any]

    def resolve(self, annotation: Any) -> Any:
        """The type that an annotation means; raises NameError for a name that is not known."""
        holder = SimpleNamespace(__annotations__={"it": annotation})
        return get_type_hints(holder, self.module, self.local, include_extras=True)["it"]

    def hints(self, kind: Any) -> dict[str, Any]:
        """The annotations of a class, inherited ones too, with its type parameters filled in."""
        origin = get_origin(kind) or kind
        try:
            hints = get_type_hints(origin, include_extras=True)
        except NameError:
            hints = get_type_hints(origin, localns=self.local, include_extras=True)
        filled = _type_arguments(kind)
        return {name: fill(hint, filled) for name, hint in hints.items()}


def scope_of(function: Any, **fallback: Any) -> AnnotationScope:
    """The names around a function: its module's, its closure's, and, while the function that
    defines it is still running, as it is when a decorator is applied, that function's."""
    module = getattr(function, "__globals__", {})
    local = {name: value for name, value in fallback.items() if name not in module}
    code = getattr(function, "__code__", None)
    if code is not None:
        local.update(_enclosing(code))
        local.update(_closure(function, code))
    return AnnotationScope(module, local)


def fill(hint: Any, arguments: dict[Any, Any]) -> Any:
    """`hint` with type parameters replaced by their arguments."""
    if isinstance(hint, TypeVar):
        return arguments.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if not parameters or isinstance(hint, type) or not arguments:
        return hint
    return hint[tuple(arguments.get(parameter, parameter) for parameter in parameters)]


def _type_arguments(kind: Any) -> dict[Any, Any]:
    """The type arguments of a generic class and, through it, of its bases."""
    origin = get_origin(kind) or kind
    found: dict[Any, Any] = dict(
        zip(getattr(origin, "__parameters__", ()), get_args(kind), strict=False)
    )
    for base in getattr(origin, "__orig_bases__", ()):
        for parameter, argument in _type_arguments(base).items() if get_origin(base) else ():
            found.setdefault(parameter, fill(argument, found))
    return found


def _closure(function: Any, code: CodeType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the name is not bound yet
            continue
    return found


def _enclosing(code: CodeType) -> dict[str, Any]:
    """The local names of the running functions, and class bodies, in which `code` is written."""
    found: dict[str, Any] = {}
    inside = code
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if inside in frame.f_code.co_consts:
            if frame.f_code.co_name != "<module>":
                found = {**frame.f_locals, **found}
            inside = frame.f_code
        frame = frame.f_back
    return found


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
