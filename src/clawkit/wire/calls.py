"""Running tool calls: how many at once, how long, and what a failure looks like to the model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from clawkit.errors import (
    ClawError,
    InternalError,
    InvalidArgumentsError,
    MissingCapabilityError,
    ProtocolError,
    ToolExecutionError,
    ToolTimeoutError,
)
from clawkit.wire import questions
from clawkit.wire.context import Context
from clawkit.wire.features import Tool

log = logging.getLogger("clawkit.wire")


class Limits(msgspec.Struct, frozen=True):
    """What one server does at once: more than `concurrency` calls wait, and `waiting` of them may."""

    concurrency: int = 20_000
    waiting: int = 20_000
    threads: int = 64
    timeout: float | None = None


class Turnstile:
    """Lets a number of calls run, keeps a number waiting in order, and refuses the rest."""

    def __init__(self, running: int, waiting: int) -> None:
        self._running = asyncio.Semaphore(running)
        self._waiting = waiting

    async def __aenter__(self) -> None:
        if self._running.locked():
            if self._waiting == 0:
                raise InternalError("Server is busy: too many calls are waiting; try again later")
            self._waiting -= 1
            try:
                await self._running.acquire()
            finally:
                self._waiting += 1
        else:
            await self._running.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._running.release()


class Calls:
    """The calls of one server."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._all = Turnstile(limits.concurrency, limits.waiting)
        self._per_tool: dict[str, Turnstile] = {}

    async def perform(
        self, tool: Tool, arguments: dict[str, Any], context: Context
    ) -> dict[str, Any]:
        """The result of one call; whatever the tool raises becomes a result the model can read."""
        try:
            async with self._all:
                if tool.concurrency is None:
                    return await self._timed(tool, arguments, context)
                async with self._turnstile(tool):
                    return await self._timed(tool, arguments, context)
        except MissingCapabilityError as error:
            if context.modern:
                raise
            return failed(tool, error, strict=context.session.strict)
        except ProtocolError:
            raise
        except Exception as error:
            if not isinstance(error, ClawError):
                log.exception("tool %s failed", tool.name)
            return failed(tool, error, strict=context.session.strict)

    def _turnstile(self, tool: Tool) -> Turnstile:
        found = self._per_tool.get(tool.name)
        if found is None:
            found = Turnstile(tool.concurrency or 1, self._limits.waiting)
            self._per_tool[tool.name] = found
        return found

    async def _timed(
        self, tool: Tool, arguments: dict[str, Any], context: Context
    ) -> dict[str, Any]:
        if tool.requires_approval and not context.session.approved:
            await _approve(tool, arguments, context)
        seconds = tool.timeout if tool.timeout is not None else self._limits.timeout
        if seconds is None:
            return await tool.invoke(arguments, context)
        return await within(seconds, tool.name, lambda: tool.invoke(arguments, context))


async def within(
    seconds: float, name: str, work: Callable[[], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await work()
    except TimeoutError:
        if limit.expired():
            raise ToolTimeoutError(f"{name} took longer than {seconds:g} s") from None
        raise


async def _approve(tool: Tool, arguments: dict[str, Any], context: Context) -> None:
    shown = msgspec.json.encode(arguments).decode()
    question = questions.elicitation(f"Allow {tool.name} to run with {shown[:400]}?")
    answer = (await context.ask({"approval": question}))["approval"]
    if not answer.accepted:
        raise ToolExecutionError(f"{tool.name} was not approved")


def failed(tool: Tool, error: Exception, *, strict: bool) -> dict[str, Any]:
    """An `isError` result, or for the in-process door of the documents the error -32603."""
    text = explain(tool.name, error)
    if strict:
        raise InternalError(text) from error
    return {"content": [{"type": "text", "text": text}], "isError": True}


def explain(name: str, error: Exception) -> str:
    if isinstance(error, InvalidArgumentsError):
        return f"Invalid arguments for {name}: {error}"
    if isinstance(error, ClawError):
        return str(error)
    return f"{type(error).__name__}: {error}"
