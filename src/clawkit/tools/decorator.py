"""`@claw_tool`: a function becomes a tool."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isasyncgenfunction, isgeneratorfunction
from typing import Any, Generic, TypeVar, Unpack, overload

from clawkit.errors import SchemaError
from clawkit.tools.results import ToolResult
from clawkit.tools.schema.signature import read_signature
from clawkit.tools.tool import FunctionTool, ToolOptions, ToolOptionsDict, read_options
from clawkit.wire.context import Context

F = TypeVar("F", bound=Callable[..., Any])


class ClawTool(Generic[F]):
    """What stands in the function's place: calling it gives the tool, `fn` is the function."""

    def __init__(self, tool: FunctionTool, fn: F) -> None:
        self.tool = tool
        self.fn = fn
        self.__doc__ = fn.__doc__
        self.__name__ = getattr(fn, "__name__", tool.name)
        self.__wrapped__ = fn

    def __call__(self, *args: Any, **kwargs: Any) -> FunctionTool:
        if args or kwargs:
            raise TypeError(f"{self.__name__} is a tool; call {self.__name__}.fn(…) to run it")
        return self.tool

    def __get__(self, instance: object, owner: type | None = None) -> ClawTool[Any]:
        if instance is None:
            return self
        bound = self.tool.bound_to(instance)
        return ClawTool(bound, bound.fn)

    def __repr__(self) -> str:
        return f"<claw_tool {self.tool.name}>"


@overload
def claw_tool(function: F, /) -> ClawTool[F]: ...
@overload
def claw_tool(
    *, name: str | None = None, description: str | None = None, **options: Unpack[ToolOptionsDict]
) -> Callable[[F], ClawTool[F]]: ...
def claw_tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolOptionsDict],
) -> Any:
    """Make a tool of a function, sync or async.

    Args:
        name: The tool's name; by default the function's, with `-` for `_`.
        description: What the model reads; by default the docstring without its parameters.
        options: Fields of `ToolOptions`.
    """
    if function is not None and not callable(function):
        raise SchemaError("claw_tool takes keyword arguments: @claw_tool(name=…, description=…)")
    chosen = read_options(options)

    def decorate(fn: F) -> ClawTool[F]:
        if not callable(fn):
            raise SchemaError("claw_tool takes keyword arguments: name=…, description=…")
        return ClawTool(make_tool(fn, name, description, chosen), fn)

    return decorate if function is None else decorate(function)


def make_tool(
    fn: Callable[..., Any], name: str | None, description: str | None, options: ToolOptions
) -> FunctionTool:
    if isgeneratorfunction(fn) or isasyncgenfunction(fn):
        raise SchemaError(f"{function_name(fn)}: a tool returns one value; return a list")
    if options.structured and _returns_a_result(fn):
        raise SchemaError(f"{function_name(fn)}: structured output needs the value's own type")
    signature = read_signature(fn, inject=Context, structured=options.structured)
    called = name or function_name(fn).replace("_", "-")
    text = description or signature.description or f"Tool: {called}"
    return FunctionTool(fn, signature, called, text, options)


def _returns_a_result(fn: Any) -> bool:
    return getattr(fn, "__annotations__", {}).get("return") in (ToolResult, "ToolResult")


def function_name(fn: Any) -> str:
    """The name of a function, a partial, or an object with `__call__`."""
    while hasattr(fn, "func"):
        fn = fn.func
    return getattr(fn, "__name__", type(fn).__name__)
