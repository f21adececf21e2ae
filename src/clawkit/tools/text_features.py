"""Resources, templates and prompts made from functions of text parameters, sync or async."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, cast, get_type_hints
from urllib.parse import unquote

import msgspec

from clawkit.errors import InvalidParamsError, SchemaError
from clawkit.tools.results import Media, ToolContent, contents, to_content, to_json
from clawkit.tools.schema.docstrings import read_docstring
from clawkit.wire.session import Context

_VARIABLE = re.compile(r"\{([+]?)(\w+)(\*?)\}")


class TextFunction:
    """A function of text parameters, which may also take the `Context`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self.doc = inspect.cleandoc(function.__doc__ or "")
        self._function = function
        self._awaits = inspect.iscoroutinefunction(function)
        hints = get_type_hints(function)
        everything = inspect.signature(function).parameters
        self._context = next((n for n in everything if hints.get(n) is Context), None)
        self.parameters = {n: p for n, p in everything.items() if n != self._context}
        self._types = {name: hints.get(name, str) for name in self.parameters}

    def convert(self, texts: dict[str, str], where: str) -> dict[str, Any]:
        """Texts as the annotated types: a template's `{id}` may be an int."""
        return {name: self._convert(name, text, where) for name, text in texts.items()}

    def _convert(self, name: str, text: str, where: str) -> Any:
        try:
            return msgspec.convert(text, self._types.get(name, str), strict=False)
        except msgspec.ValidationError as error:
            raise InvalidParamsError(f"Invalid params: {where}: {name}: {error}") from None

    async def call(self, arguments: dict[str, Any], context: Context) -> Any:
        if self._context is not None:
            arguments = {**arguments, self._context: context}
        if self._awaits:
            return await self._function(**arguments)
        return await context.run_in_thread(self._function, arguments)


class FunctionResource:
    """One URI; the function returns text, bytes, `Media`, or a value to be written as JSON."""

    def __init__(self, uri: str, function: Callable[..., Any], definition: dict[str, Any]) -> None:
        self.uri = uri
        self.definition = {"uri": uri, **definition}
        self._function = TextFunction(function)
        if self._function.parameters:
            names = ", ".join(self._function.parameters)
            raise SchemaError(f"{uri}: it has no variables for the parameters {names}")

    async def read(self, context: Context) -> list[dict[str, Any]]:
        value = await self._function.call({}, context)
        return _contents(self.uri, value, self.definition.get("mimeType"))


class FunctionTemplate:
    """A family of URIs such as `user://{id}`; the function takes the variables as parameters."""

    def __init__(
        self, uri_template: str, function: Callable[..., Any], definition: dict[str, Any]
    ) -> None:
        self.uri_template = uri_template
        self.definition = {"uriTemplate": uri_template, **definition}
        self._function = TextFunction(function)
        self._pattern = compile_template(uri_template)
        missing = set(self._pattern.groupindex) ^ set(self._function.parameters)
        if missing:
            names = ", ".join(sorted(missing))
            raise SchemaError(f"{uri_template}: variables and parameters differ in {names}")

    def match(self, uri: str) -> dict[str, str] | None:
        found = self._pattern.fullmatch(uri)
        return {k: unquote(v) for k, v in found.groupdict().items()} if found else None

    async def read(
        self, uri: str, variables: dict[str, str], context: Context
    ) -> list[dict[str, Any]]:
        arguments = self._function.convert(variables, uri[:200])
        value = await self._function.call(arguments, context)
        return _contents(uri, value, self.definition.get("mimeType"))


def compile_template(template: str) -> re.Pattern[str]:
    """A pattern for a template: `{name}` stops at a slash, `{+name}` and `{name*}` do not."""
    literals = [re.escape(text) for text in _VARIABLE.sub("\0", template).split("\0")]
    if any(brace in text for text in literals for brace in "{}"):
        raise SchemaError(f"{template}: only {{name}}, {{+name}} and {{name*}} are understood")
    pattern = literals[0]
    variables = list(_VARIABLE.finditer(template))
    for number, (found, after) in enumerate(zip(variables, literals[1:], strict=True), 1):
        reach = ".+" if found[1] or found[3] else "[^/?#]+"
        if number < len(variables):
            # A lookahead never tries again: a URI that does not match is found out in linear time.
            pattern += f"(?=(?P<{found[2]}>{reach}?){after})(?P={found[2]}){after}"
        else:
            pattern += f"(?P<{found[2]}>{reach}){after}"
    return re.compile(pattern, re.DOTALL)


def _contents(uri: str, value: Any, mime_type: str | None) -> list[dict[str, Any]]:
    if isinstance(value, Media):
        return [contents(uri, value.data, value.mime_type)]
    if isinstance(value, str | bytes):
        return [contents(uri, value, mime_type)]
    return [contents(uri, to_json(value).decode(), mime_type or "application/json")]


class FunctionPrompt:
    """A prompt; the function returns a text, or messages made with `user` and `assistant`."""

    def __init__(
        self, function: Callable[..., Any], name: str | None, definition: dict[str, Any]
    ) -> None:
        self._function = TextFunction(function)
        self.name = name or self._function.name.replace("_", "-")
        text = read_docstring(self._function.doc)
        self.definition: dict[str, Any] = {"name": self.name}
        if text.description:
            self.definition["description"] = text.description
        self.definition.update(definition)
        if self._function.parameters:
            self.definition["arguments"] = [
                _argument(p, text.parameters.get(n)) for n, p in self._function.parameters.items()
            ]

    async def render(self, arguments: dict[str, str], context: Context) -> dict[str, Any]:
        for name, parameter in self._function.parameters.items():
            if name not in arguments and parameter.default is inspect.Parameter.empty:
                raise InvalidParamsError(f"Invalid params: {self.name} needs the argument {name}")
        known = {k: v for k, v in arguments.items() if k in self._function.parameters}
        converted = self._function.convert(known, self.name)
        value = await self._function.call(converted, context)
        result: dict[str, Any] = {"messages": _messages(value)}
        if "description" in self.definition:
            result["description"] = self.definition["description"]
        return result


def user(content: Any) -> dict[str, Any]:
    """A message that the person says."""
    return {"role": "user", "content": to_content(content).block}


def assistant(content: Any) -> dict[str, Any]:
    """A message that the model said."""
    return {"role": "assistant", "content": to_content(content).block}


def _messages(value: Any) -> list[dict[str, Any]]:
    items: Sequence[Any] = cast(
        "Sequence[Any]", value if isinstance(value, list | tuple) else [value]
    )
    return [item if _is_message(item) else user(item) for item in items]


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and "role" in item and not isinstance(item, ToolContent)


def _argument(parameter: inspect.Parameter, description: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": parameter.name}
    if description:
        found["description"] = description
    found["required"] = parameter.default is inspect.Parameter.empty
    return found
