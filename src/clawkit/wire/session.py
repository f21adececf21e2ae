"""A client's connection (`Session`), a request on it (`McpRequest`), and who sent it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import InvalidParamsError, ToolExecutionError, UnsupportedVersionError
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message, RequestId
from clawkit.wire.revisions import (
    APP_TYPE,
    APPS,
    META_CAPABILITIES,
    META_VERSION,
    MODERN,
    NEWEST_LEGACY,
    TASKS,
)

if TYPE_CHECKING:
    import asyncio

Send = Callable[[Message], None]
"""Delivers a message to the client; safe to call from any thread."""


class Principal(msgspec.Struct, frozen=True):
    """The authenticated caller of an HTTP request."""

    id: str
    scopes: frozenset[str] = frozenset()
    data: Any = None


class RunningRequest:
    """A request in progress, which can be cancelled.

    `cancelled` says that the client does not want the reply, for the `reason` it gave; `over` that
    no more progress or log messages may be sent for it.
    """

    __slots__ = ("cancelled", "over", "reason", "task")

    def __init__(self) -> None:
        self.task: asyncio.Task[Any] | None = None
        self.cancelled = False
        self.over = False
        self.reason = ""

    def cancel(self, reason: str = "") -> None:
        self.cancelled = self.over = True
        self.reason = reason
        if self.task is not None:
            self.task.cancel()


class Session:
    """The state of one connection. The modern era uses only `running`.

    `strict` turns a tool's failure into a JSON-RPC error, as in-process callers expect it.
    `notices` says that change notices can reach the client, `approved` that a person has approved
    the calls already. A session that does not `remember` is shared by callers without one: no
    message changes it.
    """

    def __init__(
        self,
        send: Send | None = None,
        *,
        id: str | None = None,
        version: str = NEWEST_LEGACY,
        strict: bool = False,
        approved: bool = False,
        principal: Principal | None = None,
        notices: bool | None = None,
        remembers: bool = True,
    ) -> None:
        self.remembers = remembers
        self.send = send
        self.notices = send is not None if notices is None else notices
        self.id = id
        self.version = version
        self.strict = strict
        self.approved = approved
        self.principal = principal
        self.client: dict[str, Any] = {}
        self.capabilities: dict[str, Any] = {}
        self.log_level = "info"
        self.subscribed: set[str] = set()
        self.running: dict[RequestId, RunningRequest] = {}
        self._asked: dict[str, asyncio.Future[Any]] = {}

    async def ask(self, method: str, params: dict[str, Any], send: Send) -> Any:
        """Send the client a request, as the handshake era allows, and wait for its result."""
        import asyncio
        import secrets

        request_id = f"claw-{secrets.token_urlsafe(12)}"
        answer = asyncio.get_running_loop().create_future()
        self._asked[request_id] = answer
        try:
            send(jsonrpc.request(request_id, method, params))
            return await answer
        except asyncio.CancelledError:
            send(jsonrpc.notification("notifications/cancelled", {"requestId": request_id}))
            raise
        finally:
            del self._asked[request_id]

    def resolve(self, response: Message) -> None:
        """Pass a response to the `ask` that waits for it; an unexpected one is dropped."""
        answer = self._asked.get(str(response.get("id")))
        if answer is None or answer.done():
            return
        if "error" in response:
            reason = jsonrpc.as_object(response["error"]) or {}
            text = reason.get("message", "no reason given")
            answer.set_exception(ToolExecutionError(f"The client refused: {text}"))
        else:
            answer.set_result(response["result"])

    def cancel(self, request_id: RequestId, reason: str = "") -> None:
        running = self.running.get(request_id)
        if running is not None:
            running.cancel(reason)

    def close(self) -> None:
        """Cancel all running requests."""
        for running in list(self.running.values()):
            running.cancel()


class McpRequest:
    """One request: its parameters, era, revision, client capabilities and caller."""

    __slots__ = (
        "capabilities",
        "id",
        "meta",
        "method",
        "modern",
        "params",
        "principal",
        "send",
        "session",
        "subject",
    )

    def __init__(
        self,
        message: Message,
        session: Session,
        send: Send | None,
        principal: Principal | None = None,
    ) -> None:
        self.principal = principal or session.principal
        self.subject: tuple[str, dict[str, Any]] | None = None
        self.id: RequestId = message["id"]
        self.method: str = message["method"]
        self.params: dict[str, Any] = message.get("params") or {}
        self.session = session
        self.send = send
        meta = jsonrpc.as_object(self.params.get("_meta") or {})
        if meta is None:
            raise InvalidParamsError("Invalid params: _meta must be an object")
        self.meta = meta
        self.modern = META_VERSION in self.meta
        if self.modern:
            self.capabilities = modern_capabilities(self.meta)
        else:
            self.capabilities = session.capabilities

    @property
    def owner(self) -> str | None:
        """The caller's id: tasks and states of one principal are hidden from others."""
        return self.principal.id if self.principal is not None else None

    @property
    def version(self) -> str:
        return MODERN if self.modern else self.session.version

    def can_task(self) -> bool:
        """Whether this request declares the tasks extension."""
        return self.modern and TASKS in _extensions(self.capabilities)

    def can_show(self) -> bool:
        """Whether the client shows the pages of MCP Apps."""
        return shows_apps(self.capabilities)


def shows_apps(capabilities: dict[str, Any]) -> bool:
    """Whether these client capabilities include pages of MCP Apps."""
    declared = jsonrpc.as_object(_extensions(capabilities).get(APPS))
    types = (declared or {}).get("mimeTypes")
    return isinstance(types, list) and APP_TYPE in types


def _extensions(capabilities: dict[str, Any]) -> dict[str, Any]:
    return jsonrpc.as_object(capabilities.get("extensions")) or {}


def modern_capabilities(meta: dict[str, Any]) -> dict[str, Any]:
    """The client capabilities in a modern `_meta`; raises if its version is not supported."""
    version = meta.get(META_VERSION)
    if type(version) is not str:
        raise InvalidParamsError(f"Invalid params: _meta[{META_VERSION!r}] must be a string")
    if version != MODERN:
        raise UnsupportedVersionError(
            f"Unsupported protocol version {version[:40]!r}",
            data={"supported": [MODERN], "requested": version},
        )
    capabilities = jsonrpc.as_object(meta.get(META_CAPABILITIES))
    if capabilities is None:
        raise InvalidParamsError(f"Invalid params: _meta[{META_CAPABILITIES!r}] must be an object")
    return capabilities
