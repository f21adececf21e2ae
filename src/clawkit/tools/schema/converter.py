"""Converts JSON values to Python values; has words for what does not fit, for a model to read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, cast

import msgspec
from msgspec import ValidationError, convert

from clawkit.errors import InvalidArgumentsError

_LONGEST = 240
_MOST_VALUES = 20

_KINDS = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "a boolean",
    "null": "null",
    "array": "a list",
    "object": "an object",
    "bytes": "a base64 string",
    "datetime": "a date and time as a string",
    "date": "a date as a string",
    "time": "a time as a string",
    "duration": "a duration as a string",
    "uuid": "a UUID as a string",
    "decimal": "a decimal number",
}
_LIMITS = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}
_UNITS = {"str": "character", "bytes": "byte", "array": "item", "object": "entry"}
_FORMATS = {
    "RFC3339 encoded datetime": 'a date and time such as "2026-01-31T09:30:00Z"',
    "RFC3339 encoded date": 'a date such as "2026-01-31"',
    "RFC3339 encoded time": 'a time such as "09:30:00"',
    "ISO8601 duration": 'a duration such as "PT1H30M"',
    "UUID": 'a UUID such as "123e4567-e89b-12d3-a456-426614174000"',
    "decimal string": 'a decimal number such as "12.50"',
    "base64 encoded string": "base64",
}


class Misfit(ValueError):
    """A JSON value that does not fit a type: `path` from that value inwards, and why.

    `allowed` are the values that would have fitted, if they can be listed.
    It is a ValueError because that is what msgspec passes on from a hook, adding its own path.
    """

    def __init__(self, path: str, problem: str, allowed: tuple[Any, ...] = ()) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem
        self.allowed = allowed

    def under(self, path: str) -> Misfit:
        """The same, seen from further out."""
        return Misfit(path + self.path, self.problem, self.allowed)


def misfit_of(error: msgspec.ValidationError) -> Misfit:
    """What msgspec found, in our words."""
    text, cause = str(error), error.__cause__
    if cause is not None:
        raised = (
            cause if isinstance(cause, Misfit) else Misfit("", one_line(str(cause)) or "refused")
        )
        return raised.under(_path(text[len(str(cause)) :]))
    said, at, place = text.rpartition(" - at `")
    if not at:
        said, place = place, ""
    path = _path(at + place)
    if missing := re.match(r"Object missing required field `(.*)`$", said):
        return Misfit(f"{path}.{missing[1]}", "missing required field")
    prefix = "a key of it: " if place.startswith("key` in `") else ""
    return Misfit(path, prefix + _in_our_words(said))


def unknown_argument(taken: Iterable[str]) -> str:
    """The problem of an argument that a tool does not have."""
    return one_line(f"unknown argument; this tool takes {', '.join(taken) or 'no arguments'}")


def wrong_kind(expected: Iterable[str], value: Any) -> str:
    """The problem of a value of another kind: "expected an integer or null, got a string"."""
    wanted = list(dict.fromkeys(expected))
    if "a string" in wanted:
        wanted = [word for word in wanted if not word.endswith(("as a string", "base64 string"))]
    return f"expected {either(wanted)}, got {kind_of(value)}"


def expectation(problem: str) -> str | None:
    """What was expected, when the problem is no more than a value of another kind."""
    match = re.match(r"expected (.*), got .*$", problem)
    return match[1] if match else None


def not_among(values: Iterable[Any]) -> str:
    texts = [msgspec.json.encode(value).decode() for value in values]
    shown = texts[:_MOST_VALUES] + (["…"] if len(texts) > _MOST_VALUES else [])
    return "must be one of " + ", ".join(shown) if len(shown) > 1 else f"must be {shown[0]}"


def kind_of(value: Any) -> str:
    """The JSON kind of a value, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a fractional number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case _:
            return type(value).__name__


def either(words: list[str]) -> str:
    """ "a", "a or b", "a, b or c"."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _path(suffix: str) -> str:
    """The path in " - at `$.a[0]`", without its root."""
    match = re.search(r"`\$(.*)`$", suffix, re.DOTALL)
    return match[1] if match else ""


def _in_our_words(said: str) -> str:
    for pattern, words in _PHRASES:
        if match := re.fullmatch(pattern, said, re.DOTALL):
            return one_line(words(match))
    return one_line(said[:1].lower() + said[1:].replace("`", ""))


def _expected(match: re.Match[str]) -> str:
    kinds = [_KINDS.get(kind, kind) for kind in match[1].split(" | ")]
    got = "a fractional number" if match[2] == "float" else _KINDS.get(match[2], match[2])
    return f"expected {either(kinds)}, got {got}"


def _size(match: re.Match[str]) -> str:
    return f"must have {_LIMITS[match[2]]} {_count(int(match[3]), _UNITS[match[1]])}"


def _count(number: int, unit: str) -> str:
    if number == 1:
        return f"1 {unit}"
    return f"{number} {unit.removesuffix('y')}ies" if unit.endswith("y") else f"{number} {unit}s"


def _limit(match: re.Match[str]) -> str:
    return f"must be {_LIMITS[match[1]]} {match[2].removesuffix('.0')}"


def _items(match: re.Match[str]) -> str:
    return f"expected a list of {match[1]}, got {_count(int(match[2]), 'item')}"


_PHRASES: list[tuple[str, Callable[[re.Match[str]], str]]] = [
    (r"Expected `(.+)`, got `(.+)`", _expected),
    (r"Expected `\w+` ([<>]=?) (.+)", _limit),
    (r"Expected `\w+` that's a multiple of (.+)", lambda m: f"must be a multiple of {m[1]}"),
    (r"Expected `(\w+)` of length ([<>]=) (\d+)", _size),
    (r"Expected `\w+` matching regex '(.+)'", lambda m: f"must match the pattern {m[1]}"),
    (r"Expected `array` of length (\d+ to \d+|\d+), got (\d+)", _items),
    (r"Expected `array` of (at (?:least|most)) length (\d+), got (\d+)",
     lambda m: f"expected a list of {m[1]} {m[2]}, got {_count(int(m[3]), 'item')}"),
    (r"Expected `\w+` with a timezone component", lambda _: "must have a time zone, such as Z"),
    (r"Expected `\w+` with no timezone component", lambda _: "must have no time zone"),
    (r"Invalid (?:enum )?value (.+)", lambda m: f"{m[1]} is not one of the allowed values"),
    (rf"Invalid ({'|'.join(_FORMATS)})", lambda m: f"must be {_FORMATS[m[1]]}"),
    (r"Object contains unknown field `(.+)`", lambda m: f"unknown field {m[1]}"),
]  # fmt: skip


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
