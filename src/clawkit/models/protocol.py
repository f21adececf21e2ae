"""What a model is: a prompt in, events out. To add one, write this and an entry point."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal, Protocol

from msgspec import Struct

StopReason = Literal["end", "tools", "length", "refusal", "cancelled", "failed"]
Role = Literal["user", "assistant", "tool"]


class Text(Struct, frozen=True, tag="text"):
    """Words, exactly as they were said."""

    text: str


class Image(Struct, frozen=True, tag="image"):
    """A picture; a model that cannot see gets its name instead."""

    data: bytes
    mime_type: str
    name: str = "image"


class ToolCall(Struct, frozen=True, tag="call"):
    """The model wants a tool to be called."""

    id: str
    name: str
    arguments: dict[str, Any]


class ToolOutcome(Struct, frozen=True, tag="outcome"):
    """What came of a call: text and pictures for the model."""

    call_id: str
    parts: tuple[Text | Image, ...]
    is_error: bool = False


Part = Text | Image | ToolCall | ToolOutcome


class File(Struct, frozen=True):
    """A file that came or went with a message, kept for display."""

    data: bytes
    mime_type: str
    name: str


class Message(Struct, frozen=True):
    """One turn of one side. Outcomes of tools are messages of role `tool`."""

    role: Role
    parts: tuple[Part, ...]
    files: tuple[File, ...] = ()
    """No model is shown them: what it is to read stands in the parts."""


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: dict[str, Any]


class Prompt(Struct, frozen=True):
    """Everything a model is asked with. `system` and `tools` stay the same from turn to turn."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 4096


class Usage(Struct, frozen=True):
    """Tokens, as the provider counts them."""

    input: int = 0
    output: int = 0
    cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input, self.output + other.output, self.cached + other.cached
        )


class TextDelta(Struct, frozen=True):
    """A few more characters of the answer."""

    text: str


class Called(Struct, frozen=True):
    """A call of a tool, complete."""

    call: ToolCall


class Finished(Struct, frozen=True):
    """The last event of every stream."""

    reason: StopReason
    usage: Usage = Usage()
    model: str = ""


Event = TextDelta | Called | Finished


class ModelSettings(Struct, frozen=True):
    """What a model is made from: its name, and its provider as the config and the secrets say."""

    provider: str
    model: str
    base_url: str = ""
    key: str = ""
    timeout: float = 120.0
    headers: dict[str, str] = {}
    address_setting: str = ""
    """Where the address is set, if not in the assistant's config; errors say so."""

    def __repr__(self) -> str:
        return f"ModelSettings({self.provider}/{self.model})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("provider", self.provider), ("model", self.model)]


class Model(Protocol):
    """Something that answers a prompt."""

    @property
    def name(self) -> str:
        """As the config writes it: `provider/model`."""
        ...

    @property
    def context(self) -> int:
        """How many tokens fit into it."""
        ...

    def stream(self, prompt: Prompt) -> AsyncIterator[Event]:
        """The answer as it comes, with `Finished` at the end; cancelling the task ends the call."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def ending(said: StopReason, *, calls: bool) -> StopReason:
    """The reason that fits what came: some servers end calls like any other answer, or none so.

    A call that reached the limit of the answer is told to the model as one that failed.
    """
    if said == "refusal":
        return said
    if calls:
        return "tools"
    return "end" if said == "tools" else said
