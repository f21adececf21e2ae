"""Orders that may outlive their call: the work goes on, and a later call collects the answer.

A tool's question is put to the client by the call that waits. In the modern era that ends the call,
and the order goes on when the call comes again with the answer.

Clients give up after a minute. With `keep_running`, a call whose answer takes longer than
`answer_within` is told so in time, with the session key under which `/result` brings the answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any

from clawkit.assistant.order import OrderRun
from clawkit.errors import ClawError, SessionError, ToolTimeoutError
from clawkit.wire.input_requests import LIFETIME_SECONDS, InputRequest

if TYPE_CHECKING:
    from clawkit.assistant.callbacks import MessageContext
    from clawkit.assistant.config import AssistantOptions
    from clawkit.wire.session import Context

MOST_OPEN = 64
"""Orders that run or wait to be collected. The answers of older ones are in their sessions."""
_QUOTED = 80

Result = dict[str, Any]
CarryOut = Callable[[OrderRun], Coroutine[Any, Any, Result]]
"""Works on an order; what goes wrong is a result too."""


class DeferredRun(OrderRun):
    """An order that may outlive its call."""

    task: asyncio.Task[Result]

    def __init__(self, order: MessageContext, context: Context) -> None:
        super().__init__(order, context)
        self.waiting = 0
        """How many calls wait for it now."""
        self.is_stopped = False
        self._questions: list[_ToolQuestion] = []
        self._asked = 0
        self._news = asyncio.Event()
        self._started = time.monotonic()

    @cached_property
    def _content(self) -> bytes:
        return _content_digest(self.order)

    def repeats(self, order: MessageContext) -> bool:
        """Whether that order is this one sent again, with its key or, as this one, without any."""
        same_session = order.session_key == self.order.session_key
        unnamed = not order.named and not self.order.named
        return (same_session or unnamed) and _content_digest(order) == self._content

    def start(self, carry_out: CarryOut) -> None:
        self.task = self.context.server.start_background(carry_out(self))
        self.task.add_done_callback(lambda _: self._news.set())

    async def ask(self, request: InputRequest) -> dict[str, Any]:
        """Put a question to the client: the call that waits for this order does, or the next."""
        self._asked += 1
        question = _ToolQuestion(f"question-{self._asked}", request)
        self._questions.append(question)
        self._news.set()
        try:
            async with asyncio.timeout(LIFETIME_SECONDS):
                return await question.answer
        except TimeoutError:
            raise ToolTimeoutError("nobody has answered the question") from None
        finally:
            question.answer.cancel()
            self._questions.remove(question)

    async def wait(self, context: Context) -> None:
        """Wait until it is done, and put its questions to the client of this call meanwhile."""
        self.context = context
        self.waiting += 1
        try:
            while not self.task.done():
                open_one = next((one for one in self._questions if one.is_open()), None)
                if open_one is not None:
                    await open_one.put(context)
                    continue
                self._news.clear()
                await self._news.wait()
        finally:
            self.waiting -= 1
            self._news.set()  # a question that this call has left open is another's

    def stop(self) -> None:
        self.is_stopped = True
        self.task.cancel()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def __str__(self) -> str:
        words = " ".join(self.order.text.split())
        return f'"{words[:_QUOTED]}…"' if len(words) > _QUOTED else f'"{words}"'


class _ToolQuestion:
    """A question of a tool; one call at a time puts it."""

    def __init__(self, key: str, request: InputRequest) -> None:
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._key = key
        self._request = request
        self._is_put = False

    def is_open(self) -> bool:
        return not self._is_put and not self.answer.done()

    async def put(self, context: Context) -> None:
        """Ask the client, until it has answered or the question is gone.

        In the modern era this ends the call, which comes again with the answer.
        """
        self._is_put = True
        asking = asyncio.get_running_loop().create_task(context.ask({self._key: self._request}))
        try:
            await asyncio.wait({asking, self.answer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._is_put = False
            asking.cancel()
        if self.answer.done():
            return
        try:
            self.answer.set_result(asking.result()[self._key])
        except ClawError as error:
            self.answer.set_exception(error)


class DeferredOrders:
    """The orders of one client whose answers it has not collected yet, the oldest first."""

    def __init__(self) -> None:
        self._open: list[DeferredRun] = []

    async def answer(
        self,
        order: MessageContext,
        context: Context,
        options: AssistantOptions,
        carry_out: CarryOut,
    ) -> Result:
        """The answer; with `keep_running`, within `answer_within`, or that it is not there yet."""
        self._close([run for run in self._open if run.is_stopped])
        command = order.text.strip() if options.keep_running else ""
        if command == "/stop":
            return await self._stop(self._chosen(order))
        if command == "/result":
            wanted = self._chosen(order)
        else:
            # A call that comes again with an answer belongs to the order that asked.
            comes_again = options.keep_running or context.round > 0
            run = self._repeated(order) if comes_again else None
            run = run or self._begin(order, context, options, carry_out)
            wanted = [*self._earlier(run), run] if options.keep_running else [run]
        await _wait(wanted, context, options.answer_within if options.keep_running else None)
        return self._collect(wanted, structured=options.structured)

    def _repeated(self, order: MessageContext) -> DeferredRun | None:
        return next((run for run in self._open if run.repeats(order)), None)

    def _begin(
        self,
        order: MessageContext,
        context: Context,
        options: AssistantOptions,
        carry_out: CarryOut,
    ) -> DeferredRun:
        self._make_room(keep_running=options.keep_running)
        run = DeferredRun(order, context)
        run.start(carry_out)
        self._open.append(run)
        return run

    def _make_room(self, *, keep_running: bool) -> None:
        """Forget the oldest answer that nobody came for."""
        if len(self._open) < MOST_OPEN:
            return
        done = next((run for run in self._open if run.task.done()), None)
        if done is not None:
            self._open.remove(done)
        elif keep_running:
            raise SessionError(
                f"{MOST_OPEN} orders are being worked on: wait until one is done, or end one with "
                "`/stop` under its session key"
            )

    def _earlier(self, run: DeferredRun) -> list[DeferredRun]:
        """What was ordered before under the same key: its answer is brought along."""
        before = self._open[: self._open.index(run)]
        return [one for one in before if one.order.session_key == run.order.session_key]

    def _chosen(self, order: MessageContext) -> list[DeferredRun]:
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

    async def _stop(self, chosen: list[DeferredRun]) -> Result:
        running = [run for run in chosen if not run.task.done()]
        for run in running:
            run.stop()
        if running:
            await asyncio.wait([run.task for run in running])
        self._close(chosen)
        how = "Stopped" if running else "It was done already, and its answer is in the session"
        return _result(f"{how}: {', '.join(map(str, chosen))}")

    def _collect(self, wanted: list[DeferredRun], *, structured: bool) -> Result:
        """The answers that are there, and for the newest order at least where it is."""
        done = [run for run in wanted if run.task.done()]
        self._close(done)
        newest = wanted[-1]
        last = _outcome(newest) if newest.task.done() else _ticket(newest, structured=structured)
        if not [run for run in done if run is not newest]:
            return last
        content = [block for run in done for block in _introduced(run)]
        return {**last, "content": content if newest in done else [*content, *last["content"]]}

    def _close(self, runs: list[DeferredRun]) -> None:
        self._open = [run for run in self._open if run not in runs]


async def _wait(wanted: list[DeferredRun], context: Context, seconds: float | None) -> None:
    """Wait until all are done or time is up. A client that no longer wants to know ends them.

    They are of one session, so they are done in this order.
    """
    try:
        async with asyncio.timeout(seconds):
            for run in wanted:
                await run.wait(context)
    except TimeoutError:
        pass
    except asyncio.CancelledError:
        if seconds is None or not context.timed_out:
            for run in wanted:
                if not run.waiting:
                    run.stop()
        raise


def _outcome(run: DeferredRun) -> Result:
    if run.task.cancelled():
        return {**_result(f"Error: the order was stopped: {run}"), "isError": True}
    return run.task.result()


def _introduced(run: DeferredRun) -> list[dict[str, Any]]:
    """The answer to one of several orders, with what it answers."""
    return [{"type": "text", "text": f"[answer to {run}]"}, *_outcome(run)["content"]]


def _ticket(run: DeferredRun, *, structured: bool) -> Result:
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


def _content_digest(order: MessageContext) -> bytes:
    found = hashlib.sha256(order.text.encode("utf-8", "surrogatepass"))
    for item in order.attachments:
        about = f"\0{item.label}\0{item.mime_type}\0{len(item.data)}\0"
        found.update(about.encode("utf-8", "surrogatepass"))
        found.update(item.data)
    return found.digest()
