"""The three doors of a server, each as a way to send raw messages and to get raw ones back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx2
import pytest

from clawkit import Session
from clawkit.tools.loader import load_server
from tests.processes import PATIENCE, ROOT, guarding, serving, stdio_server
from tests.validation import MODERN, Message

EVERYTHING = ROOT / "tests" / "samples" / "everything.py"
IN_PROCESS, STDIO, HTTP, SESSIONS = DOORS = ("in-process", "stdio", "http", "http-sessions")
GUARDED = "guarded"
"""The stdio door, behind a guard: a client must not feel the difference."""
VERSION_HEADER, SESSION_HEADER = "mcp-protocol-version", "mcp-session-id"
NAME_PARAMETER = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

Arrived = Callable[[Message], None]


class Door(Protocol):
    """One open connection."""

    async def deliver(self, message: Message) -> None: ...
    async def hang_up(self, request_id: int) -> None:
        """Stop waiting for one request, as a client of this transport and era does."""
        ...


class Receiver(Protocol):
    """Who a connection belongs to: it gets the messages, and hears when the connection breaks."""

    def arrived(self, message: Message) -> None: ...
    def broke(self, problem: BaseException) -> None: ...


class _Tasks:
    """Work in the background that ends with its connection."""

    def __init__(self, receiver: Receiver) -> None:
        self._running: set[asyncio.Task[None]] = set()
        self._receiver = receiver

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            self._receiver.broke(problem)

    async def close(self) -> None:
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


class _InProcess:
    """`handle_jsonrpc` with a session, on a server of its own."""

    def __init__(self, arrived: Arrived, tasks: _Tasks) -> None:
        loop = asyncio.get_running_loop()
        self._arrived = arrived
        self._tasks = tasks
        self._server = load_server(str(EVERYTHING))
        self._session = Session(lambda m: loop.call_soon_threadsafe(arrived, _plain(m)) and None)

    async def deliver(self, message: Message) -> None:
        self._tasks.start(self._handle(_plain(message)))

    async def _handle(self, message: Message) -> None:
        reply = await self._server.handle_jsonrpc(message, self._session)
        if reply is not None:
            self._arrived(_plain(reply))

    async def hang_up(self, request_id: int) -> None:
        await self.deliver(cancelled(request_id))


class _Stdio:
    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send

    async def deliver(self, message: Message) -> None:
        self._send(message)

    async def hang_up(self, request_id: int) -> None:
        await self.deliver(cancelled(request_id))


class HttpDoor:
    def __init__(
        self,
        client: httpx2.AsyncClient,
        address: str,
        version: str,
        arrived: Arrived,
        tasks: _Tasks,
    ) -> None:
        self._client = client
        self._address = address
        self._version = version
        self._arrived = arrived
        self._tasks = tasks
        self._session: str | None = None
        self._asking: dict[Any, asyncio.Task[None]] = {}
        self.statuses: dict[Any, int] = {}

    async def deliver(self, message: Message) -> None:
        if "id" in message and "method" in message:
            self._asking[message["id"]] = self._tasks.start(self._ask(message))
            return
        response = await self._client.post(
            self._address, json=message, headers=self._headers(message)
        )
        assert (response.status_code, response.content) == (202, b""), response.text
        if message.get("method") == "notifications/initialized":
            opened = asyncio.get_running_loop().create_future()
            self._tasks.start(self._listen(opened))
            await asyncio.wait_for(opened, PATIENCE)

    async def hang_up(self, request_id: int) -> None:
        """In the modern era by closing the response stream, before by a notification."""
        if self._version == MODERN:
            self._asking.pop(request_id).cancel()
        else:
            await self.deliver(cancelled(request_id))

    async def close(self) -> None:
        if self._session is not None:
            response = await self._client.delete(self._address, headers=self._headers({}))
            assert response.status_code == 204

    def _headers(self, message: Message) -> dict[str, str]:
        headers = {"accept": "application/json, text/event-stream"}
        if self._session is not None:
            headers[SESSION_HEADER] = self._session
        method = message.get("method", "")
        # The header came with 2025-06-18; without it a request counts as 2025-03-26.
        if self._version == MODERN:
            return headers | self._modern_headers(method, message.get("params", {}))
        if method != "initialize" and self._version != "2025-03-26":
            headers[VERSION_HEADER] = self._version
        return headers

    def _modern_headers(self, method: str, params: dict[str, Any]) -> dict[str, str]:
        arguments = params.get("arguments") or {}
        found = {
            VERSION_HEADER: self._version,
            "mcp-method": method,
            "mcp-name": params.get(NAME_PARAMETER.get(method, "taskId")),
            "mcp-param-region": arguments.get("region") if isinstance(arguments, dict) else None,
        }
        return {name: value for name, value in found.items() if isinstance(value, str) and value}

    async def _ask(self, message: Message) -> None:
        headers = self._headers(message)
        async with self._client.stream(
            "POST", self._address, json=message, headers=headers
        ) as response:
            self.statuses[message["id"]] = response.status_code
            if message["method"] == "initialize":
                self._session = response.headers.get(SESSION_HEADER)
            await self._read(response)

    async def _listen(self, opened: asyncio.Future[None]) -> None:
        headers = {**self._headers({}), "accept": "text/event-stream"}
        async with self._client.stream("GET", self._address, headers=headers) as response:
            assert response.status_code == 200
            opened.set_result(None)
            await self._read(response)

    async def _read(self, response: httpx2.Response) -> None:
        if response.headers["content-type"] == "application/json":
            self._arrived(json.loads(await response.aread()))
            return
        assert response.headers["content-type"] == "text/event-stream"
        async for line in response.aiter_lines():
            if line.startswith("data:"):
                self._arrived(json.loads(line.removeprefix("data:")))


@asynccontextmanager
async def open_door(
    door: str, version: str, receiver: Receiver, address: str | None
) -> AsyncGenerator[Door]:
    """A connection of a raw client; `address` is where the HTTP doors are."""
    tasks = _Tasks(receiver)
    arrived = receiver.arrived
    try:
        if door == IN_PROCESS:
            yield _InProcess(arrived, tasks)
        elif door == STDIO:
            with stdio_server(*serving(EVERYTHING)) as process:
                tasks.start(_pump(process.receive, arrived))
                yield _Stdio(process.send)
        else:
            assert address is not None
            async with httpx2.AsyncClient(timeout=PATIENCE, verify=False) as client:
                http = HttpDoor(client, address, version, arrived, tasks)
                yield http
                await http.close()
                await tasks.close()
    finally:
        await tasks.close()


def command_of(door: str) -> tuple[str, ...]:
    """What starts the server of a door that is a process."""
    return guarding(*serving(EVERYTHING)) if door == GUARDED else serving(EVERYTHING)


def address_of(door: str, request: pytest.FixtureRequest) -> str | None:
    """Where a door is, if it has an address: on the server that the tests of a module share."""
    shared = {HTTP: "stateless_address", SESSIONS: "sessions_address"}
    return request.getfixturevalue(shared[door]) if door in shared else None


async def _pump(receive: Callable[[], Message], arrived: Arrived) -> None:
    while True:
        try:
            arrived(await asyncio.to_thread(receive))
        except EOFError:
            return


def cancelled(request_id: int) -> Message:
    params = {"requestId": request_id, "reason": "no longer wanted"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def _plain(message: Message) -> Message:
    """What in-process callers exchange must be JSON too."""
    return json.loads(json.dumps(message))
