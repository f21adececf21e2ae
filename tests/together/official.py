"""What the official Python client needs: a way into the in-process door, and to follow tasks."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Literal

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client._transport import TransportStreams
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from clawkit import Session
from clawkit.tools.loader import load_server
from tests.processes import PATIENCE, ROOT
from tests.together.doors import EVERYTHING, GUARDED, IN_PROCESS, STDIO, command_of
from tests.validation import LEGACY, MODERN, Exchange, Message

LEGACY_MODE, AUTO = "legacy", "auto"
MODES = (LEGACY_MODE, MODERN, AUTO)


def connect(door: str, mode: str, address: str | None, **options: Any) -> Client:
    """The official client, about to come in through one of our doors."""
    if door == IN_PROCESS:
        server = in_process(LEGACY[-1] if mode == LEGACY_MODE else MODERN)
    elif door in (STDIO, GUARDED):
        command, *args = command_of(door)
        server = StdioServerParameters(command=command, args=args, cwd=ROOT)
    else:
        assert address is not None
        server = address
    return Client(server, mode=mode, read_timeout_seconds=PATIENCE, **options)


@asynccontextmanager
async def in_process(version: str) -> AsyncGenerator[TransportStreams]:
    """`handle_jsonrpc` behind the streams of a transport; every message is checked as it passes."""
    server, exchange, loop = (
        load_server(str(EVERYTHING)),
        Exchange(version),
        asyncio.get_running_loop(),
    )
    reply_to, replies = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    client_writes, requests = anyio.create_memory_object_stream[SessionMessage](math.inf)

    def post(message: Message) -> None:
        checked = jsonrpc_message_adapter.validate_python(exchange.passes("server", message))
        reply_to.send_nowait(SessionMessage(checked))

    session = Session(lambda message: loop.call_soon_threadsafe(post, message) and None)

    async def handle(message: Message) -> None:
        reply = await server.handle_jsonrpc(message, session)
        if reply is not None:
            post(reply)

    async def serve(group: anyio.abc.TaskGroup) -> None:
        async for item in requests:
            message = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
            group.start_soon(handle, exchange.passes("client", message))

    async with replies, reply_to, requests, client_writes, anyio.create_task_group() as group:
        group.start_soon(serve, group)
        yield replies, client_writes
        session.close()
        group.cancel_scope.cancel()


class _TaskParams(types.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


class _GetTask(types.Request[_TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: _TaskParams
    name_param: ClassVar[str | None] = "taskId"


class _UpdateTask(types.Request[_TaskParams, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: _TaskParams
    name_param: ClassVar[str | None] = "taskId"


class _Task(types.Result):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    task_id: str
    status: str
    questions: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


class _Started(types.Result):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    result_type: Literal["task"] = "task"
    task_id: str


class FollowTasks(ClientExtension):
    """The tasks extension for the official client, which has none: poll, and accept."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=_Started, resolve=self._follow)]

    async def _follow(self, started: _Started, context: ClaimContext) -> types.CallToolResult:
        ask = context.session.send_request
        params = _TaskParams(task_id=started.task_id)
        while (task := await ask(_GetTask(params=params), _Task)).status != "completed":
            self.seen.append(task.status)
            if task.status == "input_required":
                answers = {"input-1": {"action": "accept", "content": {}}}
                update = _TaskParams(task_id=started.task_id, input_responses=answers)
                await ask(_UpdateTask(params=update), types.EmptyResult)
        return types.CallToolResult.model_validate(task.result)
