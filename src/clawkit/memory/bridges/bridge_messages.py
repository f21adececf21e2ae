"""The JSON messages between a bridge and the server, told apart by `type`.

From the bridge: `register`, `sense`, `result`, `error`, `ping`, `pong`. From the server:
`registered`, `act`, `error`, `pong`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from clawkit.memory.bridges.json_schema import BadSchemaError, check_schema

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


def decode(text: str | bytes) -> Frame:
    """A frame that is as it should be; else FrameError."""
    if len(text) > LONGEST_FRAME:
        raise FrameError(f"a frame may have at most {LONGEST_FRAME} bytes")
    try:
        frame = _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise FrameError(f"this frame cannot be used: {str(error)[:200]}") from None
    if isinstance(frame, Register):
        _check_register(frame)
    if isinstance(frame, Sense) and len(msgspec.json.encode(frame.value)) > LONGEST_VALUE:
        raise FrameError(f"a sensed value may have at most {LONGEST_VALUE} bytes")
    return frame


def encode(frame: dict[str, Any]) -> str:
    return msgspec.json.encode(frame).decode()


def moment_of(sense: Sense, now: float) -> str:
    """When it was sensed, as an ISO time in UTC; now, if the bridge does not say."""
    at = now if sense.at is None else sense.at
    try:
        found = (
            datetime.fromisoformat(at) if isinstance(at, str) else datetime.fromtimestamp(at, UTC)
        )
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
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
