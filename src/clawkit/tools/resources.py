"""Resources and resource templates made from Python functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from clawkit.errors import SchemaError
from clawkit.tools.results import Media, contents, to_json
from clawkit.tools.text_functions import TextFunction
from clawkit.wire.context import Context

_VARIABLE = re.compile(r"\{([+]?)(\w+)(\*?)\}")


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
