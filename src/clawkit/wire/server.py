"""`ServerCore`: what an MCP server offers, and the one method that takes a transport's messages."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from clawkit.errors import (
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    ProtocolError,
    SettingsError,
)
from clawkit.wire import jsonrpc
from clawkit.wire.input_requests import InputRequired, StateSeal, find_input_required
from clawkit.wire.jsonrpc import Message
from clawkit.wire.methods import ROUTES, Route, input_required
from clawkit.wire.revisions import APPS, META_SERVER, TASKS, downgrade_result
from clawkit.wire.session import McpRequest, Principal, RunningRequest, Send, Session
from clawkit.wire.subscriptions import Hub

if TYPE_CHECKING:
    import asyncio

    from clawkit.wire.calls import Calls, Limits, Workers
    from clawkit.wire.features import Completer, McpPrompt, Resource, ResourceTemplate, Tool
    from clawkit.wire.tasks import Tasks, TaskStore

Item = TypeVar("Item")
Reply = Message | None | Coroutine[Any, Any, Message | None]
"""A reply, None for no reply, or a coroutine that returns one and needs an event loop."""


class ServerObserver(Protocol):
    """Sees each message that a server receives, and its reply."""

    def received(self, message: Message) -> None: ...
    def replied(self, reply: Reply) -> Reply:
        """Return the reply to send: the same, or a coroutine around it."""
        ...


class ServerCore:
    """An MCP server of both eras. It knows no transport: transports call `begin` or `handle`."""

    def __init__(
        self,
        name: str,
        version: str,
        *,
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: list[dict[str, Any]] | None = None,
        state: Any = None,
        limits: Limits | None = None,
        page_size: int = 200,
        ttl_ms: int = 0,
        cache_scope: str = "private",
        secret: bytes | None = None,
        task_store: TaskStore | None = None,
        authenticate: Callable[..., Any] | None = None,
    ) -> None:
        if not isinstance(name, str) or not isinstance(version, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SettingsError(f"a server needs a name and a version, not {name!r}, {version!r}")
        self.authenticate = authenticate
        self.observer: ServerObserver | None = None
        self.name = name
        self.version = version
        self.instructions = instructions
        self.state = state
        self.page_size = page_size
        self.tools: dict[str, Tool] = {}
        self.resources: dict[str, Resource] = {}
        self.templates: dict[str, ResourceTemplate] = {}
        self.prompts: dict[str, McpPrompt] = {}
        self.completers: dict[str, Completer] = {}
        self.apps: dict[str, Resource] = {}
        self.app_of: dict[str, str] = {}
        self.hub = Hub()
        self.seal = StateSeal(secret)
        self.info: dict[str, Any] = {"name": name, "version": version}
        extra = {
            "title": title,
            "description": description,
            "websiteUrl": website_url,
            "icons": icons,
        }
        self.info.update({key: value for key, value in extra.items() if value is not None})
        self._cache = {"ttlMs": ttl_ms, "cacheScope": cache_scope}
        self._limits = limits
        self._task_store = task_store
        self._features = frozenset({"tools"})
        self._background: set[asyncio.Task[Any]] = set()
        self._sessionless = Session(strict=True, remembers=False)

    @cached_property
    def calls(self) -> Calls:
        from clawkit.wire.calls import Calls, Limits

        return Calls(self._limits or Limits())

    @cached_property
    def tasks(self) -> Tasks:
        from clawkit.wire.tasks import Tasks

        return Tasks(self.hub, self._task_store)

    @cached_property
    def workers(self) -> Workers:
        from clawkit.wire.calls import Limits, Workers

        return Workers((self._limits or Limits()).threads)

    # These dicts are replaced, never changed in place: a worker thread may add a tool while the
    # event loop lists them.

    def add_tool(self, tool: Tool) -> None:
        """Add a tool, or replace the one of the same name."""
        self.tools = {**self.tools, tool.name: tool}
        if tool.task != "never":
            self._offer("tasks")
        self.hub.list_changed("tools")

    def remove_tool(self, name: str) -> None:
        if name in self.tools:
            self.tools = _without(self.tools, name)
            self.hub.list_changed("tools")

    def tools_for(self, principal: Principal | None) -> dict[str, Tool]:  # noqa: ARG002 - for those who override it
        """The tools that this caller can list and call; subclasses may offer some callers more."""
        return self.tools

    def add_resource(self, resource: Resource) -> None:
        self.resources = {**self.resources, resource.uri: resource}
        self._offer("resources")
        self.hub.list_changed("resources")

    def add_template(self, template: ResourceTemplate) -> None:
        self.templates = {**self.templates, template.uri_template: template}
        self._offer("resources")
        self.hub.list_changed("resources")

    def add_app(self, page: Resource, *tools: str) -> None:
        """Add a page that shows the results of `tools` (MCP Apps), for clients that support it."""
        self.apps = {**self.apps, page.uri: page}
        self.app_of = {**self.app_of, **dict.fromkeys(tools, page.uri)}

    def remove_resource(self, uri: str) -> None:
        if uri in self.resources or uri in self.templates:
            self.resources = _without(self.resources, uri)
            self.templates = _without(self.templates, uri)
            self.hub.list_changed("resources")

    def add_prompt(self, prompt: McpPrompt) -> None:
        self.prompts = {**self.prompts, prompt.name: prompt}
        self._offer("prompts")
        self.hub.list_changed("prompts")

    def remove_prompt(self, name: str) -> None:
        if name in self.prompts:
            self.prompts = _without(self.prompts, name)
            self.hub.list_changed("prompts")

    def add_completer(self, key: str, completer: Completer) -> None:
        """Complete arguments of the prompt of this name, or of this resource template."""
        self.completers[key] = completer
        self._offer("completions")

    def start_background(self, work: Coroutine[Any, Any, Item]) -> asyncio.Task[Item]:
        """Start work that may outlive its call, and ends with the connection."""
        import asyncio

        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def running_tasks(self) -> list[asyncio.Task[Any]]:
        """MCP tasks and background work that are not done yet."""
        tasks = self.tasks.running() if "tasks" in self.__dict__ else []
        return [*tasks, *self._background]

    def end_tasks(self) -> list[asyncio.Task[Any]]:
        """Cancel MCP tasks and background work; returns what to wait for."""
        tasks = self.tasks.end() if "tasks" in self.__dict__ else []
        background = list(self._background)
        for task in background:
            task.cancel()
        return [*tasks, *background]

    def resource_updated(self, uri: str) -> None:
        """Notify the clients that subscribed to this resource."""
        self.hub.resource_updated(uri)

    def succeed(self, old: ServerCore) -> None:
        """Take over the clients of an older version of this server.

        Their subscriptions, request states, tasks and known features stay valid.
        """
        self.hub, self.seal = old.hub, old.seal
        if "tasks" in old.__dict__:
            self.__dict__["tasks"] = old.tasks
        self._features |= old.features()

    def features(self) -> frozenset[str]:
        """The features that clients may use. One stays when its last item is removed."""
        return self._features

    def _offer(self, feature: str) -> None:
        self._features |= {feature}

    def capabilities(
        self, *, modern: bool, notices: bool, subscribe: bool, apps: bool = False
    ) -> dict[str, Any]:
        """The capabilities to declare.

        `notices` and `subscribe` say whether the connection can carry change notices and
        subscriptions, `apps` whether the client shows pages of MCP Apps.
        """
        features = self.features()
        changes: dict[str, Any] = {"listChanged": True} if notices else {}
        found: dict[str, Any] = {"tools": dict(changes)}
        if "resources" in features:
            found["resources"] = {**changes, **({"subscribe": True} if subscribe else {})}
        if "prompts" in features:
            found["prompts"] = dict(changes)
        if "completions" in features:
            found["completions"] = {}
        if notices:
            found["logging"] = {}
        if modern and "tasks" in features:
            found["extensions"] = {TASKS: {}}
        if apps and self.apps:
            found.setdefault("resources", {})
            found["extensions"] = {**found.get("extensions", {}), APPS: {}}
        return found

    def begin(
        self,
        message: Message,
        session: Session,
        send: Send | None = None,
        principal: Principal | None = None,
    ) -> Reply:
        """Handle one well-formed message; the reply is a coroutine only if it has to wait."""
        observer = self.observer
        if observer is None:
            return self._begin(message, session, send, principal)
        observer.received(message)
        return observer.replied(self._begin(message, session, send, principal))

    def _begin(
        self, message: Message, session: Session, send: Send | None, principal: Principal | None
    ) -> Reply:
        method = message.get("method")
        if method is None:
            session.resolve(message)
            return None
        if "id" not in message:
            self._notified(method, message.get("params") or {}, session)
            return None
        try:
            request = McpRequest(message, session, send, principal)
            if request.id in session.running:
                raise InvalidRequestError(f"Invalid request: id {request.id!r} is already in use")
            route = self._route(request)
            if not route.awaits:
                result = route.handler(self, request)
                return jsonrpc.success(request.id, self._complete(request, route, result))
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return jsonrpc.failure(message["id"], _protocol_error(method, error))
        running = RunningRequest()
        if session.remembers:
            session.running[request.id] = running
        return self._work(request, route, running)

    async def handle(
        self, message: Message, session: Session, send: Send | None = None
    ) -> Message | None:
        """Like `begin`, for callers that have an event loop anyway."""
        reply = self.begin(message, session, send)
        return await reply if isinstance(reply, Coroutine) else reply

    async def handle_jsonrpc(
        self, request: Message, session: Session | None = None
    ) -> Message | None:
        """The in-process transport: takes a message, returns its reply, None for a notification.

        Without a session, a tool's failure is the JSON-RPC error -32603 and nothing is remembered.
        Pass the same `Session` with every message to have `initialize` and
        `notifications/cancelled` count, and give it a `send` to get progress and questions.
        """
        try:
            message = jsonrpc.check(request)
        except ProtocolError as error:
            return jsonrpc.failure(jsonrpc.reply_id(request), error)
        if session is None:
            return await self.handle(message, self._sessionless)
        reply = self.begin(message, session, session.send)
        if not isinstance(reply, Coroutine):
            return reply
        import asyncio

        # Its own task, so that `notifications/cancelled` ends the call and not the caller.
        answer = await asyncio.get_running_loop().create_task(reply)
        return answer or jsonrpc.cancelled(request["id"])

    async def handle_line(self, line: bytes, session: Session | None = None) -> bytes | None:
        """`handle_jsonrpc` for bytes."""
        message, problem = jsonrpc.decode_or_error(line)
        reply = await self.handle_jsonrpc(message, session) if message is not None else problem
        return None if reply is None else jsonrpc.encode_reply(reply)

    def _route(self, request: McpRequest) -> Route:
        route = ROUTES.get(request.method)
        if route is None or not (route.modern if request.modern else route.legacy):
            if request.method == "server/discover":
                raise InvalidParamsError("Invalid params: _meta must carry the protocol version")
            raise MethodNotFoundError(f"Method not found: {request.method[:100]}")
        if not self._offers(route.feature, request):
            raise MethodNotFoundError(f"Method not found: {request.method}; none are offered here")
        return route

    def _offers(self, feature: str | None, request: McpRequest) -> bool:
        if feature is None or feature in self.features():
            return True
        # Pages of MCP Apps are resources too, for clients that show them.
        return feature == "resources" and bool(self.apps) and request.can_show()

    async def _work(
        self, request: McpRequest, route: Route, running: RunningRequest
    ) -> Message | None:
        import asyncio

        running.task = asyncio.current_task()
        try:
            if running.cancelled:
                return None
            reply = await self._reply(request, route, running)
            return None if running.cancelled else reply
        except asyncio.CancelledError:
            if running.cancelled and running.task is not None:
                running.task.uncancel()
                return None
            running.cancelled = True
            raise
        finally:
            running.over = True
            request.session.running.pop(request.id, None)

    async def _reply(self, request: McpRequest, route: Route, running: RunningRequest) -> Message:
        """The reply to a request, also if its handler fails."""
        try:
            try:
                result = await route.handler(self, request, running)
                return jsonrpc.success(request.id, self._complete(request, route, result))
            except (InputRequired, BaseExceptionGroup) as stop:
                asking = find_input_required(stop)
                if asking is None:
                    raise InternalError("Internal error") from stop
                return jsonrpc.success(request.id, input_required(self, request, asking))
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return jsonrpc.failure(request.id, _protocol_error(request.method, error))

    def _complete(
        self, request: McpRequest, route: Route, result: dict[str, Any]
    ) -> dict[str, Any]:
        """Add or convert the fields that the request's revision demands."""
        if not request.modern:
            return downgrade_result(result, request.session.version)
        result.setdefault("resultType", "complete")
        if route.cacheable:
            result.update(self._cache)
        result["_meta"] = {META_SERVER: self.info, **result.get("_meta", {})}
        return result

    def _notified(self, method: str, params: dict[str, Any], session: Session) -> None:
        if method == "notifications/cancelled":
            request_id = params.get("requestId")
            if jsonrpc.valid_id(request_id):
                reason = str(params.get("reason", ""))
                session.cancel(request_id, reason)  # pyright: ignore[reportArgumentType]


def _without(items: dict[str, Item], key: str) -> dict[str, Item]:
    return {name: item for name, item in items.items() if name != key}


def _protocol_error(method: str, error: BaseException) -> ProtocolError:
    """The error to send: itself if it is meant for clients, else a log entry and no details."""
    if isinstance(error, ProtocolError):
        return error
    import logging

    logging.getLogger("clawkit.wire").error("%s failed", method, exc_info=error)
    return InternalError("Internal error")
