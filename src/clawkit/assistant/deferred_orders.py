"""Orders that may outlive their call: the work goes on, and a later call collects the answer.

Clients give up after a minute. With `keep_running`, a call whose answer takes longer than
`answer_within` is told so in time, with the session key under which `/result` brings the answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from clawkit.errors import SessionError

if TYPE_CHECKING:
    from clawkit.assistant.config import AssistantOptions
    from clawkit.assistant.order import OrderRequest
    from clawkit.wire.context import Context

MOST_OPEN = 64
"""Orders that run or wait to be collected. The answers of older ones are in their sessions."""
_QUOTED = 80

Result = dict[str, Any]
CarryOut = Callable[["OrderRun"], Coroutine[Any, Any, Result]]
"""Works on an order; what goes wrong is a result too."""


class OrderRun:
    """An order that is worked on. `context` is the call that waits for it, or the last that did."""

    task: asyncio.Task[Result]

    def __init__(self, order: OrderRequest, context: Context) -> None:
        self.order = order
        self.context = context
        self.doing = ""
        """The step of it that was told last."""
        self.waiting = 0
        """How many calls wait for it now."""
        self.is_stopped = False
        self._started = time.monotonic()
        self._content = _content_digest(order)

    def repeats(self, order: OrderRequest) -> bool:
        """Whether that order is this one sent again, with its key or, as this one, without any."""
        same_session = order.session_key == self.order.session_key
        unnamed = not order.named and not self.order.named
        return (same_session or unnamed) and _content_digest(order) == self._content

    def stop(self) -> None:
        self.is_stopped = True
        self.task.cancel()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def __str__(self) -> str:
        words = " ".join(self.order.message.split())
        return f'"{words[:_QUOTED]}…"' if len(words) > _QUOTED else f'"{words}"'


class DeferredOrders:
    """The orders of one client whose answers it has not collected yet, the oldest first."""

    def __init__(self) -> None:
        self._open: list[OrderRun] = []

    async def answer(
        self, order: OrderRequest, context: Context, options: AssistantOptions, carry_out: CarryOut
    ) -> Result:
        """What a call is told within `answer_within`: the answer, or that it is not there yet."""
        self._close([run for run in self._open if run.is_stopped])
        command = order.message.strip()
        if command == "/stop":
            return await self._stop(self._chosen(order))
        if command == "/result":
            wanted = self._chosen(order)
        else:
            run = self._repeated(order) or self._begin(order, context, carry_out)
            wanted = [*self._earlier(run), run]
        await _wait(wanted, context, options.answer_within)
        return self._collect(wanted, structured=options.structured)

    def _repeated(self, order: OrderRequest) -> OrderRun | None:
        return next((run for run in self._open if run.repeats(order)), None)

    def _begin(self, order: OrderRequest, context: Context, carry_out: CarryOut) -> OrderRun:
        self._make_room()
        run = OrderRun(order, context)
        run.task = context.server.start_background(carry_out(run))
        self._open.append(run)
        return run

    def _make_room(self) -> None:
        if len(self._open) < MOST_OPEN:
            return
        done = next((run for run in self._open if run.task.done()), None)
        if done is None:
            raise SessionError(
                f"{MOST_OPEN} orders are being worked on: wait until one is done, or end one with "
                "`/stop` under its session key"
            )
        self._open.remove(done)

    def _earlier(self, run: OrderRun) -> list[OrderRun]:
        """What was ordered before under the same key: its answer is brought along."""
        before = self._open[: self._open.index(run)]
        return [one for one in before if one.order.session_key == run.order.session_key]

    def _chosen(self, order: OrderRequest) -> list[OrderRun]:
        """What `/result` and `/stop` are about: this key's orders, or those of the only key."""
        keys = dict.fromkeys(run.order.session_key for run in self._open)
        if not order.named and len(keys) > 1:
            known = ", ".join(keys)
            raise SessionError(f"which order is meant? Send it with a sessionKey: {known}")
        key = order.session_key if order.named else next(iter(keys), "")
        found = [run for run in self._open if run.order.session_key == key]
        if not found:
            where = "under this session key" if order.named else "here"
            raise SessionError(
                f"no order is worked on {where}, and no answer waits to be collected; "
                "what was answered before is in its session"
            )
        return found

    async def _stop(self, chosen: list[OrderRun]) -> Result:
        running = [run for run in chosen if not run.task.done()]
        for run in running:
            run.stop()
        if running:
            await asyncio.wait([run.task for run in running])
        self._close(chosen)
        how = "Stopped" if running else "It was done already, and its answer is in the session"
        return _result(f"{how}: {', '.join(map(str, chosen))}")

    def _collect(self, wanted: list[OrderRun], *, structured: bool) -> Result:
        """The answers that are there, and for the newest order at least where it is."""
        done = [run for run in wanted if run.task.done()]
        self._close(done)
        newest = wanted[-1]
        last = _outcome(newest) if newest.task.done() else _ticket(newest, structured=structured)
        content = [block for run in done if run is not newest for block in _introduced(run)]
        return {**last, "content": [*content, *last["content"]]} if content else last

    def _close(self, runs: list[OrderRun]) -> None:
        self._open = [run for run in self._open if run not in runs]


async def _wait(wanted: list[OrderRun], context: Context, seconds: float) -> None:
    """Wait until all are done or time is up. A client that no longer wants to know ends them."""
    for run in wanted:
        run.context = context
        run.waiting += 1
    try:
        await asyncio.wait([run.task for run in wanted], timeout=seconds)
    except asyncio.CancelledError:
        if not context.timed_out:
            for run in wanted:
                if run.waiting == 1:
                    run.stop()
        raise
    finally:
        for run in wanted:
            run.waiting -= 1


def _outcome(run: OrderRun) -> Result:
    if run.task.cancelled():
        return {**_result(f"Error: the order was stopped: {run}"), "isError": True}
    return run.task.result()


def _introduced(run: OrderRun) -> list[dict[str, Any]]:
    """The answer to an earlier order, with what it answers."""
    return [{"type": "text", "text": f"[answer to {run}]"}, *_outcome(run)["content"]]


def _ticket(run: OrderRun, *, structured: bool) -> Result:
    key = run.order.session_key
    doing = f" ({run.doing})" if run.doing else ""
    told = _result(
        f"Still working on {run} after {run.seconds:.0f} s{doing}. The work goes on. For the "
        f'answer send `/result`, or the next message, with sessionKey "{key}"; `/stop` ends the '
        "work. The same message again waits for the same work."
    )
    if structured:
        told["structuredContent"] = {"sessionKey": key, "status": "working"}
    return told


def _result(text: str) -> Result:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def _content_digest(order: OrderRequest) -> bytes:
    found = hashlib.sha256(order.message.encode("utf-8", "surrogatepass"))
    for item in order.attachments:
        found.update(f"\0{item.label}\0{item.mime_type}\0{len(item.data)}\0".encode())
        found.update(item.data)
    return found.digest()
