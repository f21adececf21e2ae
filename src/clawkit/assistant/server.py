"""The MCP server of the assistant: the order tool, as the documents define it.

What the first order needs is imported by it: a client that only lists the tools does not wait.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from types import CoroutineType
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import InternalError, StoreError
from clawkit.wire.features import TaskUse
from clawkit.wire.server import ServerCore
from clawkit.wire.session import Context, Principal


class Brand:
    """The name the program was started by, and what is served under it."""

    __slots__ = ("definition", "name", "product", "with_media")

    def __init__(self, name: str, product: str, *, with_media: bool) -> None:
        self.name = name
        self.product = product
        self.with_media = with_media
        file = Path(__file__).with_name(f"order_{name}.json")
        self.definition: dict[str, Any] = msgspec.json.decode(file.read_bytes())


OPENCLAW = Brand("openclaw", "OpenClaw", with_media=True)
CLAWDBOT = Brand("clawdbot", "Clawdbot", with_media=False)


def brand_of(program: str) -> Brand:
    """What a program of this name serves."""
    return CLAWDBOT if program == "clawdbot" else OPENCLAW


if TYPE_CHECKING:
    from clawkit.assistant.assistant import ReloadingAssistant
    from clawkit.assistant.deferred_orders import DeferredOrders
    from clawkit.assistant.sessions.task_store import StoredTasks
    from clawkit.wire.tasks import TaskRecord


class OrderTool:
    """`order_openclaw`: what is behind it is loaded by the first order."""

    timeout: float | None = None
    concurrency: int | None = None
    requires_approval = False
    task: TaskUse = "allowed"
    headers: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - never changed; the core reads it

    def __init__(self, brand: Brand) -> None:
        self.name = str(brand.definition["name"])
        self.definition = brand.definition
        self._brand = brand
        self._deferred: dict[str, DeferredOrders] = {}

    @cached_property
    def reloading(self) -> ReloadingAssistant:
        from clawkit.assistant.assistant import ReloadingAssistant

        return ReloadingAssistant()

    def _deferred_of(self, principal: Principal | None) -> DeferredOrders:
        """The orders that outlive their calls, of each caller their own."""
        from clawkit.assistant.deferred_orders import DeferredOrders

        caller = "" if principal is None else principal.id
        if caller not in self._deferred:
            self._deferred[caller] = DeferredOrders()
        return self._deferred[caller]

    @property
    def task_after(self) -> float | None:
        """After how many seconds a client with the tasks extension gets a task instead."""
        return self.reloading.task_after()

    def invoke(
        self, arguments: dict[str, Any], context: Context
    ) -> CoroutineType[Any, Any, dict[str, Any]]:
        from clawkit.assistant.order import take_order

        deferred = self._deferred_of(context.principal)
        return take_order(self._brand, self.reloading, deferred, arguments, context)


class LateTasks:
    """The task store of the sessions' database, opened when the first order becomes a task."""

    def __init__(self) -> None:
        self._store: StoredTasks | None = None

    def save(self, record: TaskRecord) -> None:
        self._opened().save(record)

    def load(self, task_id: str) -> TaskRecord | None:
        try:
            return self._opened().load(task_id)
        except StoreError as error:
            raise InternalError(str(error)) from None

    def close(self) -> None:
        """Write down what is not written yet."""
        if self._store is not None:
            self._store.close()

    def _opened(self) -> StoredTasks:
        if self._store is None:
            from clawkit.assistant.config import Config
            from clawkit.assistant.sessions.task_store import StoredTasks

            self._store = StoredTasks(Config().store_file)
        return self._store


def order_server(brand: Brand, version: str, tasks: LateTasks | None = None) -> ServerCore:
    """The server that `mcp-server` runs."""
    server = ServerCore(brand.name, version, title=brand.product, task_store=tasks or LateTasks())
    server.add_tool(OrderTool(brand))
    return server
