"""Owns the way from a function to its input schema, and from the arguments of a call to its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Optional, cast, get_args, get_origin

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import asdict

from clawkit.errors import InvalidArgumentsError, SchemaError
from clawkit.tools.results import to_json
from clawkit.tools.schema.annotations import UNIONS, AnnotationScope, is_optional, scope_of
from clawkit.tools.schema.converter import (
    Cast,
    Converter,
    Misfit,
    kind_of,
    make_cast,
    unknown_argument,
)
from clawkit.tools.schema.definitions import Definitions, Schema, without_null
from clawkit.tools.schema.docstrings import Docstring, read_docstring
from clawkit.tools.schema.reader import AnnotationReader, TypeForms, converter_for
from clawkit.tools.schema.records import shown_or_made

_EMPTY = inspect.Parameter.empty


class Parameter(msgspec.Struct, frozen=True):
    """A parameter that a caller fills. `default` is NODEFAULT where the caller must."""

    name: str
    annotation: Any
    default: Any


class Callee(msgspec.Struct, frozen=True):
    """A function as its caller sees it.

    `injected` is the parameter that we fill, `extra` the annotation of a `**` parameter or
    NODEFAULT, and `reserved` are the names that are filled already, so that no caller may.
    """

    name: str
    doc: str | None
    scope: AnnotationScope
    parameters: list[Parameter]
    injected: str | None
    extra: Any
    reserved: frozenset[str]
    returns: Any

    def where(self, parameter: str) -> str:
        return _where(self.name, parameter)


def read_callee(fn: Callable[..., Any], inject: type | None) -> Callee:
    """Read a function, a method, a partial or an object with `__call__`.

    A first parameter called `self` or `cls`, without an annotation, is left out: it belongs to a
    function in a class body, which its decorator sees before it becomes a method. Arguments that
    a partial gives by name are settled, and left out too.
    """
    function = _function(fn)
    name = getattr(function, "__name__", type(fn).__name__)
    scope = scope_of(function, **({inject.__name__: inject} if inject else {}))
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError, NameError) as error:
        raise SchemaError(f"{name}(): its parameters cannot be read: {error}") from None
    listed = list(signature.parameters.values())
    reserved = _settled(fn)
    if listed and _is_self(listed[0]) and inspect.isfunction(fn):
        if not _is_in_class(function):
            raise SchemaError(
                f"{_where(name, listed[0].name)} belongs to methods, and this is a function: "
                "take it out, or annotate it if it is an argument"
            )
        reserved.add(listed[0].name)
    extra: Any = NODEFAULT
    injected: str | None = None
    parameters: list[Parameter] = []
    for item in listed:
        if item.name in reserved:
            continue
        parameter = _read(item, scope, name)
        if item.kind is item.VAR_KEYWORD:
            extra = parameter.annotation
        elif inject is not None and _means(parameter.annotation, inject):
            if injected is not None:
                raise SchemaError(f"{name}(): takes {inject.__name__} twice; take it once")
            injected = item.name
        else:
            parameters.append(parameter)
    if injected is not None:
        reserved.add(injected)
    doc = function.__doc__ or (None if function is fn else _class_doc(fn))
    returns = NODEFAULT if signature.return_annotation is _EMPTY else signature.return_annotation
    return Callee(name, doc, scope, parameters, injected, extra, frozenset(reserved), returns)


def resolve(annotation: Any, scope: AnnotationScope, where: str) -> Any:
    """The type that an annotation means; raises SchemaError naming `where`."""
    try:
        return scope.resolve(annotation)
    except NameError as error:
        advice = "import it, or define it, before the function is decorated"
        raise SchemaError(f"{where}: {error} in the annotation {annotation!r}; {advice}") from None
    except (TypeError, SyntaxError, AttributeError) as error:
        raise SchemaError(f"{where}: {annotation!r} is not a type: {error}") from None


def _read(item: inspect.Parameter, scope: AnnotationScope, function: str) -> Parameter:
    where = _where(function, item.name)
    if item.kind is item.POSITIONAL_ONLY:
        raise SchemaError(f"{where} is positional-only; remove the `/` from the signature")
    if item.kind is item.VAR_POSITIONAL:
        raise SchemaError(f"{where} takes any number of values; make it `{item.name}: list[…]`")
    if item.annotation is _EMPTY:
        if item.kind is item.VAR_KEYWORD:
            return Parameter(item.name, Any, NODEFAULT)
        raise SchemaError(f"{where} has no type; annotate it, e.g. `{item.name}: int`")
    annotation = resolve(item.annotation, scope, where)
    default = NODEFAULT if item.default is _EMPTY else item.default
    if isinstance(default, msgspec.Meta) or type(default).__name__ == "FieldInfo":
        annotation = Annotated[annotation, default]
        default = _default_in(default)
    if default is None:
        annotation = Optional[annotation]  # noqa: UP045 - not every form knows `|`
    return Parameter(item.name, annotation, default)


def _where(function: str, parameter: str) -> str:
    return f"{function}(): parameter `{parameter}`"


def _default_in(field: Any) -> Any:
    """The default inside a pydantic `Field(…)` that stands in the place of a default."""
    if isinstance(field, msgspec.Meta) or field.is_required():
        return NODEFAULT
    return field.get_default(call_default_factory=True)


def _function(fn: Any) -> Any:
    """The function that was written, under partials, methods, wrappers and callable objects."""
    if inspect.isfunction(fn):
        return inspect.unwrap(fn)
    if isinstance(fn, partial):
        return _function(fn.func)
    for under in ("__func__", "__wrapped__"):
        if hasattr(fn, under):
            return _function(getattr(fn, under))
    call = getattr(fn.__class__, "__call__", None)  # noqa: B004 - its code is read
    return _function(call) if inspect.isfunction(call) else fn


def _settled(fn: Any) -> set[str]:
    return set(fn.keywords) if isinstance(fn, partial) else set()


def _is_self(item: inspect.Parameter) -> bool:
    return item.name in ("self", "cls") and item.annotation is _EMPTY and item.default is _EMPTY


def _is_in_class(function: Any) -> bool:
    """Whether a function was written in the body of a class."""
    place = function.__qualname__.rpartition(".")[0]
    return bool(place) and not place.endswith("<locals>")


def _means(annotation: Any, inject: type) -> bool:
    """Whether an annotation is the class, a parameterised form of it, or either one or None."""
    origin = get_origin(annotation) or annotation
    if origin is Annotated:
        return _means(annotation.__origin__, inject)
    if origin in UNIONS:
        return any(_means(member, inject) for member in get_args(annotation))
    return origin is inject


def _class_doc(fn: Any) -> str | None:
    return None if isinstance(fn, partial) or inspect.ismethod(fn) else type(fn).__doc__


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
