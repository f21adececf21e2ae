"""Owns what `Annotated` says about a type: limits to check, and words for the schema.

Everything is read by the names of its attributes, which `msgspec.Meta`, pydantic's `Field` and
`annotated_types` share, so that none of them has to be imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, TypedDict, Union, Unpack, cast, get_args, get_origin

import msgspec

from clawkit.errors import SchemaError

_NUMBERS = ("ge", "gt", "le", "lt", "multiple_of")
_SIZES = ("min_length", "max_length")
_WORDS = ("title", "description")


class FieldOptions(TypedDict, total=False):
    """What `Field` takes."""

    description: str | None
    title: str | None
    examples: list[Any] | None
    ge: float | None
    gt: float | None
    le: float | None
    lt: float | None
    multiple_of: float | None
    min_length: int | None
    max_length: int | None
    pattern: str | None


def Field(  # noqa: N802 - reads as the class it is in other libraries
    *, header: str | None = None, **options: Unpack[FieldOptions]
) -> msgspec.Meta:
    """Limits and words for a type: `Annotated[int, Field(ge=1, le=10, description="…")]`.

    `header` asks HTTP clients to send the argument in a header too, as `x-mcp-header`.
    """
    given: dict[str, Any] = {**options}
    if header is not None:
        given["extra_json_schema"] = {"x-mcp-header": header}
    try:
        return msgspec.Meta(**given)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"Field: {error}") from None


class Constraints(msgspec.Struct, frozen=True):
    """What was found: each part is None when there is nothing to say."""

    limits: msgspec.Meta | None
    words: msgspec.Meta | None


def read_notes(metadata: Iterable[Any]) -> Constraints:
    """Gather the metadata of an `Annotated`; where two disagree, the later one holds.

    Raises ValueError for a limit that JSON Schema cannot express.
    """
    limits: dict[str, Any] = {}
    words: dict[str, Any] = {}
    for item in metadata:
        _read(item, limits, words)
    return Constraints(
        msgspec.Meta(**limits) if limits else None,
        msgspec.Meta(**words) if words else None,
    )


def is_foreign(item: Any) -> bool:
    """Whether msgspec would overlook what this piece of metadata says."""
    if isinstance(item, msgspec.Meta):
        return False
    notes = read_notes([item])
    return notes.limits is not None or notes.words is not None


def has_limits_in_union(kind: Any) -> bool:
    """Whether a type is a union of several, beside None, of which one has limits.

    msgspec must not see it: up to 0.22 it reads the limits of such a union from the wrong places
    in memory, and may crash, as with `tuple[int, str] | Annotated[int, Meta(ge=0)]`.
    """
    members = [member for member in get_args(kind) if member is not NoneType]
    return (
        get_origin(kind) in (Union, UnionType)
        and len(members) > 1
        and any(map(_has_limits, members))
    )


def _has_limits(kind: Any) -> bool:
    return get_origin(kind) is Annotated and read_notes(kind.__metadata__).limits is not None


def is_pydantics(item: Any) -> bool:
    """Whether pydantic obeys this piece of metadata by itself."""
    home = type(item).__module__.partition(".")[0]
    return home in ("pydantic", "pydantic_core", "annotated_types")


def _read(item: Any, limits: dict[str, Any], words: dict[str, Any]) -> None:
    if isinstance(item, str):
        words["description"] = item
        return
    if isinstance(item, type):
        return
    inner = getattr(item, "metadata", None)
    if isinstance(inner, list | tuple):
        for part in cast("Iterable[Any]", inner):
            _read(part, limits, words)
    _read_limits(item, limits)
    _read_words(item, words)


def _read_limits(item: Any, limits: dict[str, Any]) -> None:
    for name in _NUMBERS:
        value = getattr(item, name, None)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"the limit {name}={value!r} is not a JSON number")
        limits[name] = value
    for name in _SIZES:
        value = getattr(item, name, None)
        # annotated_types says "at least 0" for "no lower limit".
        if isinstance(value, int) and (value or name == "max_length"):
            limits[name] = value
    pattern = getattr(item, "pattern", None)
    pattern = getattr(pattern, "pattern", pattern)
    if isinstance(pattern, str):
        limits["pattern"] = pattern
    if isinstance(getattr(item, "tz", None), bool):
        limits["tz"] = item.tz


def _read_words(item: Any, words: dict[str, Any]) -> None:
    for name in _WORDS:
        value = getattr(item, name, None)
        if isinstance(value, str):
            words[name] = value
    if isinstance(documentation := getattr(item, "documentation", None), str):
        words["description"] = documentation
    if isinstance(examples := getattr(item, "examples", None), list | tuple):
        words["examples"] = list(cast("Iterable[Any]", examples))
    extra: dict[str, Any] = {}
    for name in ("extra_json_schema", "json_schema_extra"):
        if isinstance(found := getattr(item, name, None), dict):
            extra.update(cast("dict[str, Any]", found))
    if extra:
        words["extra_json_schema"] = {**words.get("extra_json_schema", {}), **extra}
