"""The agent loop: asks the model, runs the tools it calls, asks again until it has answered."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from clawkit.assistant.callbacks import Callbacks
from clawkit.errors import StoreError
from clawkit.models.message_history import unanswered, unknown_outcome
from clawkit.models.protocol import (
    Called,
    Event,
    Finished,
    Message,
    Part,
    Prompt,
    StopReason,
    Text,
    TextDelta,
    ToolCall,
    ToolOutcome,
    Usage,
)
from clawkit.models.tool_calls import unreadable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from clawkit.assistant.toolbox.toolbox import CallResult

log = logging.getLogger("clawkit.assistant")

LONGEST_ANSWER = 4_000_000
"""Characters after which a model that does not stop is stopped."""

MOST_NAMED = 20
"""Tools that an error names."""

Limit = Literal["", "rounds", "size"]
"""Which of our own limits ended an answer."""
Ask = Callable[[Prompt, Callable[[], bool]], "AsyncGenerator[Event]"]
"""Asks with a prompt; the function takes back what was heard, unless somebody has seen it."""
RunTool = Callable[[ToolCall], Awaitable["CallResult"]]
Record = Callable[..., Awaitable[None]]
"""Keeps the exchange as it is; `lasting=True` where what comes next cannot be undone."""
Trim = Callable[[tuple[Message, ...]], tuple[Message, ...]]


class ToolRun:
    """A tool that was started in a turn, and how it ended as far as is known."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = "its outcome is not known"

    def __str__(self) -> str:
        return f"{self.name} ({self.ended})"


class LoopState:
    """One turn as it grows: what is new in the conversation, what it cost, how it ended."""

    def __init__(self, user: Message) -> None:
        self.new: list[Message] = [user]
        self.runs: list[ToolRun] = []
        self._pieces: list[str] = []
        self._size = 0
        self.usage = Usage()
        self.model = ""
        self.reason: StopReason = "end"
        self.limit: Limit = ""

    @property
    def text(self) -> str:
        """What the model has said since it was last asked."""
        return "".join(self._pieces)

    def begin(self, text: str = "") -> None:
        """Hear the model anew."""
        self._pieces, self._size = [text] if text else [], len(text)

    def hear(self, piece: str) -> bool:
        """Take a piece of the answer; whether there is room for more."""
        self._pieces.append(piece)
        self._size += len(piece)
        return self._size < LONGEST_ANSWER

    def stopped(self, how: str) -> list[Message]:
        """What to keep of a turn that did not end: all of it, what is not known, where it stopped.

        A call that was interrupted may have run: it stays.
        """
        unknown = [Message("tool", (unknown_outcome(call.id),)) for call in unanswered(self.new)]
        said = f"{self.text}\n[{how} here]" if self.text else f"[{how} before an answer]"
        return [*self.new, *unknown, Message("assistant", (Text(said),))]

    def what_ran(self) -> str:
        """Which tools ran, for one who might send the same message again; nothing if none did."""
        if not self.runs:
            return ""
        counted = Counter(map(str, self.runs))
        names = [name if count == 1 else f"{count} × {name}" for name, count in counted.items()]
        if len(names) > MOST_NAMED:
            names[MOST_NAMED:] = [f"{len(names) - MOST_NAMED} others"]
        return (
            f"Tools had run by then: {', '.join(names)}. What they did is done, and the session "
            "has it: the same message again would do it again"
        )


class LoopHooks(Struct, frozen=True):
    """What the loop works with: how to ask, run a tool, write down the exchange so far, keep the
    prompt short, and clean a text.
    """

    ask: Ask
    run: RunTool
    record: Record
    trim: Trim
    clean: Callable[[str], str]
    steps: int


async def converse(
    exchange: LoopState, prompt: Prompt, means: LoopHooks, callbacks: Callbacks
) -> None:
    """Carry the exchange to its end; `prompt` is what the model is asked first."""
    for _ in range(means.steps):
        calls = await _listen(exchange, prompt, means.ask, callbacks)
        text = exchange.text
        said: list[Part] = [Text(text)] if text else []
        if not calls:
            exchange.new.append(Message("assistant", tuple(said) or (Text("[no answer]"),)))
            return
        if text:
            callbacks.block(means.clean(text))
        answer = Message("assistant", (*said, *calls))
        exchange.new.append(answer)
        exchange.begin()
        try:
            await means.record(lasting=True)
        except StoreError:
            exchange.new.pop()  # what cannot be written down is not done
            raise
        outcomes = Message("tool", await _run_all(exchange, calls, means, callbacks))
        messages = means.trim((*prompt.messages, answer, outcomes))
        prompt = Prompt(prompt.system, messages, prompt.tools, prompt.max_tokens)
    rounds = "1 round" if means.steps == 1 else f"{means.steps} rounds"
    exchange.begin(f"[stopped after {rounds} of tool calls; say `go on` to continue]")
    exchange.reason, exchange.limit = "length", "rounds"
    exchange.new.append(Message("assistant", (Text(exchange.text),)))


async def _listen(
    exchange: LoopState, prompt: Prompt, ask: Ask, callbacks: Callbacks
) -> tuple[ToolCall, ...]:
    """Hear one answer of the model to its end; gives the calls it makes."""
    calls: list[ToolCall] = []

    def take_back() -> bool:
        if not callbacks.take_back():
            return False
        exchange.begin()
        calls.clear()
        return True

    exchange.begin()
    async with aclosing(ask(prompt, take_back)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                callbacks.text(event.text)
                if not exchange.hear(event.text):
                    exchange.reason, exchange.limit = "length", "size"
                    return ()
            elif isinstance(event, Called):
                calls.append(event.call)
            else:
                _finish(exchange, event)
    return tuple(calls)


def _finish(exchange: LoopState, event: Finished) -> None:
    exchange.usage += event.usage
    exchange.model = event.model or exchange.model
    exchange.reason = event.reason
    log.info("model %s: %s, %s", event.model, event.reason, event.usage)


async def _run_all(
    exchange: LoopState, calls: Sequence[ToolCall], means: LoopHooks, callbacks: Callbacks
) -> tuple[Part, ...]:
    """Run the calls of one answer side by side, and write down each outcome as it comes.

    If one is cancelled, all are.
    """

    async def one(call: ToolCall) -> Part:
        problem = unreadable(call)
        if problem is not None:
            outcome = ToolOutcome(call.id, (Text(problem),), is_error=True)
        else:
            outcome = await _run(exchange, call, means.run, callbacks)
        exchange.new.append(Message("tool", (outcome,)))
        try:
            await means.record()
        except StoreError as error:  # the end of the turn tries again, and says so
            log.warning("%s", error)
        return outcome

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(call)) for call in calls]
    return tuple(task.result() for task in running)


async def _run(
    exchange: LoopState, call: ToolCall, run: RunTool, callbacks: Callbacks
) -> ToolOutcome:
    started = ToolRun(call.name)
    exchange.runs.append(started)
    callbacks.tool_started(call)
    log.info("tool %s starts", call.name)
    result = await run(call)
    started.ended = "failed" if result.outcome.is_error else "done"
    log.info("tool %s ends after %.2f s", call.name, result.seconds)
    callbacks.tool_ended(call, result)
    return result.outcome
