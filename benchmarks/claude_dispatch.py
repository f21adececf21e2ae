"""Times one tool call, control message to reply, inside this process.

`python -m benchmarks.claude_dispatch MODULE CALLS`: the module's client reads from a `Wire` instead
of a CLI, and dispatches with its own code. Each gets a fresh interpreter.
"""

import argparse
import asyncio
import importlib
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from benchmarks.messages import WrongReply

SERVER = "math"
WARM_UP_CALLS = 200
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "claude-code", "version": "2.1.325"},
}


class Wire:
    """The cheapest wire there is: a line to read, and the reply that is written."""

    def __init__(self) -> None:
        """Nothing to read yet."""
        self._loop = asyncio.get_running_loop()
        self._line: asyncio.Future[bytes] = self._loop.create_future()
        self._reply: asyncio.Future[bytes] = self._loop.create_future()

    async def ask(self, line: bytes) -> bytes:
        """Let a line be read, and wait for what is written."""
        self._reply = self._loop.create_future()
        self._line.set_result(line)
        return await self._reply

    async def lines(self) -> AsyncIterator[bytes]:
        """What there is to read."""
        while True:
            line = await self._line
            self._line = self._loop.create_future()
            yield line

    async def write(self, data: bytes) -> None:
        """Take a reply."""
        self._reply.set_result(data)


def carried(number: int, message: dict[str, Any]) -> bytes:
    """A message to the in-process server, as the CLI writes it."""
    request = {"subtype": "mcp_message", "server_name": SERVER, "message": message}
    envelope = {"type": "control_request", "request_id": f"r{number}", "request": request}
    return json.dumps(envelope, separators=(",", ":")).encode() + b"\n"


def call(number: int) -> bytes:
    """One `tools/call`."""
    meta = {"claudecode/toolUseId": f"toolu_{number}", "progressToken": number}
    params = {"name": "add", "arguments": {"a": 2, "b": 3}, "_meta": meta}
    return carried(
        number, {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    )


def check(line: bytes, number: int) -> None:
    """Refuse anything but the right reply to this call."""
    response = json.loads(line)["response"]
    reply = response.get("response", {}).get("mcp_response", {})
    text = (reply.get("result", {}).get("content") or [{}])[0].get("text")
    if (response.get("request_id"), reply.get("id"), text) != (f"r{number}", number, "5"):
        raise WrongReply(f"call {number} was answered with {line[:300]!r}")


async def microseconds_a_call(module: str, calls: int) -> float:
    """CPU time of one call, averaged over `calls` calls made one after the other."""
    wire = Wire()
    lines = [call(number) for number in range(1, calls + 1)]
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
    async with importlib.import_module(module).reading(wire):
        await asyncio.sleep(0)
        await wire.ask(carried(0, opening))
        await wire.ask(carried(0, {"jsonrpc": "2.0", "method": "notifications/initialized"}))
        for number, line in enumerate(lines[:WARM_UP_CALLS], 1):
            check(await wire.ask(line), number)
        start = time.process_time_ns()
        for line in lines:
            await wire.ask(line)
        spent = time.process_time_ns() - start
        check(await wire.ask(lines[-1]), calls)
    return spent / 1000 / calls


def main() -> None:
    """Print the figure as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("calls", type=int)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(microseconds_a_call(options.module, options.calls))))


if __name__ == "__main__":
    main()
