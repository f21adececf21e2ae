"""One connected bridge: what it offers, and the acts it has not answered yet.

It knows no socket, only how to send a text; whoever holds the socket hands it what arrives. All of
it happens in one event loop.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

from clawkit.errors import ToolExecutionError, ToolTimeoutError
from clawkit.memory.bridges import frames
from clawkit.memory.bridges.frames import Capability, Failed, FrameError, Ping, Register, Result

ACT_SECONDS = 5.0
MOST_FAULTS = 10
"""After so many frames that cannot be used the connection is closed."""
MOST_ACTS = 100

Send = Callable[[str], Awaitable[None]]
"""Sends a text to the bridge; ConnectionError if it is not there any more."""


class Bridge:
    """One connection of a device or program to one Being."""

    def __init__(self, being: int, send: Send) -> None:
        self.being = being
        self.name = ""
        self.capabilities: dict[str, Capability] = {}
        self._send = send
        self._numbers = itertools.count(1)
        self._open: dict[str, asyncio.Future[Any]] = {}
        self._faults = 0
        self.gone = False

    @property
    def unbearable(self) -> bool:
        """Whether it has sent too much that cannot be used."""
        return self._faults >= MOST_FAULTS

    def offers(self, name: str, kind: str) -> bool:
        found = self.capabilities.get(name)
        return found is not None and found.kind == kind

    async def act(self, name: str, arguments: dict[str, Any], seconds: float = ACT_SECONDS) -> Any:
        """Have it do something, and wait for what it answers."""
        if len(self._open) >= MOST_ACTS:
            raise ToolExecutionError(f"{name}: the bridge {self.name} has too much to do already")
        act_id = str(next(self._numbers))
        answer = asyncio.get_running_loop().create_future()
        self._open[act_id] = answer
        frame = {"type": "act", "id": act_id, "name": name, "arguments": arguments}
        try:
            async with asyncio.timeout(seconds):
                await self._send(frames.encode(frame))
                return await answer
        except TimeoutError:
            raise ToolTimeoutError(
                f"{name}: the bridge {self.name} did not answer within {seconds:g} s"
            ) from None
        except ConnectionError:
            raise self._went(act_id) from None
        finally:
            del self._open[act_id]
            answer.cancel()

    async def take(self, frame: Register | Result | Failed | Ping) -> None:
        """What concerns this bridge alone."""
        if isinstance(frame, Register):
            self.name = frame.name
            self.capabilities = {each.name: each for each in frame.capabilities}
            await self.say({"type": "registered"})
        elif isinstance(frame, Ping):
            await self.say({"type": "pong"})
        else:
            self._settle(frame)

    async def refuse(self, problem: FrameError) -> None:
        """Say what was wrong with a frame, and remember that something was."""
        self._faults += 1
        await self.say({"type": "error", "error": str(problem)})

    async def say(self, frame: dict[str, Any]) -> None:
        await self._send(frames.encode(frame))

    def leave(self) -> None:
        """The connection is over: nothing that is still open will be answered."""
        self.gone = True
        for act_id, answer in list(self._open.items()):
            if not answer.done():
                answer.set_exception(self._went(act_id))

    def _went(self, act_id: str) -> ToolExecutionError:
        return ToolExecutionError(
            f"the bridge {self.name} went away before it answered act {act_id}"
        )

    def _settle(self, frame: Result | Failed) -> None:
        answer = self._open.get(frame.id)
        # One that nobody waits for came too late, or twice.
        if answer is None or answer.done():
            return
        if isinstance(frame, Failed):
            answer.set_exception(ToolExecutionError(f"{self.name}: {frame.error[:1000]}"))
        else:
            answer.set_result(frame.result)
