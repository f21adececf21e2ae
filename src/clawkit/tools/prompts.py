"""Prompts made from Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

from clawkit.errors import InvalidParamsError
from clawkit.tools.results import ToolContent, to_content
from clawkit.tools.schema.docstrings import read_docstring
from clawkit.tools.text_functions import TextFunction
from clawkit.wire.context import Context


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
