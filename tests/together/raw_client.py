"""A client that speaks plain messages in any revision, and has every one of them checked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.processes import PATIENCE
from tests.together.doors import Door, open_door
from tests.validation import MODERN, Exchange, Message

META = "io.modelcontextprotocol/"
TASKS = f"{META}tasks"
INFO = {"name": "raw", "version": "0.0.1"}

Answers = dict[str, Callable[[dict[str, Any]], dict[str, Any]]]


class Refused(Exception):
    """The server's JSON-RPC error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: Any = error.get("data")


def can(version: str, *, tasks: bool = False) -> dict[str, Any]:
    """Everything that a client of this revision may be capable of."""
    found: dict[str, Any] = {"roots": {}, "sampling": {}}
    if version >= "2025-06-18":
        found["elicitation"] = {}
    if tasks:
        found["extensions"] = {TASKS: {}}
    return found


class RawClient:
    """One connection. `answers` says what to reply when the server asks for something."""

    door: Door

    def __init__(self, version: str, capabilities: dict[str, Any], answers: Answers) -> None:
        self.version = version
        self.modern = version == MODERN
        self.capabilities = capabilities
        self.answers = answers
        self.opening: dict[str, Any] = {}
        self.questions: list[Message] = []
        self._exchange = Exchange(version)
        self._notices: list[Message] = []
        self._waiting: dict[Any, asyncio.Future[Message]] = {}
        self._changed = asyncio.Event()
        self._ids = 0
        self._problem: BaseException | None = None

    async def open(self) -> None:
        """Whatever begins a conversation in this revision."""
        if self.modern:
            self.opening = await self.request("server/discover")
            return
        params = {
            "protocolVersion": self.version,
            "capabilities": self.capabilities,
            "clientInfo": INFO,
        }
        self.opening = await self.request("initialize", params)
        await self.notify("notifications/initialized")

    async def start(self, method: str, params: dict[str, Any] | None = None, **meta: Any) -> int:
        """Send a request and go on; `meta` goes into its `_meta`."""
        message = self._request(method, params, meta)
        self._exchange.passes("client", message)
        return await self._send(message)

    async def request(
        self, method: str, params: dict[str, Any] | None = None, **meta: Any
    ) -> dict[str, Any]:
        """Send a request and return its result; raises `Refused` for an error."""
        return await self.result(await self.start(method, params, **meta))

    async def request_unchecked(
        self, method: str, params: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The same for a request that the revision does not know, or not like this."""
        message = self._request(method, params, {})
        self._exchange.expect(message)
        return await self.result(await self._send(message))

    async def call(
        self, tool: str, arguments: dict[str, Any] | None = None, /, **meta: Any
    ) -> dict[str, Any]:
        """Call a tool, answering whatever it asks on the way."""
        return await self.fulfil("tools/call", {"name": tool, "arguments": arguments or {}}, **meta)

    async def fulfil(self, method: str, params: dict[str, Any], **meta: Any) -> dict[str, Any]:
        """A request that may need several rounds."""
        result = await self.request(method, params, **meta)
        while result.get("resultType") == "input_required":
            asked = result["inputRequests"]
            self.questions += asked.values()
            answers = {k: self.answers[q["method"]](q.get("params", {})) for k, q in asked.items()}
            retry = {**params, "inputResponses": answers, "requestState": result["requestState"]}
            result = await self.request(method, retry, **meta)
        return result

    async def result(self, request_id: int) -> dict[str, Any]:
        response = await self.response(request_id)
        if "error" in response:
            raise Refused(response["error"])
        return response["result"]

    async def response(self, request_id: int) -> Message:
        async with asyncio.timeout(PATIENCE):
            return await self._waiting[request_id]

    def answered(self, request_id: int) -> bool:
        return self._waiting[request_id].done()

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        await self.door.deliver(self._exchange.passes("client", message))

    async def notice(self, method: str) -> dict[str, Any]:
        """The parameters of the next notification of this method."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for message in self._notices:
                    if message["method"] == method:
                        self._notices.remove(message)
                        return message.get("params", {})
                self._changed.clear()
                await self._changed.wait()
                self.check()

    def seen(self, method: str) -> list[dict[str, Any]]:
        """The parameters of the notifications of this method that came so far."""
        return [m.get("params", {}) for m in self._notices if m["method"] == method]

    def check(self) -> None:
        """Raise what was wrong with a message that arrived."""
        if self._problem is not None:
            raise self._problem

    def arrived(self, message: Message) -> None:
        try:
            self._exchange.passes("server", message)
        except Exception as problem:  # noqa: BLE001 - raised by whoever waits
            self.broke(problem)
            return
        if "method" not in message:
            self._waiting[message["id"]].set_result(message)
        elif "id" in message:
            self.questions.append(message)
            asyncio.get_running_loop().create_task(self._answer(message))
        else:
            self._notices.append(message)
            self._changed.set()

    def broke(self, problem: BaseException) -> None:
        self._problem = self._problem or problem
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(problem)
        self._changed.set()

    async def _answer(self, asked: Message) -> None:
        result = self.answers[asked["method"]](asked.get("params", {}))
        reply = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
        await self.door.deliver(self._exchange.passes("client", reply))

    def _request(self, method: str, params: dict[str, Any] | None, meta: dict[str, Any]) -> Message:
        self._ids += 1
        if self.modern:
            meta = {
                f"{META}protocolVersion": self.version,
                f"{META}clientCapabilities": self.capabilities,
                f"{META}clientInfo": INFO,
                **meta,
            }
        message: Message = {"jsonrpc": "2.0", "id": self._ids, "method": method}
        if params is not None or meta:
            message["params"] = {**(params or {}), **({"_meta": meta} if meta else {})}
        return message

    async def _send(self, message: Message) -> int:
        self._waiting[message["id"]] = asyncio.get_running_loop().create_future()
        await self.door.deliver(message)
        return message["id"]


@asynccontextmanager
async def raw_client(
    door: str,
    version: str,
    address: str | None = None,
    *,
    tasks: bool = False,
    answers: Answers | None = None,
) -> AsyncGenerator[RawClient]:
    """A client that has opened the conversation."""
    client = RawClient(version, can(version, tasks=tasks), answers or {})
    async with open_door(door, version, client, address) as client.door:
        await client.open()
        yield client
    client.check()
