"""Owns records: classes that are JSON objects (or arrays) of named fields, whoever made them.

Dataclasses, TypedDicts, NamedTuples and msgspec Structs all become one `RecordClass`,
and from it a struct of our own, whose fields may hold what msgspec refuses in theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import cleandoc
from typing import (
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    Union,
    cast,
    get_args,
    get_origin,
)

import msgspec
from msgspec import NODEFAULT, UNSET

from clawkit.tools.schema.annotations import AnnotationScope

_TAG = "<tag>"


class RecordField(msgspec.Struct, frozen=True):
    """A field: its name in Python, its key in JSON, its type, and its default if it has one."""

    name: str
    key: str
    hint: Any
    default: Any
    factory: Callable[[], Any] | None = None


class RecordClass(msgspec.Struct, frozen=True):
    """A class of named fields, and how to make one of them.

    `native` says that msgspec makes one too, the same way; `options` are those of a struct.
    """

    name: str
    fields: list[RecordField]
    make: Callable[[dict[str, Any]], Any]
    options: dict[str, Any] = {}
    native: bool = True
    doc: str = ""

    def struct(self, types: Mapping[str, Any]) -> type[msgspec.Struct]:
        """A struct of the same fields, each with the type given for its name.

        Its own names are positions, since the keys of a TypedDict may be any text.
        """
        return msgspec.defstruct(
            self.name,
            [_struct_field(i, f, types[f.name]) for i, f in enumerate(self.fields)],
            rename={_position(i): field.key for i, field in enumerate(self.fields)},
            namespace={"__doc__": self.doc or None},
            kw_only="array_like" not in self.options,
            **self.options,
        )

    def build(self, shaped: msgspec.Struct) -> Any:
        values = {
            field.name: value
            for i, field in enumerate(self.fields)
            if (value := getattr(shaped, _position(i))) is not UNSET
        }
        return self.make(values)


def read_record(kind: Any, scope: AnnotationScope) -> RecordClass | None:
    """The record that a class is, or None. Raises NameError for an unknown name in it."""
    origin: Any = get_origin(kind) or kind
    if not isinstance(origin, type):
        return None
    for mark, read in _READERS:
        if hasattr(origin, mark):
            record = read(origin, scope.hints(kind))
            return msgspec.structs.replace(record, name=_name(kind, origin), doc=_doc(origin))
    return None


def _read_dataclass(cls: Any, hints: dict[str, Any]) -> RecordClass:
    from dataclasses import MISSING, InitVar, fields

    def field(declared: Any) -> RecordField:
        name = declared.name
        default = NODEFAULT if declared.default is MISSING else declared.default
        factory = None if declared.default_factory is MISSING else declared.default_factory
        return RecordField(name, name, _bare(hints[name]), default, factory)

    every = cls.__dataclass_fields__.values()
    passed = [f for f in every if isinstance(hints[f.name], InitVar)]
    kept = fields(cls)
    # msgspec sets the fields without calling `__init__`, which matters if it was written by hand.
    code = getattr(cls.__init__, "__code__", None)
    generated = code is None or code.co_filename == "<string>"
    return RecordClass(
        "",
        [field(declared) for declared in (*passed, *kept) if declared.init],
        lambda values: cls(**values),
        native=generated and all(declared.init for declared in kept),
    )


def _read_struct(cls: Any, hints: dict[str, Any]) -> RecordClass:
    config = cls.__struct_config__
    options: dict[str, Any] = {"forbid_unknown_fields": config.forbid_unknown_fields}
    if config.array_like:
        options["array_like"] = True

    def field(declared: msgspec.structs.FieldInfo) -> RecordField:
        factory = declared.default_factory
        return RecordField(
            declared.name,
            declared.encode_name,
            hints[declared.name],
            declared.default,
            None if factory is NODEFAULT else factory,
        )

    def make(values: dict[str, Any]) -> Any:
        values.pop(_TAG, None)
        return cls(**values)

    fields = [field(declared) for declared in msgspec.structs.fields(cls)]
    if config.tag_field is not None:
        fields.insert(0, RecordField(_TAG, config.tag_field, Literal[config.tag], NODEFAULT))
    # msgspec lets the tag be left out, even where it has to tell two structs apart.
    return RecordClass("", fields, make, options, native=config.tag_field is None)


def _read_named_tuple(cls: Any, hints: dict[str, Any]) -> RecordClass:
    defaults = cls._field_defaults
    fields = [
        RecordField(name, name, hints.get(name, Any), defaults.get(name, NODEFAULT))
        for name in cls._fields
    ]
    options = {"array_like": True, "forbid_unknown_fields": True}
    return RecordClass("", fields, lambda values: cls(**values), options)


def _read_typed_dict(cls: Any, hints: dict[str, Any]) -> RecordClass:
    def field(name: str, hint: Any) -> RecordField:
        required = name in cls.__required_keys__
        # Under `from __future__ import annotations` the class itself has not seen these two.
        origins = _wrappers(hint)
        required = (required or Required in origins) and NotRequired not in origins
        return RecordField(name, name, _bare(hint), NODEFAULT if required else UNSET)

    return RecordClass("", [field(*item) for item in hints.items()], lambda values: values)


_READERS: list[tuple[str, Callable[[Any, dict[str, Any]], RecordClass]]] = [
    ("__struct_fields__", _read_struct),
    ("__dataclass_fields__", _read_dataclass),
    ("_field_defaults", _read_named_tuple),
    ("__required_keys__", _read_typed_dict),
]


def _struct_field(index: int, field: RecordField, kind: Any) -> Any:
    name = _position(index)
    if field.default is UNSET:
        return name, Union[kind, msgspec.UnsetType], UNSET  # noqa: UP007 - not every kind knows `|`
    if field.factory is not None:
        return name, kind, msgspec.field(default_factory=field.factory)
    if field.default is NODEFAULT:
        return name, kind
    return name, kind, shown_or_made(field.default)


def shown_or_made(default: Any) -> Any:
    """A default for a struct's field: as it is if JSON can show it, else as a factory."""
    try:
        hash(default)
        msgspec.to_builtins(default, str_keys=True)
    except TypeError:
        return msgspec.field(default_factory=_maker(default))
    return msgspec.field(default=default)


def _maker(default: Any) -> Callable[[], Any]:
    """A default of its own for every call, where a tool could change it for the next one."""
    if isinstance(default, list | dict | set):
        return cast("list[Any]", default).copy
    return lambda: default


def _position(index: int) -> str:
    return f"f{index}"


def _wrappers(hint: Any) -> set[Any]:
    found: set[Any] = set()
    while (origin := get_origin(hint)) is not None and _wraps(origin):
        found.add(origin)
        hint = get_args(hint)[0]
    return found


def _bare(hint: Any) -> Any:
    while (origin := get_origin(hint)) is not None and _wraps(origin):
        hint = get_args(hint)[0]
    return hint


def _wraps(origin: Any) -> bool:
    return origin in (Required, NotRequired, Final) or "ReadOnly" in str(origin)


def _name(kind: Any, origin: Any) -> str:
    arguments = [getattr(part, "__name__", None) or str(part) for part in get_args(kind)]
    return f"{origin.__name__}[{', '.join(arguments)}]" if arguments else origin.__name__


def _doc(cls: Any) -> str:
    """The docstring that somebody wrote for the class, as opposed to a generated one."""
    doc = cast("str | None", cls.__dict__.get("__doc__"))
    return "" if not doc or doc.startswith(f"{cls.__name__}(") else cleandoc(doc)
