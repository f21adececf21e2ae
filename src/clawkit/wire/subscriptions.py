"""Change notices and their subscribers: `subscriptions/listen` streams and legacy sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import InvalidParamsError, InvalidRequestError, MissingCapabilityError
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import RequestId
from clawkit.wire.revisions import META_SUBSCRIPTION, TASKS
from clawkit.wire.session import McpRequest, Send, Session

if TYPE_CHECKING:
    from collections.abc import Collection

LISTS = {
    "tools": "toolsListChanged",
    "resources": "resourcesListChanged",
    "prompts": "promptsListChanged",
}


Visible = Callable[[McpRequest, str], bool]
"""Whether the task of this id belongs to the caller of this request."""


class Listener:
    """A subscriber, and the notices it wants."""

    def __init__(
        self,
        send: Send,
        *,
        lists: Collection[str] = (),
        uris: Collection[str] = (),
        tasks: Collection[str] = (),
        subscription: RequestId | None = None,
    ) -> None:
        self.lists = lists
        self.uris = uris
        self.tasks = tasks
        self._send = send
        self._subscription = subscription
        self.close: Callable[[], None] = lambda: None

    def tell(self, method: str, params: dict[str, Any]) -> None:
        if self._subscription is not None:
            params = {**params, "_meta": {META_SUBSCRIPTION: self._subscription}}
        self._send(jsonrpc.notification(method, params))


class Hub:
    """All listeners of one server."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._sessions: dict[Session, Listener] = {}

    def join(
        self,
        session: Session,
        send: Send,
        features: Collection[str],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Subscribe a legacy client to the lists it knows and the resources it subscribed to.

        `close` ends what was opened only to listen.
        """
        self.leave(session)
        lists = tuple(kind for kind in LISTS if kind in features)
        self._sessions[session] = Listener(send, lists=lists, uris=session.subscribed)
        self._sessions[session].close = close
        self._listeners.append(self._sessions[session])

    def leave(self, session: Session) -> None:
        listener = self._sessions.pop(session, None)
        if listener is not None:
            self._listeners.remove(listener)

    def list_changed(self, kind: str) -> None:
        for listener in list(self._listeners):
            if kind in listener.lists:
                listener.tell(f"notifications/{kind}/list_changed", {})

    def resource_updated(self, uri: str) -> None:
        for listener in list(self._listeners):
            if uri in listener.uris:
                listener.tell("notifications/resources/updated", {"uri": uri})

    def task_changed(self, task_id: str, task: dict[str, Any]) -> None:
        for listener in list(self._listeners):
            if task_id in listener.tasks:
                listener.tell("notifications/tasks", task)

    def close(self) -> None:
        """End every stream that waits for notices: the server is about to go."""
        for listener in list(self._listeners):
            listener.close()

    async def listen(
        self, request: McpRequest, features: Collection[str], visible: Visible | None
    ) -> dict[str, Any]:
        """Serve one `subscriptions/listen`: acknowledge, deliver, return when it is closed."""
        import asyncio

        if request.send is None:
            raise InvalidRequestError("Invalid request: this connection cannot carry notices")
        listener, granted = _listener_for(request, request.send, features, visible)
        closed = asyncio.get_running_loop().create_future()
        listener.close = lambda: None if closed.done() else closed.set_result(None)
        listener.tell("notifications/subscriptions/acknowledged", {"notifications": granted})
        self._listeners.append(listener)
        try:
            await closed
        finally:
            self._listeners.remove(listener)
        return {"_meta": {META_SUBSCRIPTION: request.id}}


def _listener_for(
    request: McpRequest, send: Send, features: Collection[str], visible: Visible | None
) -> tuple[Listener, dict[str, Any]]:
    wanted = jsonrpc.as_object(request.params.get("notifications"))
    if wanted is None:
        raise InvalidParamsError("Invalid params: notifications must be an object")
    uris = _strings(wanted, "resourceSubscriptions") if "resources" in features else []
    tasks = _strings(wanted, "taskIds")
    if tasks and not request.can_task():
        raise MissingCapabilityError("This needs the tasks extension", {"extensions": {TASKS: {}}})
    tasks = [task for task in tasks if visible is not None and visible(request, task)]
    lists = [
        kind for kind, field in LISTS.items() if kind in features and wanted.get(field) is True
    ]
    granted: dict[str, Any] = {LISTS[kind]: True for kind in lists}
    if uris:
        granted["resourceSubscriptions"] = uris
    if tasks:
        granted["taskIds"] = tasks
    listener = Listener(
        send, lists=lists, uris=set(uris), tasks=set(tasks), subscription=request.id
    )
    return listener, granted


def _strings(wanted: dict[str, Any], field: str) -> list[str]:
    values: Any = wanted.get(field) or []
    try:
        return msgspec.convert(values, list[str])
    except msgspec.ValidationError:
        raise InvalidParamsError(f"Invalid params: {field} must be a list of strings") from None
