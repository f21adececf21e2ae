"""Bridges: devices and programs that sense for a Being and act for it; their JSON messages.

A bridge is one open connection to one server process, and its acts and senses are known to that
process alone. Where several processes serve one store, route the bridges and the clients of a
Being to the same one (by the Being's id in the path).

Messages are told apart by `type`. From the bridge: `register`, `sense`, `result`, `error`, `ping`,
`pong`. From the server: `registered`, `act`, `error`, `pong`.

A bridge knows no socket, only how to send a text; whoever holds the socket hands it what arrives.
All of it happens in one event loop. Two bridges of a Being may have a capability of the same name:
the one that registered last is asked, and the other again when that one leaves. A Being's bridges
are never seen by another.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from clawkit.errors import UNREADABLE_JSON, BeingError, ToolExecutionError, ToolTimeoutError
from clawkit.memory.bridge_schemas import BadSchemaError, check_arguments, check_schema
from clawkit.memory.records import utc
from clawkit.system.rate_limiter import TokenBucket

LONGEST_FRAME = 256 * 1024
MOST_CAPABILITIES = 100
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1000
LONGEST_SCHEMA = 16 * 1024
LONGEST_VALUE = 4 * 1024

_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class FrameError(Exception):
    """A frame that cannot be used; its text is what the bridge is told."""


class Capability(msgspec.Struct, frozen=True):
    """One thing a bridge can do for its Being (`act`), or tell it (`sense`)."""

    name: str
    kind: Literal["act", "sense"]
    description: str = ""
    input_schema: dict[str, Any] = {}


class Register(msgspec.Struct, frozen=True, tag="register"):
    name: str
    capabilities: list[Capability]


class Sense(msgspec.Struct, frozen=True, tag="sense"):
    name: str
    value: Any
    at: str | float | None = None


class ActResult(msgspec.Struct, frozen=True, tag="result"):
    id: str
    result: Any = None


class ActFailed(msgspec.Struct, frozen=True, tag="error"):
    id: str
    error: str = "the bridge gave no reason"


class Ping(msgspec.Struct, frozen=True, tag="ping"):
    pass


class Pong(msgspec.Struct, frozen=True, tag="pong"):
    pass


Frame = Register | Sense | ActResult | ActFailed | Ping | Pong

_decoder = msgspec.json.Decoder(Frame)


def decode_frame(text: str | bytes) -> Frame:
    """A frame that is as it should be; else FrameError."""
    if len(text) > LONGEST_FRAME:
        raise FrameError(f"a frame may have at most {LONGEST_FRAME} bytes")
    try:
        frame = _decoder.decode(text)
    except UNREADABLE_JSON as error:
        raise FrameError(f"this frame cannot be used: {str(error)[:200]}") from None
    if isinstance(frame, Register):
        _check_register(frame)
    if isinstance(frame, Sense) and len(msgspec.json.encode(frame.value)) > LONGEST_VALUE:
        raise FrameError(f"a sensed value may have at most {LONGEST_VALUE} bytes")
    return frame


def _encode(frame: dict[str, Any]) -> str:
    return msgspec.json.encode(frame).decode()


def moment_of(sense: Sense, now: float) -> str:
    """When it was sensed, as an ISO time in UTC; now, if the bridge does not say."""
    at = now if sense.at is None else sense.at
    try:
        found = utc(at) if isinstance(at, str) else datetime.fromtimestamp(at, UTC)
        return found.astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        raise FrameError("at must be an ISO time or seconds since 1970") from None


def _check_register(frame: Register) -> None:
    _check_name(frame.name, "the name of a bridge")
    if len(frame.capabilities) > MOST_CAPABILITIES:
        raise FrameError(f"a bridge may have at most {MOST_CAPABILITIES} capabilities")
    names = [capability.name for capability in frame.capabilities]
    if len(set(names)) < len(names):
        raise FrameError("each capability of a bridge needs a name of its own")
    for capability in frame.capabilities:
        _check_name(capability.name, "the name of a capability")
        if len(capability.description) > LONGEST_DESCRIPTION:
            raise FrameError(f"a description may have at most {LONGEST_DESCRIPTION} characters")
        if len(msgspec.json.encode(capability.input_schema)) > LONGEST_SCHEMA:
            raise FrameError(f"an input_schema may have at most {LONGEST_SCHEMA} bytes")
        try:
            check_schema(capability.input_schema)
        except BadSchemaError as error:
            problem = f"the input_schema of {capability.name} is no JSON Schema: {error}"
            raise FrameError(problem[:300]) from None


def _check_name(name: str, what: str) -> None:
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise FrameError(f"{what} is of 1 to {LONGEST_NAME} letters, digits, '_', '-' and '.'")


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
                await self._send(_encode(frame))
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

    async def take(self, frame: Register | ActResult | ActFailed | Ping) -> None:
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
        await self._send(_encode(frame))

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

    def _settle(self, frame: ActResult | ActFailed) -> None:
        answer = self._open.get(frame.id)
        # One that nobody waits for came too late, or twice.
        if answer is None or answer.done():
            return
        if isinstance(frame, ActFailed):
            answer.set_exception(ToolExecutionError(f"{self.name}: {frame.error[:1000]}"))
        else:
            answer.set_result(frame.result)


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
        self._of: dict[int, tuple[Bridge, ...]] = {}
        self._sensed: dict[int, dict[str, Sensed]] = {}
        self._limits: dict[Bridge, TokenBucket] = {}

    @property
    def connected(self) -> int:
        return len(self._limits)

    def join(self, being: int, send: Send) -> Bridge:
        """A new connection, which has to register before it counts for anything."""
        if len(self._of.get(being, ())) >= MOST_BRIDGES:
            raise BeingError(f"a Being may have at most {MOST_BRIDGES} bridges at once")
        bridge = Bridge(being, send)
        self._of[being] = (*self._of.get(being, ()), bridge)
        self._limits[bridge] = TokenBucket(SENSES_A_SECOND, SENSES_AT_ONCE)
        return bridge

    def leave(self, bridge: Bridge) -> None:
        """A connection is over; what it has sensed stays known."""
        bridge.leave()
        self._limits.pop(bridge, None)
        left = self._others(bridge)
        if left:
            self._of[bridge.being] = left
        else:
            self._of.pop(bridge.being, None)

    async def hear(self, bridge: Bridge, text: str | bytes) -> None:
        """Take one message of a bridge; one that cannot be used is answered with an error."""
        try:
            frame = decode_frame(text)
            if isinstance(frame, Sense):
                await self._sense(bridge, frame)
            elif not isinstance(frame, Pong):
                await bridge.take(frame)
                if isinstance(frame, Register):
                    self._of[bridge.being] = (*self._others(bridge), bridge)
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
            {
                **msgspec.structs.asdict(sensed),
                "connected": any(bridge.offers(name, "sense") for bridge in bridges),
            }
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

    def _others(self, bridge: Bridge) -> tuple[Bridge, ...]:
        return tuple(other for other in self._of.get(bridge.being, ()) if other is not bridge)

    async def _sense(self, bridge: Bridge, frame: Sense) -> None:
        if not bridge.offers(frame.name, "sense"):
            raise FrameError("this sense is not registered")
        if self._limits[bridge].take() > 0:
            await bridge.say(
                {"type": "error", "error": f"at most {SENSES_A_SECOND:g} senses a second"}
            )
            return
        known = self._sensed.get(bridge.being, {})
        if frame.name not in known and len(known) >= MOST_SENSES:
            raise FrameError(f"a Being may have at most {MOST_SENSES} senses")
        at = moment_of(frame, self._clock())
        sensed = Sensed(frame.name, frame.value, at, bridge.name)
        self._sensed[bridge.being] = {**known, frame.name: sensed}
