"""Calling a server in this process: progress is heard, and no tool can hold up who waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from typing import Any, cast

from clawkit.assistant.toolbox.source import Offer, Tell, in_words
from clawkit.errors import ToolExecutionError, ToolTimeoutError
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message
from clawkit.wire.server import Server
from clawkit.wire.session import Session

GRACE = 2.0
"""How long a tool that was cancelled, or has run out of time, may take to end."""

_left_behind: set[asyncio.Task[Any]] = set()


class InProcess:
    """A server object as a source of tools."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def offers(self) -> list[Offer]:
        """The tools that can run here; the rest is in `unusable`."""
        return [
            Offer(name, str(tool.definition.get("description", "")), tool.definition["inputSchema"])
            for name, tool in self._server.tools.items()
            if not tool.requires_approval and tool.task != "required"
        ]

    def unusable(self) -> list[str]:
        """The tools that cannot be offered to a model here, each with the reason."""
        found: list[str] = []
        for name, tool in self._server.tools.items():
            if tool.requires_approval:
                found.append(f"{name} wants a person's approval, and here is nobody to ask")
            elif tool.task == "required":
                found.append(f"{name} runs only as a task, and the assistant waits for its tools")
        return found

    async def call(self, tool: str, arguments: dict[str, Any], tell: Tell) -> dict[str, Any]:
        loop = asyncio.get_running_loop()

        def hear(message: Message) -> None:
            if message.get("method") == "notifications/progress":
                said: dict[str, Any] = message["params"]
                tell(in_words(said["progress"], said.get("total"), said.get("message")))

        def send(message: Message) -> None:
            with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
                loop.call_soon_threadsafe(hear, message)

        # A copy: what a tool does to its arguments must not change what the model is shown.
        given = {"name": tool, "arguments": copy.deepcopy(arguments), "_meta": {"progressToken": 1}}
        request = jsonrpc.request(1, "tools/call", given)
        work = loop.create_task(self._server.handle_jsonrpc(request, Session(send, notices=False)))
        reply = await _outcome(work, self._patience(tool), tool)
        if "error" in reply:
            raise ToolExecutionError(str(reply["error"]["message"]))
        return cast("dict[str, Any]", reply["result"])

    def _patience(self, tool: str) -> float | None:
        """The core ends a tool in time; this is for one that does not let itself be ended."""
        known = self._server.tools.get(tool)
        return None if known is None or known.timeout is None else known.timeout + GRACE


async def _outcome(
    work: asyncio.Task[Message | None], patience: float | None, tool: str
) -> Message:
    """What comes of a task that may not react to being cancelled."""
    try:
        done, _ = await asyncio.wait({work}, timeout=patience)
    except asyncio.CancelledError:
        _leave(work)
        await asyncio.wait({work}, timeout=GRACE)
        raise
    if not done:
        _leave(work)
        raise ToolTimeoutError(f"{tool} took too long, and did not end when it was told to")
    if work.cancelled():
        raise ToolExecutionError(f"{tool} was cancelled")
    return work.result() or {"error": {"message": f"{tool} gave no answer"}}


def _leave(work: asyncio.Task[Any]) -> None:
    """Cancel a task that nobody waits for any more; asyncio itself would not keep it."""
    work.cancel()
    _left_behind.add(work)
    work.add_done_callback(_forget)


def _forget(work: asyncio.Task[Any]) -> None:
    _left_behind.discard(work)
    if not work.cancelled():
        work.exception()  # It was looked at, so asyncio does not report it.
