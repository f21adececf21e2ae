"""Converts JSON values to Python values, with a second look at what did not fit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import msgspec
from msgspec import ValidationError, convert

from clawkit.errors import InvalidArgumentsError
from clawkit.tools.schema.problems import Misfit, misfit_of


def hook(kind: Any, value: Any) -> Any:
    """What msgspec calls for a stand-in."""
    return kind.decode(value)


class Cast(msgspec.Struct, frozen=True, eq=False):
    """JSON objects to structs: `quick` has the types as written, `careful` has stand-ins.

    Both accept the same. `careful` knows the words for what is wrong, and it sees 5.0 as the
    integer 5, because JSON has one kind of number.
    """

    quick: type[msgspec.Struct]
    careful: type[msgspec.Struct]
    hooks: dict[str, Any]

    def __call__(self, value: Any) -> msgspec.Struct:
        try:
            return convert(value, self.quick, **self.hooks)
        except ValidationError:
            pass
        with suppress(RecursionError):  # what no recursion gets to the bottom of stays as it is
            value = _whole_numbers(value)
        return shape(value, self.careful)


def make_cast(quick: type[msgspec.Struct], careful: type[msgspec.Struct], *, hooked: bool) -> Cast:
    """A cast; `hooked` says that `quick` holds stand-ins, or keys that are not strings."""
    return Cast(quick, careful, {"dec_hook": hook, "str_keys": True} if hooked else {})


def shape(value: Any, struct: type[msgspec.Struct]) -> msgspec.Struct:
    """`value` as `struct`; raises `Misfit`."""
    try:
        return convert(value, struct, dec_hook=hook, str_keys=True)
    except ValidationError as error:
        raise misfit_of(error) from None


def boxed(kind: Any) -> type[msgspec.Struct]:
    """A struct that holds one value: msgspec keeps what it knows of a struct between calls."""
    return msgspec.defstruct("Box", [("value", kind)])


def unboxed(cast_box: Callable[[Any], msgspec.Struct], value: Any) -> Any:
    """`value` through a box; raises `Misfit` with the path inside the value."""
    try:
        return cast("Any", cast_box({"value": value})).value
    except Misfit as misfit:
        raise Misfit(misfit.path.removeprefix(".value"), misfit.problem, misfit.allowed) from None


class Converter(msgspec.Struct, frozen=True, eq=False):
    """A type that JSON values can be converted to, and its schema. Built once, used often."""

    schema: dict[str, Any]
    _cast: Cast

    def convert(self, value: Any) -> Any:
        """The Python value that a JSON value stands for; raises InvalidArgumentsError."""
        try:
            return unboxed(self._cast, value)
        except Misfit as misfit:
            raise InvalidArgumentsError(misfit.path.lstrip("."), misfit.problem) from None


def _whole_numbers(value: Any) -> Any:
    """`value` with each whole float as an int."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in cast("list[Any]", value)]
    return value
