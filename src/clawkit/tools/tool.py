"""A tool: its definition, its options, the handler that does the work; and `@claw_tool`."""

from __future__ import annotations

import copy
import re
from collections.abc import Awaitable, Callable, Mapping
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, signature
from types import FunctionType
from typing import (
    Annotated,
    Any,
    Generic,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
    runtime_checkable,
)

import msgspec

from clawkit.errors import InvalidArgumentsError, SchemaError, ToolExecutionError
from clawkit.tools.results import ToolResult, to_structured, to_wire
from clawkit.tools.schema.converter import Converter, misfit_of
from clawkit.tools.schema.signature import Signature, read_signature
from clawkit.wire.features import TaskUse
from clawkit.wire.jsonrpc import as_object
from clawkit.wire.session import Context

_NAME = re.compile(r"[^\s<>\"'`\x00-\x1f]{1,128}")


@runtime_checkable
class ToolHandler(Protocol):
    """The work behind a tool, written by hand: a class with this method may keep any state."""

    async def call(self, args: dict[str, Any]) -> ToolResult: ...


class ContextHandler(Protocol):
    """A handler that wants the `Context` too."""

    async def call(self, args: dict[str, Any], context: Context) -> ToolResult: ...


class ToolOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be said about a tool beside its name, description and schema."""

    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    timeout: Annotated[float, msgspec.Meta(gt=0)] | None = None
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None = None
    requires_approval: bool = False
    always_load: bool = False
    structured: bool = False
    task: TaskUse = "never"
    task_after: Annotated[float, msgspec.Meta(ge=0)] | None = 0
    icons: list[dict[str, Any]] | None = None
    meta: dict[str, Any] | None = None

    def annotations(self) -> dict[str, Any]:
        hints = {
            "title": self.title,
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }
        return {key: value for key, value in hints.items() if value is not None}

    def full_meta(self) -> dict[str, Any]:
        always = {"anthropic/alwaysLoad": True} if self.always_load else {}
        return {**always, **(self.meta or {})}


class ToolOptionsDict(TypedDict, total=False):
    """The same as keyword arguments, for editors and type checkers."""

    title: str | None
    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None
    timeout: float | None
    concurrency: int | None
    requires_approval: bool
    always_load: bool
    structured: bool
    task: TaskUse
    task_after: float | None
    icons: list[dict[str, Any]] | None
    meta: dict[str, Any] | None


def read_options(options: Mapping[str, object]) -> ToolOptions:
    """The options of a tool; raises SchemaError for one that does not exist or does not fit."""
    unknown = sorted(set(options) - set(ToolOptions.__struct_fields__))
    if unknown:
        known = ", ".join(ToolOptions.__struct_fields__)
        raise SchemaError(f"claw_tool has no option {', '.join(unknown)}; it has {known}")
    try:
        return msgspec.convert(options, ToolOptions)
    except msgspec.ValidationError as error:
        misfit = misfit_of(error)
        raise SchemaError(f"claw_tool: {misfit.path[1:]}: {misfit.problem}") from None


class SdkMcpTool:
    """A tool that a server can register."""

    def __init__(
        self,
        name: str,
        description: str,
        input_schema: dict[str, Any],
        handler: ToolHandler | ContextHandler | Callable[..., Awaitable[Any]],
        *,
        output_schema: dict[str, Any] | None = None,
        options: ToolOptions | None = None,
        **more: Unpack[ToolOptionsDict],
    ) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SchemaError(f"{name!r} cannot name a tool; use letters, digits, - and _")
        if not isinstance(description, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SchemaError(f"{name}: the description must be a text, not {description!r}")
        if input_schema.get("type") != "object":
            raise SchemaError(f'{name}: the input schema must have "type": "object"')
        self.name = name
        self.description = description
        self.input_schema = input_schema
        self.output_schema = output_schema
        self.handler = handler
        self.options = chosen = options or read_options(more)
        self.timeout, self.concurrency = chosen.timeout, chosen.concurrency
        self.requires_approval = chosen.requires_approval
        self.task: TaskUse = chosen.task
        self.task_after = chosen.task_after
        self.headers = dict(_headers(input_schema))
        self.definition = self._define()
        self._run = _runner(handler)

    async def invoke(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        """The result of one call, as it goes over the wire."""
        return to_wire(await self._run(arguments, context))

    def _define(self) -> dict[str, Any]:
        definition: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
        }
        extra = {
            "title": self.options.title,
            "outputSchema": self.output_schema,
            "annotations": self.options.annotations(),
            "icons": self.options.icons,
            "_meta": self.options.full_meta(),
        }
        definition.update({key: value for key, value in extra.items() if value})
        return definition


class FunctionTool(SdkMcpTool):
    """A tool made from a Python function."""

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        name: str,
        description: str,
        options: ToolOptions,
    ) -> None:
        self.fn = function
        self._signature = signature
        self._awaits = _is_async(function)
        super().__init__(
            name,
            description,
            signature.input_schema,
            self._call,
            output_schema=signature.output.schema if signature.output else None,
            options=options,
        )

    @property
    def needs_instance(self) -> bool:
        """Whether the function is a method of no object yet."""
        return isinstance(self.fn, FunctionType) and self._signature.leaves_out_self

    def bound_to(self, instance: Any) -> FunctionTool:
        """The same tool for one object, when the function is a method."""
        bound = copy.copy(self)
        bound.fn = self.fn.__get__(instance)
        bound.handler = bound._call
        return bound

    async def invoke(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        signature = self._signature
        value = await self._call(arguments, context)
        if signature.output is None:
            return to_wire(value)
        result = to_structured(value, wrapped=signature.output_wrapped)
        if not isinstance(value, ToolResult):
            self._check(signature.output, result["structuredContent"])
        return result

    def _check(self, output: Converter, content: Any) -> None:
        """Clients check what the output schema promises, so it is checked here first."""
        try:
            output.convert(content["result"] if self._signature.output_wrapped else content)
        except InvalidArgumentsError as error:
            raise ToolExecutionError(f"{self.name} did not return its type: {error}") from None

    async def _call(self, arguments: dict[str, Any], context: Context) -> Any:
        kwargs = self._signature.bind(arguments)
        if self._signature.injected is not None:
            kwargs[self._signature.injected] = context
        if self._awaits:
            return await self.fn(**kwargs)
        return await context.run_in_thread(self.fn, kwargs)


def _runner(handler: Any) -> Callable[[dict[str, Any], Context], Awaitable[Any]]:
    """Makes one callable of any handler: an object with `call`, or a coroutine function."""
    call: Callable[..., Awaitable[Any]] = getattr(handler, "call", handler)
    if not callable(call):
        raise SchemaError(f"a handler needs an async `call` method, and {handler!r} has none")
    if len(signature(call).parameters) > 1:
        return call
    return lambda arguments, _: call(arguments)


def _is_async(function: Any) -> bool:
    while hasattr(function, "func"):
        function = function.func
    return iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)


def _headers(
    schema: dict[str, Any], path: tuple[str, ...] = ()
) -> list[tuple[str, tuple[str, ...]]]:
    """The arguments that HTTP clients mirror into headers, by the schema's `x-mcp-header`."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for name, value in cast("dict[str, Any]", schema.get("properties", {})).items():
        here = (*path, name)
        part = as_object(value) or {}
        if "x-mcp-header" in part:
            found.append((f"mcp-param-{part['x-mcp-header']}".lower(), here))
        if part.get("type") == "object":
            found += _headers(part, here)
    return found


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
