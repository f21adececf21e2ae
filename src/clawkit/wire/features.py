"""The interfaces of what a server offers: tools, resources, templates, prompts, completions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from clawkit.wire.session import Context

TaskUse = Literal["never", "allowed", "required"]


class Tool(Protocol):
    """A tool for `tools/list` and `tools/call`."""

    @property
    def name(self) -> str: ...
    @property
    def definition(self) -> dict[str, Any]: ...
    @property
    def timeout(self) -> float | None: ...
    @property
    def concurrency(self) -> int | None: ...
    @property
    def requires_approval(self) -> bool: ...
    @property
    def task(self) -> TaskUse: ...
    @property
    def task_after(self) -> float | None: ...
    @property
    def headers(self) -> dict[str, tuple[str, ...]]:
        """`Mcp-Param-…` header names in lower case, and the path of the argument each mirrors."""
        ...

    async def invoke(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]: ...


class Resource(Protocol):
    """A resource for `resources/list` and `resources/read`."""

    @property
    def uri(self) -> str: ...
    @property
    def definition(self) -> dict[str, Any]: ...

    async def read(self, context: Context) -> list[dict[str, Any]]: ...


class ResourceTemplate(Protocol):
    """Resources whose URIs match a template."""

    @property
    def uri_template(self) -> str: ...
    @property
    def definition(self) -> dict[str, Any]: ...

    def match(self, uri: str) -> dict[str, str] | None: ...
    async def read(
        self, uri: str, variables: dict[str, str], context: Context
    ) -> list[dict[str, Any]]: ...


class McpPrompt(Protocol):
    """A prompt for `prompts/list` and `prompts/get`."""

    @property
    def name(self) -> str: ...
    @property
    def definition(self) -> dict[str, Any]: ...

    async def render(self, arguments: dict[str, str], context: Context) -> dict[str, Any]: ...


Completer = Callable[[str, str, dict[str, str]], Awaitable[list[str]]]
"""Completes an argument: its name, what was typed so far, the arguments already chosen."""
