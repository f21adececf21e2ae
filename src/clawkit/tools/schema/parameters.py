"""Owns the parameters of a function: which of them a caller fills, and what they are annotated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Optional, get_args, get_origin

import msgspec
from msgspec import NODEFAULT

from clawkit.errors import SchemaError
from clawkit.tools.schema.kinds import UNIONS
from clawkit.tools.schema.scope import AnnotationScope, scope_of

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
