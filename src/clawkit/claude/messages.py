"""Messages of the CLI: JSON lines read and written, and typed; unknown ones pass through."""

from __future__ import annotations

import contextlib
import json
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawkit.errors import UNREADABLE_JSON, CliGarbageError
from clawkit.wire.jsonrpc import as_object

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode
_SHOWN = 200


def write_line(message: dict[str, Any]) -> bytes:
    """A message as a line, without its end; half an emoji, which is no UTF-8, is escaped."""
    try:
        return _encode(message)
    except UnicodeEncodeError:
        return json.dumps(message, default=msgspec.to_builtins).encode()


def read_line(line: bytes) -> dict[str, Any] | None:
    """The message in a line; None for one that never was a message, such as a stray print."""
    try:
        return _decode(line)
    except UNREADABLE_JSON:
        pass
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return _leniently(line.decode(errors="replace"))
    except RecursionError:
        raise CliGarbageError(f"a message is nested too deeply: {_shown(line)}…") from None
    except ValueError:
        said = f"the Claude CLI wrote what is no JSON object: {_shown(line)}"
        raise CliGarbageError(said) from None


def _leniently(text: str) -> dict[str, Any]:
    """Decodes JSON as JavaScript writes it: `NaN` becomes null, a lone surrogate U+FFFD."""
    found = json.loads(text, parse_constant=lambda _: None)
    written = json.dumps(found, ensure_ascii=False)
    whole = written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return json.loads(whole)


def _shown(line: bytes) -> str:
    return line[:_SHOWN].decode(errors="replace")


class TextBlock(Struct, frozen=True, tag_field="type", tag="text"):
    """Words."""

    text: str


class ThinkingBlock(Struct, frozen=True, tag_field="type", tag="thinking"):
    """What the model thought before it spoke."""

    thinking: str
    signature: str = ""


class ToolUseBlock(Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A call of a tool."""

    id: str
    name: str
    input: dict[str, Any]


class ToolResultBlock(Struct, frozen=True, tag_field="type", tag="tool_result"):
    """What a tool gave back."""

    tool_use_id: str
    content: str | list[dict[str, Any]] | None = None
    is_error: bool | None = None


class UnknownBlock(Struct, frozen=True):
    """A block of a kind that is not known here."""

    data: dict[str, Any]


KnownBlock = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock
Block = KnownBlock | UnknownBlock


class UserMessage(Struct, frozen=True):
    """What went to the model: words, or the results of tools."""

    content: str | tuple[Block, ...]
    parent_tool_use_id: str | None = None
    uuid: str | None = None
    session_id: str | None = None
    data: dict[str, Any] = {}

    @property
    def text(self) -> str:
        return _text(self.content)


class AssistantMessage(Struct, frozen=True):
    """What the model said."""

    content: tuple[Block, ...]
    model: str = ""
    parent_tool_use_id: str | None = None
    error: str | None = None
    session_id: str | None = None
    data: dict[str, Any] = {}

    @property
    def text(self) -> str:
        return _text(self.content)


class SystemMessage(Struct, frozen=True):
    """News of the CLI itself; `init` comes first and lists tools and servers."""

    subtype: str
    data: dict[str, Any]


class ResultMessage(Struct, frozen=True):
    """The end of a turn: what was answered, what it took."""

    subtype: str
    is_error: bool
    session_id: str
    duration_ms: int = 0
    duration_api_ms: int = 0
    num_turns: int = 0
    result: str | None = None
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    usage: dict[str, Any] = {}
    structured_output: Any = None
    permission_denials: list[dict[str, Any]] = []
    errors: list[str] = []
    answers: tuple[str, ...] = ()
    """The ids of the prompts that it answers, as `send` gave them."""
    origin: dict[str, Any] | None = None
    """What the turn came from if not from a prompt, such as an agent that is done."""
    data: dict[str, Any] = {}


class StreamEvent(Struct, frozen=True):
    """A piece of an answer that is still being given; with `include_partial_messages`."""

    event: dict[str, Any]
    session_id: str = ""
    parent_tool_use_id: str | None = None

    @property
    def text(self) -> str:
        """The new words, if it brings any."""
        delta = as_object(self.event.get("delta")) or {}
        return str(delta.get("text", "")) if delta.get("type") == "text_delta" else ""


class UnknownMessage(Struct, frozen=True):
    """A message of a kind that is not known here, or that does not look as it should."""

    type: str
    data: dict[str, Any]


Message = (
    UserMessage | AssistantMessage | SystemMessage | ResultMessage | StreamEvent | UnknownMessage
)


def parse_message(data: dict[str, Any]) -> Message:
    """A message of the CLI; never raises for one that is new to us."""
    kind = data.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    try:
        if reader is not None:
            return reader(data)
    except (msgspec.ValidationError, KeyError, TypeError):
        pass  # a shape we do not know is not an error: it is passed on as it came
    return UnknownMessage(str(kind), data)


def _user(data: dict[str, Any]) -> UserMessage:
    content = data["message"]["content"]
    return UserMessage(
        content if isinstance(content, str) else _blocks(content),
        data.get("parent_tool_use_id"),
        data.get("uuid"),
        data.get("session_id"),
        data,
    )


def _assistant(data: dict[str, Any]) -> AssistantMessage:
    message = data["message"]
    return AssistantMessage(
        _blocks(message["content"]),
        message.get("model", ""),
        data.get("parent_tool_use_id"),
        data.get("error"),
        data.get("session_id"),
        data,
    )


def _system(data: dict[str, Any]) -> SystemMessage:
    return SystemMessage(data["subtype"], data)


def _result(data: dict[str, Any]) -> ResultMessage:
    """Whatever it looks like, it is the end of the turn, and somebody waits for that."""
    fields: dict[str, Any] = {
        "subtype": str(data.get("subtype")),
        "is_error": bool(data.get("is_error")),
        "session_id": "",
    }
    fields |= _fitting(data, ResultMessage)
    fields |= {"answers": _answers(data), "data": data}
    return ResultMessage(**fields)


def _answers(data: dict[str, Any]) -> tuple[str, ...]:
    named = data.get("user_message_uuids")
    several = (
        cast("list[Any]", named) if isinstance(named, list) else [data.get("user_message_uuid")]
    )
    return tuple(uuid for uuid in several if isinstance(uuid, str))


def _stream_event(data: dict[str, Any]) -> StreamEvent:
    try:
        return msgspec.convert(data, StreamEvent)  # there are many of them, and few are odd
    except msgspec.ValidationError:
        return StreamEvent(**_fitting(data, StreamEvent))


def _fitting(data: dict[str, Any], kind: type[Struct]) -> dict[str, Any]:
    """The fields of a message that are as they should be: one that is odd spoils no other."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.name in data:
            with contextlib.suppress(msgspec.ValidationError):
                found[field.name] = msgspec.convert(data[field.name], field.type)
    return found


_READERS = {
    "user": _user,
    "assistant": _assistant,
    "system": _system,
    "result": _result,
    "stream_event": _stream_event,
}


def _blocks(content: list[dict[str, Any]]) -> tuple[Block, ...]:
    return tuple(_block(block) for block in content)


def _block(data: dict[str, Any]) -> Block:
    try:
        return msgspec.convert(data, KnownBlock)
    except msgspec.ValidationError:
        return UnknownBlock(data)


def _text(content: str | tuple[Block, ...]) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.text for block in content if isinstance(block, TextBlock))
