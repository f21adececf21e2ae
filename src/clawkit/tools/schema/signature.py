"""Owns the way from a function to its input schema, and from the arguments of a call to its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import asdict

from clawkit.errors import InvalidArgumentsError, SchemaError
from clawkit.tools.results import to_json
from clawkit.tools.schema.casts import Cast, make_cast
from clawkit.tools.schema.converter import AnnotationReader, Converter, TypeForms, converter_for
from clawkit.tools.schema.definitions import Definitions, Schema, without_null
from clawkit.tools.schema.docstrings import Docstring, read_docstring
from clawkit.tools.schema.kinds import is_optional
from clawkit.tools.schema.parameters import Callee, Parameter, read_callee, resolve
from clawkit.tools.schema.problems import Misfit, kind_of, unknown_argument
from clawkit.tools.schema.records import shown_or_made


class Signature(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What a tool takes and gives. Built once per tool.

    `output_wrapped` says that the value is not an object, so that `output.schema` is that of an
    object with the value as its `result`; `output.convert` takes the value itself.
    """

    input_schema: Schema
    output: Converter | None
    output_wrapped: bool
    injected: str | None
    description: str
    _cast: Cast
    _mangled: dict[str, str]
    _extra: Converter | None
    _reserved: frozenset[str]

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments of a call, defaults included; raises InvalidArgumentsError."""
        try:
            bound = asdict(self._cast(arguments))
        except Misfit as misfit:
            raise self._refusal(arguments, misfit) from None
        if self._mangled:
            bound = {self._mangled.get(name, name): value for name, value in bound.items()}
        if self._extra is not None:
            bound |= self._extras(arguments, self._extra)
        return bound

    def _extras(self, arguments: dict[str, Any], converter: Converter) -> dict[str, Any]:
        """The arguments that no parameter has the name of."""
        found: dict[str, Any] = {}
        for name, value in arguments.items():
            if name in self.input_schema["properties"]:
                continue
            if name in self._reserved:
                raise self._unknown(name)
            try:
                found[name] = converter.convert(value)
            except InvalidArgumentsError as error:
                dot = "." if error.argument and not error.argument.startswith("[") else ""
                where = f"{name}{dot}{error.argument}"
                raise InvalidArgumentsError(where, error.problem) from None
        return found

    @property
    def leaves_out_self(self) -> bool:
        return not self._reserved.isdisjoint(("self", "cls"))

    def _refusal(self, arguments: Any, misfit: Misfit) -> InvalidArgumentsError:
        if not isinstance(arguments, dict):
            return InvalidArgumentsError("", f"expected an object, got {kind_of(arguments)}")
        if self._extra is None:
            for name in cast("dict[str, Any]", arguments):
                if name not in self.input_schema["properties"]:
                    return self._unknown(name)
        for name in self.input_schema.get("required", ()):
            if name not in arguments:
                return InvalidArgumentsError(name, "missing required argument")
        return InvalidArgumentsError(misfit.path.removeprefix("."), misfit.problem)

    def _unknown(self, name: str) -> InvalidArgumentsError:
        return InvalidArgumentsError(str(name), unknown_argument(self.input_schema["properties"]))


def read_signature(
    fn: Callable[..., Any], *, inject: type | None = None, structured: bool = False
) -> Signature:
    """Read a function once, for every call that follows.

    The parameter annotated with `inject` is left for the caller of the function to fill. With
    `structured`, the return annotation is described too, and must be there. `read_callee` says
    which parameters are left out. Raises SchemaError for what cannot be described.
    """
    callee = read_callee(fn, inject)
    docstring = read_docstring(callee.doc)
    reader = AnnotationReader(callee.scope)
    forms = [reader.read(item.annotation, callee.where(item.name)) for item in callee.parameters]
    extra = None if callee.extra is NODEFAULT else _extra_converter(callee)
    output, wrapped = _read_output(callee) if structured else (None, False)
    return Signature(
        input_schema=_input_schema(callee.parameters, forms, docstring),
        output=output,
        output_wrapped=wrapped,
        injected=callee.injected,
        description=docstring.description,
        _cast=_make_cast(callee, forms),
        _mangled={
            _field_name(item.name): item.name
            for item in callee.parameters
            if item.name.startswith("__")
        },
        _extra=extra,
        _reserved=callee.reserved,
    )


def _input_schema(
    parameters: list[Parameter], forms: list[TypeForms], docstring: Docstring
) -> Schema:
    definitions = Definitions()
    described = definitions.describe([form.careful for form in forms])
    properties = {
        item.name: _property(item, schema, docstring.parameters.get(item.name))
        for item, schema in zip(parameters, described, strict=True)
    }
    required = [item.name for item in parameters if _default(item) is NODEFAULT]
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if definitions.schemas:
        schema["$defs"] = definitions.schemas
    return schema


def _property(parameter: Parameter, schema: Schema, description: str | None) -> Schema:
    if is_optional(parameter.annotation):
        schema = without_null(schema)
    if description:
        schema.setdefault("description", description)
    default = _json_of(parameter.default)
    if default is not None:
        schema["default"] = default
    return schema


def _default(parameter: Parameter) -> Any:
    """What the function gets when nothing is sent; NODEFAULT if something must be."""
    if parameter.default is NODEFAULT and is_optional(parameter.annotation):
        return None
    return parameter.default


def _json_of(default: Any) -> Any:
    """A default as JSON shows it; None if it cannot."""
    try:
        return msgspec.json.decode(to_json(default))
    except (TypeError, ValueError):
        return None


def _make_cast(callee: Callee, forms: list[TypeForms]) -> Cast:
    names = {_field_name(item.name): item.name for item in callee.parameters}
    defaults = [_default(item) for item in callee.parameters]

    def struct(kinds: list[Any]) -> type[msgspec.Struct]:
        return msgspec.defstruct(
            "Arguments",
            [
                (name, kind) if default is NODEFAULT else (name, kind, shown_or_made(default))
                for name, kind, default in zip(names, kinds, defaults, strict=True)
            ],
            kw_only=True,
            forbid_unknown_fields=callee.extra is NODEFAULT,
            rename=names,
        )

    return make_cast(
        struct([form.quick for form in forms]),
        struct([form.careful for form in forms]),
        hooked=any(form.hooked for form in forms),
    )


def _field_name(name: str) -> str:
    """A struct cannot have fields with two leading underscores; a function can."""
    return f"mangled{name}" if name.startswith("__") else name


def _extra_converter(callee: Callee) -> Converter:
    return converter_for(
        callee.extra, where=f"{callee.name}(): its `**` parameter", scope=callee.scope
    )


def _read_output(callee: Callee) -> tuple[Converter, bool]:
    """The converter of the return annotation, and whether its schema is wrapped in an object."""
    where = f"{callee.name}(): return type"
    if callee.returns is NODEFAULT:
        raise SchemaError(
            f"{where} is missing; annotate it, e.g. `-> int`, to give structured results"
        )
    annotation = resolve(callee.returns, callee.scope, where)
    output = converter_for(annotation, where=where, scope=callee.scope)
    if output.schema.get("type") == "object":
        return output, False
    inner = dict(output.schema)
    defs = inner.pop("$defs", None)
    schema: Schema = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
    if defs:
        schema["$defs"] = defs
    return msgspec.structs.replace(output, schema=schema), True
