"""All bridges of this process: which Being has which, and what was sensed last.

Two bridges of a Being may have a capability of the same name: the one that registered last is
asked, and the other again when that one leaves. A Being's bridges are never seen by another.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from clawkit.errors import BeingError, ToolExecutionError
from clawkit.memory.bridges import frames
from clawkit.memory.bridges.bridge import ACT_SECONDS, Bridge, Send
from clawkit.memory.bridges.frames import FrameError, Pong, Register, Sense
from clawkit.memory.bridges.schemas import check_arguments
from clawkit.memory.pace import Pace

MOST_BRIDGES = 20
MOST_SENSES = 200
SENSES_A_SECOND = 10.0
SENSES_AT_ONCE = 50


class Sensed(msgspec.Struct, frozen=True):
    """The latest that a Being was told about one thing."""

    name: str
    value: Any
    at: str
    bridge: str


class Bridges:
    """The bridges that are connected here.

    They come and go in one event loop. Threads may read: what they see is replaced, never changed.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, act_seconds: float = ACT_SECONDS
    ) -> None:
        self._clock = clock
        self._act_seconds = act_seconds
        self._of: dict[int, list[Bridge]] = {}
        self._sensed: dict[int, dict[str, Sensed]] = {}
        self._paces: dict[Bridge, Pace] = {}

    @property
    def connected(self) -> int:
        return len(self._paces)

    def join(self, being: int, send: Send) -> Bridge:
        """A new connection, which has to register before it counts for anything."""
        if len(self._of.get(being, ())) >= MOST_BRIDGES:
            raise BeingError(f"a Being may have at most {MOST_BRIDGES} bridges at once")
        bridge = Bridge(being, send)
        self._of[being] = [*self._of.get(being, ()), bridge]
        self._paces[bridge] = Pace(SENSES_A_SECOND, SENSES_AT_ONCE)
        return bridge

    def leave(self, bridge: Bridge) -> None:
        """A connection is over; what it has sensed stays known."""
        bridge.leave()
        self._paces.pop(bridge, None)
        left = [other for other in self._of.get(bridge.being, ()) if other is not bridge]
        if left:
            self._of[bridge.being] = left
        else:
            self._of.pop(bridge.being, None)

    async def hear(self, bridge: Bridge, text: str | bytes) -> None:
        """Take one message of a bridge; one that cannot be used is answered with an error."""
        try:
            frame = frames.decode(text)
            if isinstance(frame, Sense):
                await self._sense(bridge, frame)
            elif not isinstance(frame, Pong):
                await bridge.take(frame)
                if isinstance(frame, Register):
                    self._put_last(bridge)
        except FrameError as problem:
            await bridge.refuse(problem)

    def capabilities(self, being: int) -> list[dict[str, Any]]:
        """What the bridges of a Being can do: name, description and schema of each act."""
        found = {
            capability.name: {
                "name": capability.name,
                "description": capability.description,
                "input_schema": capability.input_schema,
            }
            for bridge in self._of.get(being, ())
            for capability in bridge.capabilities.values()
            if capability.kind == "act"
        }
        return [found[name] for name in sorted(found)]

    def senses(self, being: int) -> list[dict[str, Any]]:
        """The latest value of each sense, and whether a bridge for it is connected now."""
        bridges = self._of.get(being, ())
        return [
            {**msgspec.structs.asdict(sensed), "connected": _offered(bridges, name, "sense")}
            for name, sensed in sorted(self._sensed.get(being, {}).items())
        ]

    async def act(self, being: int, name: str, arguments: dict[str, Any]) -> Any:
        """Have the Being's newest bridge with this capability do it, with what it declared."""
        for bridge in reversed(self._of.get(being, ())):
            if bridge.offers(name, "act"):
                check_arguments(bridge.capabilities[name].input_schema, arguments)
                return await bridge.act(name, arguments, self._act_seconds)
        offered = ", ".join(each["name"] for each in self.capabilities(being)) or "none"
        raise ToolExecutionError(
            f"no bridge that is connected can do {name[:100]!r}; there are: {offered}"
        )

    def _put_last(self, bridge: Bridge) -> None:
        others = [other for other in self._of.get(bridge.being, ()) if other is not bridge]
        self._of[bridge.being] = [*others, bridge]

    async def _sense(self, bridge: Bridge, frame: Sense) -> None:
        if not bridge.offers(frame.name, "sense"):
            raise FrameError("this sense is not registered")
        if self._paces[bridge].take() > 0:
            await bridge.say(
                {"type": "error", "error": f"at most {SENSES_A_SECOND:g} senses a second"}
            )
            return
        known = self._sensed.get(bridge.being, {})
        if frame.name not in known and len(known) >= MOST_SENSES:
            raise FrameError(f"a Being may have at most {MOST_SENSES} senses")
        at = frames.moment_of(frame, self._clock())
        sensed = Sensed(frame.name, frame.value, at, bridge.name)
        self._sensed[bridge.being] = {**known, frame.name: sensed}


def _offered(bridges: list[Bridge] | tuple[Bridge, ...], name: str, kind: str) -> bool:
    return any(bridge.offers(name, kind) for bridge in bridges)
