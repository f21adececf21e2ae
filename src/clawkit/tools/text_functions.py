"""Functions behind resources, prompts and completions: sync or async, and what they take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec

from clawkit.errors import InvalidParamsError
from clawkit.wire.context import Context


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
