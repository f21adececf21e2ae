"""The model loop: ask, run the tools it calls, ask again, until there is an answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from msgspec import Struct

from clawkit.assistant.exchange import Callbacks
from clawkit.assistant.models.arguments import unreadable
from clawkit.assistant.models.protocol import (
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

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from clawkit.assistant.toolbox.toolbox import CallResult

log = logging.getLogger("clawkit.assistant")

LONGEST_ANSWER = 4_000_000
"""Characters after which a model that does not stop is stopped."""

Ask = Callable[[Prompt], "AsyncGenerator[Event]"]
RunTool = Callable[[ToolCall], Awaitable["CallResult"]]
Trim = Callable[[tuple[Message, ...]], tuple[Message, ...]]


class Exchange:
    """One turn as it grows: what is new in the conversation, what it cost, how it ended."""

    def __init__(self, user: Message) -> None:
        self.new: list[Message] = [user]
        self._pieces: list[str] = []
        self._size = 0
        self.usage = Usage()
        self.model = ""
        self.reason: StopReason = "end"
        self.rounds_ended = False

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
        """What to keep of a turn that did not end: complete messages, and where it stopped."""
        while len(self.new) > 1 and self.new[-1].role == "assistant":
            self.new.pop()  # its calls have no outcomes
        said = f"{self.text}\n[{how} here]" if self.text else f"[{how} before an answer]"
        return [*self.new, Message("assistant", (Text(said),))]


class Means(Struct, frozen=True):
    """What the loop works with: how to ask, run a tool, keep the prompt short, and clean a text."""

    ask: Ask
    run: RunTool
    trim: Trim
    clean: Callable[[str], str]
    steps: int


async def converse(exchange: Exchange, prompt: Prompt, means: Means, callbacks: Callbacks) -> None:
    """Carry the exchange to its end; `prompt` is what the model is asked first."""
    for _ in range(means.steps):
        exchange.begin()
        calls = await _listen(exchange, means.ask(prompt), callbacks)
        text = exchange.text
        said: list[Part] = [Text(text)] if text else []
        if not calls:
            exchange.new.append(Message("assistant", tuple(said) or (Text("[no answer]"),)))
            return
        if text:
            callbacks.block(means.clean(text))
        answer = Message("assistant", (*said, *calls))
        exchange.new.append(answer)
        outcomes = Message("tool", await _run_all(calls, means.run, callbacks))
        exchange.new.append(outcomes)
        messages = means.trim((*prompt.messages, answer, outcomes))
        prompt = Prompt(prompt.system, messages, prompt.tools, prompt.max_tokens)
    rounds = "1 round" if means.steps == 1 else f"{means.steps} rounds"
    exchange.begin(f"[stopped after {rounds} of tool calls; say `go on` to continue]")
    exchange.reason, exchange.rounds_ended = "length", True
    exchange.new.append(Message("assistant", (Text(exchange.text),)))


async def _listen(
    exchange: Exchange, events: AsyncGenerator[Event], callbacks: Callbacks
) -> tuple[ToolCall, ...]:
    """Hear one answer of the model to its end; gives the calls it makes."""
    calls: list[ToolCall] = []
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TextDelta):
                callbacks.text(event.text)
                if not exchange.hear(event.text):
                    exchange.reason = "length"
                    return ()
            elif isinstance(event, Called):
                calls.append(event.call)
            else:
                _finish(exchange, event)
    return tuple(calls)


def _finish(exchange: Exchange, event: Finished) -> None:
    exchange.usage += event.usage
    exchange.model = event.model or exchange.model
    exchange.reason = event.reason
    log.info("model %s: %s, %s", event.model, event.reason, event.usage)


async def _run_all(
    calls: Sequence[ToolCall], run: RunTool, callbacks: Callbacks
) -> tuple[Part, ...]:
    """Run the calls of one answer side by side; if one is cancelled, all are."""

    async def one(call: ToolCall) -> Part:
        problem = unreadable(call)
        if problem is not None:
            return ToolOutcome(call.id, (Text(problem),), is_error=True)
        callbacks.tool_started(call)
        log.info("tool %s starts", call.name)
        result = await run(call)
        log.info("tool %s ends after %.2f s", call.name, result.seconds)
        callbacks.tool_ended(call, result)
        return result.outcome

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(call)) for call in calls]
    return tuple(task.result() for task in running)
