"""The tasks extension: a call that outlives its request, polled with `tasks/get`."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import msgspec

from clawkit.errors import (
    InternalError,
    InvalidParamsError,
    MissingCapabilityError,
    ProtocolError,
)
from clawkit.wire.input_requests import InputRequest
from clawkit.wire.jsonrpc import as_object, error_object
from clawkit.wire.revisions import TASKS
from clawkit.wire.session import McpRequest, RunningRequest
from clawkit.wire.subscriptions import Hub

ENDED = ("completed", "failed", "cancelled")
LIFETIME_MS = 3_600_000
POLL_MS = 500
CUT_OFF = "The server stopped before this was done: send the request again"


class TaskRecord(msgspec.Struct):
    """The stored state of a task: its owner, status, and result or error."""

    id: str
    owner: str | None
    created: float
    updated: float
    status: str = "working"
    message: str | None = None
    ttl_ms: int | None = LIFETIME_MS
    poll_ms: int = POLL_MS
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    @property
    def expires(self) -> float | None:
        return None if self.ttl_ms is None else self.created + self.ttl_ms / 1000

    @property
    def is_over(self) -> bool:
        """Whether its time to live has passed."""
        return self.expires is not None and time.time() > self.expires

    def to_wire(self, questions: dict[str, InputRequest] | None = None) -> dict[str, Any]:
        task: dict[str, Any] = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": _iso(self.created),
            "lastUpdatedAt": _iso(self.updated),
            "ttlMs": self.ttl_ms,
            "pollIntervalMs": self.poll_ms,
        }
        if self.message is not None:
            task["statusMessage"] = self.message
        if questions:
            task["inputRequests"] = {key: q.to_wire() for key, q in questions.items()}
        if self.result is not None:
            task["result"] = self.result
        if self.error is not None:
            task["error"] = self.error
        return task


class TaskStore(Protocol):
    """Stores task records. With a persistent one, clients can poll after a restart."""

    def save(self, record: TaskRecord) -> None: ...
    def load(self, task_id: str) -> TaskRecord | None: ...


class MemoryTaskStore:
    """Keeps task records in memory until their time to live has passed."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._records: dict[str, TaskRecord] = {}

    def save(self, record: TaskRecord) -> None:
        self._records[record.id] = record
        if len(self._records) > self._limit:
            self._drop()

    def load(self, task_id: str) -> TaskRecord | None:
        record = self._records.get(task_id)
        if record is not None and record.is_over:
            del self._records[task_id]
            return None
        return record

    def _drop(self) -> None:
        ended = [r for r in self._records.values() if r.status in ENDED]
        gone = [r for r in ended if r.is_over] or sorted(ended, key=lambda r: r.updated)[:1]
        for record in gone:
            del self._records[record.id]


class TaskHandle:
    """A call that is running and may be, or has become, a task."""

    def __init__(
        self, tasks: Tasks, request: McpRequest, running: RunningRequest, task: Any
    ) -> None:
        now = time.time()
        self.record = TaskRecord(
            secrets.token_urlsafe(24), request.owner, now, now, ttl_ms=tasks.lifetime_ms
        )
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.promotion: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._tasks = tasks
        self._running = running
        self._work: asyncio.Task[dict[str, Any]] = task
        self._waiting: dict[str, tuple[InputRequest, asyncio.Future[Any]]] = {}
        self._numbers: dict[str, int] = {}
        self._expiry: asyncio.TimerHandle | None = None
        self._cut_off = False

    @property
    def promoted(self) -> bool:
        return self.promotion.done()

    @property
    def questions(self) -> dict[str, InputRequest]:
        return {key: question for key, (question, _) in self._waiting.items()}

    def promote(self) -> None:
        """Make the call a task: clients can find it, and its result is stored."""
        if self.promoted or self._work.done():
            return
        self._tasks.add(self)
        self._work.add_done_callback(self._ended)
        if self.record.ttl_ms is not None:
            self._expiry = self._loop.call_later(self.record.ttl_ms / 1000, self.cancel)
        self.promotion.set_result(self.record.to_wire())

    def describe(self, message: str) -> None:
        """Set the status message; safe to call from any thread."""
        if threading.get_ident() == self._thread:
            self._change(self.record.status, message)
        else:
            self._loop.call_soon_threadsafe(self.describe, message)

    async def ask(self, asked: dict[str, InputRequest]) -> dict[str, Any]:
        """Wait for the client to answer through `tasks/update`."""
        loop = asyncio.get_running_loop()
        unique = {self._unique(key): (key, question) for key, question in asked.items()}
        for name, (_, question) in unique.items():
            self._waiting[name] = (question, loop.create_future())
        answers = [self._waiting[name][1] for name in unique]
        self._change("input_required")
        try:
            values = await asyncio.gather(*answers)
        finally:
            for name in unique:
                self._waiting.pop(name, None)
            if not self._waiting and self.record.status == "input_required":
                self._change("working")
        return {key: value for (key, _), value in zip(unique.values(), values, strict=True)}

    def _unique(self, key: str) -> str:
        """A key that this task has not used yet."""
        self._numbers[key] = self._numbers.get(key, 0) + 1
        return key if self._numbers[key] == 1 else f"{key}-{self._numbers[key]}"

    def answer(self, answers: dict[str, Any]) -> None:
        """Accept valid answers; an invalid one leaves its question open."""
        for name, value in answers.items():
            question, future = self._waiting.get(name, (None, None))
            if question is None or future is None or future.done():
                continue
            try:
                future.set_result(question.read(value))
            except (ValueError, msgspec.ValidationError):
                continue
            del self._waiting[name]
        if not self._waiting and self.record.status == "input_required":
            self._change("working")

    def cancel(self) -> None:
        self._running.cancelled = True
        self._work.cancel()

    def cut_off(self) -> None:
        """Stop the work because the server stops: the task has failed, it was not cancelled."""
        self._cut_off = True
        self._work.cancel()

    @property
    def work(self) -> asyncio.Task[dict[str, Any]]:
        return self._work

    def _ended(self, work: asyncio.Task[dict[str, Any]]) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        if work.cancelled() and not self._cut_off:
            self._change("cancelled")
            return
        failure = InternalError(CUT_OFF) if work.cancelled() else work.exception()
        if failure is None:
            try:
                self.record.result = msgspec.to_builtins(work.result())
                self._change("completed")
                return
            except (TypeError, ValueError) as error:
                failure = InternalError(f"Internal error: the result is not JSON: {error}")
        known = failure if isinstance(failure, ProtocolError) else InternalError("Internal error")
        self.record.error = error_object(known)
        self._change("failed", known.message)

    def _change(self, status: str, message: str | None = None) -> None:
        if self.record.status in ENDED:
            return
        self.record.status = status
        self.record.message = message
        self.record.updated = time.time()
        self._tasks.changed(self)


