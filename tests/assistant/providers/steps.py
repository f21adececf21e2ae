"""What a scripted provider does with a request, step by step.

A script is a list; each request takes the next element of it:

    Say("Hello ", "there")                    an answer, streamed in these pieces
    Call("add", {"a": 1, "b": 2})             an answer that calls a tool
    [Say("Let me look."), Call("look"), Call("listen")]    several of them in one answer
    Reply(Say("Hi"), input=9, output=2, stop="length", model="other", split=1)   with details
    Status(429, headers={"retry-after": "1"})              no stream at all
    [Say("Hel"), Cut()]                       the connection breaks in mid-answer
    [Say("Hel"), Hang()]                      nothing more comes
    [Say("Hel"), Pause(0.2), Say("lo")]       something comes later
    [Fault("overloaded_error", "Overloaded")] an error inside the stream
    [Raw(b"data: {oops\\n\\n")]               bytes, as they are

or a function of the request that gives one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec


@dataclass(frozen=True, init=False)
class Say:
    """Text, each piece in an event of its own."""

    pieces: tuple[str, ...]
    pause: float

    def __init__(self, *pieces: str, pause: float = 0.0) -> None:
        object.__setattr__(self, "pieces", pieces)
        object.__setattr__(self, "pause", pause)


@dataclass(frozen=True)
class Call:
    """A call of a tool; arguments given as a text are sent as they are, broken or not."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str = ""
    pieces: int = 3


@dataclass(frozen=True)
class Pause:
    """Nothing for a while."""

    seconds: float


@dataclass(frozen=True)
class Hang:
    """Nothing more, until the client goes away."""


@dataclass(frozen=True)
class Cut:
    """The connection breaks."""


@dataclass(frozen=True)
class Fault:
    """An error event inside the stream."""

    kind: str = "overloaded_error"
    message: str = "Overloaded"
    code: int | str | None = None


@dataclass(frozen=True)
class Raw:
    """Bytes in the stream."""

    data: bytes


Part = Say | Call | Pause | Hang | Cut | Fault | Raw


@dataclass(frozen=True, init=False)
class Reply:
    """A streamed answer. `split` sends its bytes in pieces of that many, wherever they end.

    `ends=False` leaves out how such a stream is ended; the connection closes in good order.
    """

    parts: tuple[Part, ...]
    input: int
    output: int
    cached: int
    stop: str
    model: str
    split: int
    ends: bool
    headers: Mapping[str, str]

    def __init__(
        self,
        *parts: Part,
        input: int = 12,
        output: int = 7,
        cached: int = 0,
        stop: str = "",
        model: str = "",
        split: int = 0,
        ends: bool = True,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        for name, value in locals().copy().items():
            if name != "self":
                object.__setattr__(self, name, value if name != "headers" else value or {})


@dataclass(frozen=True)
class Status:
    """An answer that is no stream. Without a body it has the error that its provider would send."""

    code: int
    body: dict[str, Any] | str | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "as the script says"
    kind: str = ""
    """The provider's word for the error: `invalid_request_error`, `context_length_exceeded`, …"""


class Request(msgspec.Struct, frozen=True):
    """A request as it reached the server; names of headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.json["messages"]

    @property
    def last_text(self) -> str:
        """The words of the last message."""
        content = self.messages[-1]["content"]
        if isinstance(content, str):
            return content
        return "\n".join(part["text"] for part in content if part.get("type") == "text")

    @property
    def tools(self) -> list[str]:
        """The names of the tools that were offered."""
        offered = self.json.get("tools", [])
        return [tool.get("name") or tool["function"]["name"] for tool in offered]


Step = Part | Reply | Status | Sequence[Part]
Script = Sequence[Step] | Callable[[Request], Step]

_KINDS: dict[str, type[Any]] = {
    "call": Call,
    "pause": Pause,
    "hang": Hang,
    "cut": Cut,
    "fault": Fault,
    "status": Status,
}


def as_answer(step: Step) -> Reply | Status:
    if isinstance(step, (Reply, Status)):
        return step
    if isinstance(step, Sequence):
        return Reply(*step)
    return Reply(step)


def read_step(value: Any) -> Step:
    """A step written as JSON: `{"say": ["Hel", "lo"]}`, `{"call": {"name": …}}`, or a list of such.

    `{"reply": [steps], "input": 3, "stop": "length"}` is a `Reply` with its details.
    """
    if isinstance(value, list):
        return tuple(_read_part(part) for part in value)
    if "reply" in value:
        details = {name: detail for name, detail in value.items() if name != "reply"}
        return Reply(*(_read_part(part) for part in value["reply"]), **details)
    return _read_part(value)


def _read_part(value: dict[str, Any]) -> Any:
    if "say" in value:
        said = value["say"]
        pieces = [said] if isinstance(said, str) else said
        return Say(*pieces, pause=value.get("pause", 0.0))
    if "raw" in value:
        return Raw(value["raw"].encode())
    for name, kind in _KINDS.items():
        if name in value:
            return kind(**value[name]) if isinstance(value[name], dict) else kind(value[name])
    raise ValueError(f"no step: {value}")
