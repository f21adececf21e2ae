"""What a model is: a prompt in, events out; and about how many tokens a prompt is. To add a model,
write this and an entry point.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any, Literal, Protocol

import msgspec
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


IMAGE_TOKENS = 1600
"""A picture, whatever its size: what the large providers charge for one at most."""

_FRAME = 4
"""What a message, a call or an outcome costs beside its words."""

_PROSE = b"abcdefghijklmnopqrstuvwxyz \t\r\n"
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_TWO = bytes(range(0xC0, 0xE0))
_THREE = bytes(range(0xE0, 0xF0))
_ASCII = bytes(range(0x80))


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text: cheap, never far too low, the same for every model.

    A longer text never has fewer than its beginning. A letter of prose is a quarter of a token.
    Capitals, digits and signs, which JSON, code and base64 are full of, are half a token. Beyond
    ASCII the UTF-8 length of a character decides: two bytes (accents, Cyrillic, Arabic) half a
    token, three (Chinese, Japanese, Korean) one, four (emoji) two.
    """
    data = text.encode("utf-8", "surrogatepass")
    dense = data.translate(None, _PROSE)
    quarters = len(data) - len(dense)
    if text.isascii():
        return (quarters + 2 * len(dense) + 3) // 4
    leads = dense.translate(None, _CONTINUATIONS)
    wide = leads.translate(None, _ASCII)
    quarters += 2 * (len(leads) - len(wide))
    three_and_four = wide.translate(None, _TWO)
    four = three_and_four.translate(None, _THREE)
    quarters += 2 * (len(wide) - len(three_and_four))
    quarters += 4 * (len(three_and_four) - len(four)) + 8 * len(four)
    return (quarters + 3) // 4


def message_tokens(message: Message) -> int:
    return _FRAME + sum(map(part_tokens, message.parts))


def messages_tokens(messages: Iterable[Message]) -> int:
    return sum(map(message_tokens, messages))


def part_tokens(part: Part) -> int:
    if isinstance(part, Text):
        return count_tokens(part.text)
    if isinstance(part, Image):
        return IMAGE_TOKENS
    if isinstance(part, ToolCall):
        return _FRAME + count_tokens(part.name) + _json_tokens(part.arguments)
    return _FRAME + sum(map(part_tokens, part.parts))


def prompt_tokens(prompt: Prompt) -> int:
    """All that is sent: instructions, tools and conversation."""
    tools = sum(
        _FRAME
        + count_tokens(tool.name)
        + count_tokens(tool.description)
        + _json_tokens(tool.input_schema)
        for tool in prompt.tools
    )
    return _FRAME + count_tokens(prompt.system) + tools + messages_tokens(prompt.messages)


def _json_tokens(value: object) -> int:
    return count_tokens(msgspec.json.encode(value).decode())