class Tasks:
    def __init__(
        self, hub: Hub, store: TaskStore | None = None, lifetime_ms: int | None = LIFETIME_MS
    ) -> None:
        self.lifetime_ms = lifetime_ms
        self._hub = hub
        self._store = store or MemoryTaskStore()
        self._live: dict[str, TaskHandle] = {}

    async def run(
        self,
        request: McpRequest,
        running: RunningRequest,
        after: float | None,
        work: Callable[[], Coroutine[Any, Any, dict[str, Any]]],
        attach: Callable[[TaskHandle], None],
    ) -> dict[str, Any]:
        """The result of `work`, or a task if it is promoted first: by itself or by the timer."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(work())
        handle = TaskHandle(self, request, running, task)
        attach(handle)
        timer = loop.call_later(after, handle.promote) if after else None
        if after == 0:
            handle.promote()
        try:
            await asyncio.wait({task, handle.promotion}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if handle.promoted:
            return {"resultType": "task", **handle.promotion.result()}
        return task.result()

    def running(self) -> list[asyncio.Task[Any]]:
        """The work of tasks that are not done yet."""
        return [handle.work for handle in self._live.values()]

    def end(self) -> list[asyncio.Task[Any]]:
        """Stop all running tasks; returns their work, to wait for."""
        handles = list(self._live.values())
        for handle in handles:
            handle.cut_off()
        return [handle.work for handle in handles]

    def add(self, handle: TaskHandle) -> None:
        self._live[handle.record.id] = handle
        self._store.save(handle.record)

    def changed(self, handle: TaskHandle) -> None:
        record = handle.record
        if record.status in ENDED:
            self._live.pop(record.id, None)
        self._store.save(record)
        self._hub.task_changed(record.id, record.to_wire(handle.questions))

    def get(self, request: McpRequest) -> dict[str, Any]:
        record, handle = self._find(request)
        return record.to_wire(handle.questions if handle else None)

    def update(self, request: McpRequest) -> dict[str, Any]:
        _, handle = self._find(request)
        answers = as_object(request.params.get("inputResponses"))
        if answers is None:
            raise InvalidParamsError("Invalid params: inputResponses must be an object")
        if handle is not None:
            handle.answer(answers)
        return {}

    def cancel(self, request: McpRequest) -> dict[str, Any]:
        _, handle = self._find(request)
        if handle is not None:
            handle.cancel()
        return {}

    def _find(self, request: McpRequest) -> tuple[TaskRecord, TaskHandle | None]:
        if not request.can_task():
            raise MissingCapabilityError(
                f"{request.method} needs the tasks extension", {"extensions": {TASKS: {}}}
            )
        task_id = request.params.get("taskId")
        record = self._store.load(task_id) if isinstance(task_id, str) else None
        if record is None or record.owner != request.owner:
            raise InvalidParamsError("Invalid params: no such task, or it has expired")
        return record, self._live.get(record.id)

    def visible(self, request: McpRequest, task_id: str) -> bool:
        """Whether the task belongs to the caller."""
        record = self._store.load(task_id)
        return record is not None and record.owner == request.owner


def _iso(moment: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))
    return f"{whole}.{int(moment % 1 * 1000):03d}Z"
