"""Reads a Python annotation: its JSON Schema, and the converter of the values that it takes.

Each annotation has two forms. The careful form replaces every record, enum, literal, pydantic
model and ambiguous union by a stand-in, and is what schemas and error texts are made from. The
quick form is the annotation itself, if msgspec alone reads it with the same meaning.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin

import msgspec

from clawkit.errors import SchemaError
from clawkit.tools.schema.annotations import (
    CONTAINERS,
    LEAVES,
    MAPPINGS,
    SETS,
    UNIONS,
    AnnotationScope,
    is_hashable,
    is_path,
    objection,
    type_name,
)
from clawkit.tools.schema.constraints import (
    Constraints,
    has_limits_in_union,
    is_foreign,
    is_pydantics,
    read_notes,
)
from clawkit.tools.schema.converter import Converter, Misfit, boxed, make_cast, shape, unboxed
from clawkit.tools.schema.definitions import Definitions, Schema
from clawkit.tools.schema.records import RecordClass, read_record
from clawkit.tools.schema.standins import (
    StandIn,
    choice,
    from_string,
    is_pydantic,
    listed,
    literal,
    members_of,
    model,
    stand_in,
)

_ADVICE = (
    "use str, int, float, bool, a list or dict of these, Literal, an Enum, a dataclass, "
    "a TypedDict, a Struct or a pydantic model"
)


class TypeForms(msgspec.Struct, frozen=True):
    """An annotation as msgspec is given it; `hooked` says that `quick` needs our hooks."""

    quick: Any
    careful: Any
    hooked: bool


class AnnotationReader:
    """Reads the annotations of one function, so that they share the classes they name."""

    def __init__(self, scope: AnnotationScope) -> None:
        self._scope = scope
        self._where = ""
        self._native = True
        self._named: dict[Any, StandIn] = {}
        self._aliases: list[Any] = []

    def read(self, annotation: Any, where: str) -> TypeForms:
        """Both forms of an annotation; raises SchemaError naming `where` and the type."""
        self._where = where
        self._native = True
        careful = self._careful(annotation)
        self._check(careful)
        native = self._native and objection(annotation) is None
        return TypeForms(
            annotation if native else careful, careful, not native and _is_hooked(careful)
        )

    def _careful(self, kind: Any) -> Any:
        try:
            if kind in LEAVES:
                return LEAVES[kind]
        except TypeError:  # metadata that cannot be hashed
            pass
        if kind is object:
            self._native = False
            return Any
        if isinstance(kind, NewType):
            return self._careful(kind.__supertype__)
        origin = get_origin(kind) or kind
        if hasattr(origin, "__value__"):
            return self._alias(kind, origin)
        if origin is Annotated:
            return self._annotated(kind.__origin__, kind.__metadata__)
        if origin in UNIONS:
            return self._union(get_args(kind))
        if origin is Literal:
            return self._made(kind, lambda: literal(get_args(kind)))
        if origin in CONTAINERS:
            return self._container(kind, origin)
        return self._class(kind, origin)

    def _check(self, kind: Any) -> None:
        if problem := objection(kind):
            raise self._refusal(problem)

    def _annotated(self, base: Any, metadata: tuple[Any, ...]) -> Any:
        validated = any(hasattr(item, "__get_pydantic_core_schema__") for item in metadata)
        ours = [item for item in metadata if not (validated and is_pydantics(item))]
        try:
            notes = read_notes(ours)
            self._native = self._native and not any(map(is_foreign, metadata))
        except ValueError as error:
            raise self._refusal(f"{type_name(base)}: {error}") from None
        if validated:
            self._native = False
            careful = self._made(base, lambda: model(Annotated[base, *metadata]))
        else:
            careful = self._careful(base)
        if notes.limits is not None:
            careful = self._limited(base, careful, notes)
        return careful if notes.words is None else Annotated[careful, notes.words]

    def _limited(self, base: Any, careful: Any, notes: Constraints) -> Any:
        """`careful` within limits; those of a union hold for the members that can have them."""
        if get_origin(base) not in UNIONS:
            limited = Annotated[careful, notes.limits]
            self._check(limited)
            return limited
        self._native = False
        members = [Annotated[self._careful(member), notes.limits] for member in get_args(base)]
        if all(map(objection, members)):
            raise self._refusal(
                f"{type_name(base)}: no member of the union can have {notes.limits}"
            )
        plain = zip(members, get_args(base), strict=True)
        return self._union(tuple(b if objection(limited) else limited for limited, b in plain))

    def _union(self, members: tuple[Any, ...]) -> Any:
        present = [self._careful(member) for member in members]
        whole: Any = Union[tuple(present)]  # noqa: UP007 - made of a list
        if has_limits_in_union(whole):
            self._native = False
            return choice(present)
        return whole if objection(whole) is None else choice(present)

    def _container(self, kind: Any, origin: Any) -> Any:
        arguments = get_args(kind)
        if not arguments:
            return kind if kind == tuple[()] else origin
        if origin in MAPPINGS:
            return self._mapping(origin, *arguments)
        if origin in SETS and not all(map(is_hashable, arguments)):
            raise self._refusal(f"{type_name(kind)}: a set cannot hold values that have no hash")
        parts = [part if part is ... else self._careful(part) for part in arguments]
        return origin[tuple(parts)]

    def _mapping(self, origin: Any, key: Any, value: Any) -> Any:
        """JSON keys are strings, for which msgspec does not ask a stand-in."""
        held = self._careful(value)
        if key is str:
            return origin[key, held]
        self._native = False
        careful = self._careful(key)
        if not isinstance(careful, StandIn):
            return origin[careful, held]
        if not careful.values or objection(key) is not None:
            raise self._refusal(f"{type_name(key)}: the keys of a JSON object are strings")
        names = {"propertyNames": {"enum": [str(value) for value in careful.values]}}
        return Annotated[origin[key, held], msgspec.Meta(extra_json_schema=names)]

    def _alias(self, kind: Any, origin: Any) -> Any:
        if kind in self._aliases:
            raise self._refusal(
                f"{type_name(kind)} contains itself; make it a dataclass, or use Any"
            )
        self._aliases.append(kind)
        value = origin.__value__
        careful = self._careful(value[get_args(kind)] if get_args(kind) else value)
        self._aliases.pop()
        return careful

    def _class(self, kind: Any, origin: Any) -> Any:
        if kind in self._named:
            self._native = self._native and self._named[kind].native
            return self._named[kind]
        if is_pydantic(kind):
            self._native = False
            self._named[kind] = self._made(kind, lambda: model(kind))
            return self._named[kind]
        try:
            record = read_record(kind, self._scope)
        except NameError as error:
            raise self._refusal(
                f"{type_name(kind)} uses a name that is not known: {error}"
            ) from None
        if record is not None:
            return self._record(kind, record)
        if is_path(kind):
            self._native = False
            return from_string(kind, format="path")
        if origin is abc.Iterable and get_args(kind):
            self._native = False
            return self._careful(list[get_args(kind)[0]])
        if isinstance(kind, type) and issubclass(kind, Enum):
            self._native = self._native and objection(kind) is None
            return self._made(kind, lambda: members_of(kind))
        raise self._refusal(f"{type_name(kind)} cannot be described as JSON Schema; {_ADVICE}")

    def _record(self, kind: Any, record: RecordClass) -> StandIn:
        made = stand_in(record.name, _not_yet, _not_yet)
        self._named[kind] = made
        outside, self._native = self._native, True
        types = {field.name: self._field(record, field.name, field.hint) for field in record.fields}
        try:
            struct = record.struct(types)
        except (TypeError, ValueError) as error:
            raise self._refusal(f"{type_name(kind)}: {error}") from None
        made.native = self._native and record.native and objection(kind) is None
        made.keys = {field.key: listed(types[field.name]) for field in record.fields}
        made.decode = _record_decoder(kind, record, struct, made.native)
        made.describe = lambda defs: defs.define(
            made, record.name, lambda: defs.describe_struct(struct)
        )
        self._native = outside and made.native
        return made

    def _field(self, record: RecordClass, name: str, hint: Any) -> Any:
        outer, self._where = self._where, f"{self._where}, field {record.name}.{name}"
        careful = self._careful(hint)
        self._check(careful)
        self._where = outer
        return careful

    def _made(self, kind: Any, make: Callable[[], StandIn]) -> StandIn:
        try:
            return make()
        except (TypeError, ValueError, NameError, RuntimeError) as error:
            raise self._refusal(f"{type_name(kind)}: {str(error).splitlines()[0]}") from None

    def _refusal(self, problem: str) -> SchemaError:
        return SchemaError(f"{self._where}: {problem}")


def _record_decoder(
    kind: Any, record: RecordClass, struct: type[msgspec.Struct], native: bool
) -> Callable[[Any], Any]:
    def careful(value: Any) -> Any:
        return record.build(shape(value, struct))

    box = boxed(kind)

    def quick(value: Any) -> Any:
        try:
            return unboxed(lambda boxed_value: shape(boxed_value, box), value)
        except Misfit:
            return careful(value)

    return quick if native else careful


def _is_hooked(kind: Any) -> bool:
    """Whether stand-ins, or keys that are not strings, are somewhere in a type."""
    arguments = get_args(kind)
    if isinstance(kind, StandIn) or (get_origin(kind) in MAPPINGS and arguments[0] is not str):
        return True
    return any(map(_is_hooked, arguments))


def _not_yet(_: Definitions) -> Schema:
    raise AssertionError("a record was used before it was finished")


def converter_for(
    annotation: Any, *, where: str, scope: AnnotationScope | None = None
) -> Converter:
    """The converter of a type; raises SchemaError naming `where` and the type.

    `scope` has the names that classes under the type use, beside those of their own modules.
    """
    form = AnnotationReader(scope or AnnotationScope({}, {})).read(annotation, where)
    definitions = Definitions()
    (schema,) = definitions.describe([form.careful])
    cast = make_cast(boxed(form.quick), boxed(form.careful), hooked=form.hooked)
    return Converter(definitions.rooted(schema), cast)
