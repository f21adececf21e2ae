"""A server of Python functions: the documented names on top of the one server object."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import cleandoc, isawaitable
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast, overload

import msgspec

from clawkit.errors import InvalidParamsError, SchemaError
from clawkit.tools.tool import ClawTool, FunctionTool, SdkMcpTool, ToolOptionsDict, claw_tool
from clawkit.wire import jsonrpc
from clawkit.wire.server import ServerCore
from clawkit.wire.session import Session

if TYPE_CHECKING:
    from clawkit.wire.http.endpoint import App, HttpAppOptions
    from clawkit.wire.http.uvicorn_server import HttpLimits

F = TypeVar("F", bound=Callable[..., Any])


class SdkMcpServerImpl(ServerCore):
    """An MCP server in your process: register tools, then open any of its three doors."""

    def register_tool(self, tool: SdkMcpTool | ClawTool[Any]) -> None:
        """Offer a tool; a second one of the same name takes its place."""
        if isinstance(tool, ClawTool):
            tool = tool.tool
        if isinstance(tool, FunctionTool) and tool.needs_instance:
            raise SchemaError(
                f"{tool.name} is a method: make an object of its class and register the object's"
            )
        if not isinstance(tool, SdkMcpTool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SchemaError(f"register_tool needs a tool; decorate {tool!r} with @claw_tool")
        self.add_tool(tool)

    def get_tool(self, name: str) -> SdkMcpTool | None:
        return cast("SdkMcpTool | None", self.tools.get(name))

    def list_tools(self) -> list[dict[str, Any]]:
        """The definitions that `tools/list` shows."""
        return [tool.definition for tool in self.tools.values()]

    @overload
    def tool(
        self,
        function: F,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Unpack[ToolOptionsDict],
    ) -> ClawTool[F]: ...
    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Unpack[ToolOptionsDict],
    ) -> Callable[[F], ClawTool[F]]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Decorator: `claw_tool` and `register_tool` in one."""

        def register(fn: Any) -> Any:
            decorated = claw_tool(**options)(fn)
            self.register_tool(decorated)
            return decorated

        return register if function is None else register(function)

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[dict[str, Any]] | None = None,
        annotations: dict[str, Any] | None = None,
        size: int | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[F], F]:
        """Decorator: the function is the resource at `uri`, or at every URI of a template."""
        if not isinstance(uri, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SchemaError('a resource needs a URI: @server.resource("notes://today")')
        more = {"title": title, "mimeType": mime_type, "annotations": annotations, "size": size}
        shown = _given(more, name=name, description=description, icons=icons, meta=meta)

        def register(function: F) -> F:
            from clawkit.tools.text_features import FunctionResource, FunctionTemplate

            definition = _described(function, shown)
            if "{" in uri:
                self.add_template(FunctionTemplate(uri, function, definition))
            else:
                self.add_resource(FunctionResource(uri, function, definition))
            return function

        return register

    @overload
    def prompt(self, function: Callable[..., Any], /) -> Callable[..., Any]: ...
    @overload
    def prompt(
        self,
        name: str | None = None,
        /,
        *,
        title: str | None = None,
        description: str | None = None,
        icons: list[dict[str, Any]] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[F], F]: ...
    def prompt(
        self,
        name: Any = None,
        /,
        *,
        title: str | None = None,
        description: str | None = None,
        icons: list[dict[str, Any]] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Any:
        """Decorator: the function renders the prompt; its parameters are the prompt's arguments."""
        shown = _given({"title": title}, description=description, icons=icons, meta=meta)

        def register(function: Any, called: str | None = None) -> Any:
            from clawkit.tools.text_features import FunctionPrompt

            self.add_prompt(FunctionPrompt(function, called, shown))
            return function

        return register(name) if callable(name) else partial(register, called=name)

    def completion(self, key: str) -> Callable[[F], F]:
        """Decorator: the function completes arguments of the prompt or template called `key`.

        It takes the argument's name, the text so far, and the arguments already chosen.
        """

        def register(function: F) -> F:
            self.add_completer(key, _completer(function))
            return function

        return register

    def serve_stdio(self) -> None:
        """Serve this process's stdin and stdout until end of input."""
        from clawkit.wire.stdio import serve_stdio

        serve_stdio(self)

    def serve_http(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        on_ready: Callable[[str], None] | None = None,
        limits: HttpLimits | None = None,
        **options: Unpack[HttpAppOptions],
    ) -> None:
        """Serve HTTP until interrupted; `on_ready` gets the address, `options` are `http_app`'s."""
        from clawkit.wire.http.uvicorn_server import serve_http

        serve_http(self, host, port, on_ready=on_ready, limits=limits, **options)

    def http_app(self, **options: Unpack[HttpAppOptions]) -> App:
        """An ASGI app that serves this server at `/mcp`, statelessly unless `sessions` is true.

        `hosts` are the host names it may be reached by, None for any; `origins` are further web
        pages that may call it. `authenticate` says who is calling, else the server's own hook.
        """
        from clawkit.wire.http.endpoint import http_app

        return http_app(self, **options)


def _given(fields: dict[str, Any], *, meta: Any, **more: Any) -> dict[str, Any]:
    """The fields of a definition that somebody gave a value."""
    every = {**fields, **more, "_meta": meta}
    return {key: value for key, value in every.items() if value is not None}


def _described(function: Callable[..., Any], definition: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": function.__name__}
    if function.__doc__:
        shown["description"] = cleandoc(function.__doc__)
    return {**shown, **definition}


def _completer(function: Callable[..., Any]) -> Callable[..., Any]:
    async def complete(name: str, value: str, chosen: dict[str, str]) -> list[str]:
        found = function(name, value, chosen)
        return list(await found if isawaitable(found) else found)

    return complete


Server = SdkMcpServerImpl
"""The plain name of the documented class."""


class SdkMcpServer(msgspec.Struct, frozen=True):
    """The name and version of an in-process server, as options announce it."""

    name: str
    version: str = "1.0.0"


class SdkMcpServerRegistry:
    """Routes a message to the server it is meant for."""

    def __init__(self) -> None:
        self._servers: dict[str, SdkMcpServerImpl] = {}
        self._sessions: dict[str, Session] = {}

    def register(self, server: SdkMcpServerImpl) -> None:
        """Add a server; a second one of the same name takes its place."""
        self._servers[server.name] = server
        self._sessions[server.name] = Session(strict=True)

    def get(self, server_name: str) -> SdkMcpServerImpl | None:
        return self._servers.get(server_name)

    def announcements(self) -> list[SdkMcpServer]:
        return [SdkMcpServer(s.name, s.version) for s in self._servers.values()]

    async def handle(self, server_name: str, request: dict[str, Any]) -> dict[str, Any] | None:
        """The reply of the server called `server_name`, or a JSON-RPC error if there is none."""
        server = self._servers.get(server_name)
        if server is None:
            known = ", ".join(self._servers) or "none"
            problem = InvalidParamsError(f"No server called {server_name!r}; there is {known}")
            return jsonrpc.failure(jsonrpc.reply_id(request), problem)
        return await server.handle_jsonrpc(request, self._sessions[server_name])
