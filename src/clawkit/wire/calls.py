"""Runs tool calls: concurrency limits, timeouts, approvals, worker threads for sync functions, and
errors as results for the model.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from clawkit.errors import (
    ClawError,
    InternalError,
    InvalidArgumentsError,
    MissingCapabilityError,
    ProtocolError,
    SettingsError,
    ToolExecutionError,
    ToolTimeoutError,
)
from clawkit.wire import input_requests
from clawkit.wire.features import Tool
from clawkit.wire.session import Context

log = logging.getLogger("clawkit.wire")
_SHOWN = 200
INVALID = "Invalid arguments for"
"""How the result of a call begins whose arguments do not fit the tool."""


class Interruption(KeyboardInterrupt):
    """Ctrl-C was pressed. Differs from the KeyboardInterrupt that a failing tool may raise."""


class Limits(msgspec.Struct, frozen=True):
    """How many calls of a server run and wait, in how many threads, and for how long each."""

    concurrency: int = 20_000
    waiting: int = 20_000
    threads: int = 64
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.threads < 1 or self.waiting < 0:
            raise SettingsError(f"{self}: concurrency and threads must be at least 1")
        if self.timeout is not None and self.timeout <= 0:
            raise SettingsError(f"{self}: timeout must be more than 0 seconds")


class CallSemaphore:
    """A semaphore with a bounded queue; cheaper for each call than `asyncio.Semaphore`."""

    def __init__(self, running: int, waiting: int) -> None:
        self._most = self._free = running
        self._most_waiting = waiting
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs."""
        return self._free == self._most

    @property
    def is_full(self) -> bool:
        """Whether nobody more may wait."""
        return len(self._waiting) >= self._most_waiting

    async def enter(self) -> None:
        """Wait for a turn; call only when `try_enter` said no."""
        if self.is_full:
            raise InternalError("Server is busy: too many calls are waiting; try again later")
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            else:
                self._waiting.remove(turn)
            raise

    def try_enter(self) -> bool:
        if self._free == 0:
            return False
        self._free -= 1
        return True

    def leave(self) -> None:
        """Let the next waiting call run."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class Calls:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._all = CallSemaphore(limits.concurrency, limits.waiting)
        self._per_tool: dict[str, CallSemaphore] = {}

    async def perform(
        self, tool: Tool, arguments: dict[str, Any], context: Context
    ) -> dict[str, Any]:
        """Run one call; an exception of the tool becomes a result that the model can read."""
        strict = context.session.strict
        try:
            if tool.requires_approval and not context.session.approved:
                await _approve(tool, arguments, context)
            if tool.concurrency is None:
                return await self._run(tool, arguments, context)
            return await self._run_limited(tool, arguments, context)
        except MissingCapabilityError as error:
            if context.modern:
                raise
            return failed(tool, error, strict=strict)
        except ProtocolError:
            raise
        except asyncio.CancelledError as error:
            if _is_being_cancelled():
                raise
            return failed(tool, error, strict=strict)
        except Interruption:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if not isinstance(error, ClawError):
                log.exception("tool %s failed", tool.name)
            return failed(tool, error, strict=strict)

    async def _run_limited(
        self, tool: Tool, arguments: dict[str, Any], context: Context
    ) -> dict[str, Any]:
        """Apply the tool's own limit first: calls that wait for it do not block other tools."""
        semaphore = self._per_tool.get(tool.name)
        if semaphore is None:
            semaphore = CallSemaphore(tool.concurrency or 1, self._limits.waiting)
            self._per_tool[tool.name] = semaphore
        if not semaphore.try_enter():
            await semaphore.enter()
        try:
            return await self._run(tool, arguments, context)
        finally:
            context.when_idle(semaphore.leave)

    async def _run(self, tool: Tool, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        """Apply the server's limits of concurrency and time."""
        if not self._all.try_enter():
            await self._all.enter()
        try:
            seconds = tool.timeout if tool.timeout is not None else self._limits.timeout
            if seconds is None:
                return await tool.invoke(arguments, context)
            return await _with_timeout(seconds, tool, arguments, context)
        finally:
            context.when_idle(self._all.leave)


async def _with_timeout(
    seconds: float, tool: Tool, arguments: dict[str, Any], context: Context
) -> dict[str, Any]:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await tool.invoke(arguments, context)
    except TimeoutError:
        if not limit.expired():
            raise
        context.mark_over()
        raise ToolTimeoutError(f"{tool.name} took longer than {seconds:g} s") from None


def _is_being_cancelled() -> bool:
    """Whether this task was cancelled, as opposed to a tool that raised CancelledError itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _approve(tool: Tool, arguments: dict[str, Any], context: Context) -> None:
    shown = ", ".join(f"{name} = {_shortened(value)}" for name, value in arguments.items())
    question = input_requests.elicitation(
        f"Allow {tool.name} to run with {shown or 'no arguments'}?"
    )
    answer = (await context.ask({"approval": question}))["approval"]
    if not answer.accepted:
        raise ToolExecutionError(f"{tool.name} was not approved")


def _shortened(value: Any) -> str:
    """A value as JSON; if it is cut, its length is shown."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def failed(tool: Tool, error: BaseException, *, strict: bool) -> dict[str, Any]:
    """An `isError` result; for a strict session, raises the error -32603."""
    text = explain(tool.name, error)
    if strict:
        raise InternalError(text) from error
    return {"content": [{"type": "text", "text": text}], "isError": True}


def explain(name: str, error: BaseException) -> str:
    if isinstance(error, InvalidArgumentsError):
        return f"{INVALID} {name}: {error}"
    if isinstance(error, ClawError):
        return str(error)
    return f"{type(error).__name__}: {error}"


class Job:
    """A call in a thread: its `outcome`, and when the thread has `ended`, even if cancelled."""

    def __init__(self, function: Callable[..., Any], kwargs: dict[str, Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Any] = self._loop.create_future()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._call = partial(contextvars.copy_context().run, function, **kwargs)

    def run(self) -> None:
        value, error = None, None
        try:
            if not self.outcome.cancelled():
                value = self._call()
        except (StopIteration, SystemExit, KeyboardInterrupt) as caught:
            # Meant for the thread; in the event loop they would end more than this call.
            error = RuntimeError(f"{type(caught).__name__}: {caught}")
        except BaseException as caught:  # noqa: BLE001 - handed to the waiting coroutine
            error = caught
        with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
            self._loop.call_soon_threadsafe(self._settle, value, error)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        self.ended.set_result(None)
        if self.outcome.done():
            return
        if error is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(value)


class Workers:
    """Up to `limit` threads, started when needed and kept for reuse; further jobs wait in order.

    They are daemons, so that a stuck one never keeps the process alive.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def start(self, function: Callable[..., Any], kwargs: dict[str, Any]) -> Job:
        """Call `function` in a thread."""
        job = Job(function, kwargs)
        self._submit(job)
        return job

    def _submit(self, job: Job) -> None:
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._threads < self._limit:
                self._threads += 1
                threading.Thread(target=self._work, name="claw-tool", daemon=True).start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get().run()
            with self._lock:
                self._idle += 1
