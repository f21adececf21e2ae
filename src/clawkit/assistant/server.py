"""The MCP server of the assistant: one tool and nothing else, ready before anything is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clawkit.errors import InternalError, StoreError
from clawkit.wire.features import TaskUse
from clawkit.wire.server import Server

if TYPE_CHECKING:
    from clawkit.assistant.definition import Brand
    from clawkit.assistant.office import Office
    from clawkit.assistant.sessions.tasks import StoredTasks
    from clawkit.wire.context import Context
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
        self._office: Office | None = None

    @property
    def office(self) -> Office:
        if self._office is None:
            from clawkit.assistant.office import Office

            self._office = Office()
        return self._office

    @property
    def task_after(self) -> float | None:
        """After how many seconds a client with the tasks extension gets a task instead."""
        return self.office.task_after()

    async def invoke(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        from clawkit.assistant.order import take_order

        return await take_order(self._brand, self.office, arguments, context)


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
            from clawkit.assistant.sessions.tasks import StoredTasks

            self._store = StoredTasks(Config().store_file)
        return self._store


def order_server(
    brand: Brand, version: str, tasks: LateTasks | None = None, kind: type[Server] = Server
) -> Server:
    """The server that `mcp-server` runs."""
    server = kind(brand.name, version, title=brand.product, task_store=tasks or LateTasks())
    server.add_tool(OrderTool(brand))
    return server
