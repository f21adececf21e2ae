"""What a client sees while it waits: a heartbeat, each tool step, and the text so far."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from clawkit.assistant.reply import Callbacks

if TYPE_CHECKING:
    from clawkit.assistant.toolbox.toolbox import CallResult
    from clawkit.models.protocol import ToolCall
    from clawkit.wire.context import Context

BETWEEN_TEXTS = 0.25
LONGEST_TEXT = 8000


class Progress(Callbacks):
    """Sends progress of one order; each message counts one further, as the protocol wants."""

    def __init__(self, context: Context, heartbeat: float) -> None:
        self._context = context
        self._heartbeat = heartbeat
        self._started = time.monotonic()
        self._count = 0
        self._text: str = ""
        self._shown: str = ""
        self._seen = False
        """Whether the client has seen any of the text since the last block."""
        self._notices: list[str] = []
        self._steps: dict[str, str] = {}
        self._last = 0.0
        self._due: asyncio.TimerHandle | None = None
        self._beats: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Progress:
        self._beats = asyncio.get_running_loop().create_task(self._beat())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._due is not None:
            self._due.cancel()
        if self._beats is not None:
            self._beats.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beats

    def text(self, delta: str) -> None:
        self._text = f"{self._text}{delta}"[-LONGEST_TEXT:]
        self._soon()

    def take_back(self) -> bool:
        if self._seen:
            return False
        self._text = ""
        return True

    def block(self, text: str) -> None:  # noqa: ARG002 - it came in pieces already
        self._show()
        self._text = ""
        self._seen = False

    def tool_started(self, call: ToolCall) -> None:
        self._show()
        self._say(f"calling {call.name}")

    def tool_ended(self, call: ToolCall, result: CallResult) -> None:
        how = "failed" if result.outcome.is_error else "answered"
        self._say(f"{call.name} {how} after {result.seconds:.1f} s")

    def step(self, text: str, tool: str = "") -> None:
        """A tool may have much to say about itself: the client hears the last of it."""
        self._steps[tool] = f"{tool}: {text}" if tool else text
        self._soon()

    def notice(self, text: str) -> None:
        self._notices.append(text)
        self._soon()

    def _soon(self) -> None:
        if self._due is None:
            wait = max(0.0, self._last + BETWEEN_TEXTS - time.monotonic())
            self._due = asyncio.get_running_loop().call_later(wait, self._show)

    def _show(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        said = (*self._notices, *self._steps.values())
        self._notices.clear()
        self._steps.clear()
        for one in said:
            self._say(one)
        if self._text and self._text != self._shown:
            self._shown = self._text
            self._seen = self._seen or self._is_heard()
            self._say(self._text if len(self._text) < LONGEST_TEXT else f"…{self._text}")

    def _is_heard(self) -> bool:
        return self._context.task_id is not None or "progressToken" in self._context.meta

    def _say(self, message: str) -> None:
        self._last = time.monotonic()
        self._count += 1
        self._context.progress(self._count, message=message)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._heartbeat)
            if time.monotonic() - self._last >= self._heartbeat:
                self._say(f"working for {time.monotonic() - self._started:.0f} s")
