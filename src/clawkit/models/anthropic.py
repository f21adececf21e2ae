"""The Anthropic Messages API: `POST {base_url}/v1/messages`, streamed."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from clawkit.models.http import ProviderClient, ProviderRefusal, ProviderResponse
from clawkit.models.json_fields import Json, fields, number, objects, text
from clawkit.models.message_history import SEEN_TYPES, describe, tidy
from clawkit.models.protocol import (
    Called,
    Event,
    Finished,
    Image,
    Message,
    ModelSettings,
    Part,
    Prompt,
    StopReason,
    Text,
    TextDelta,
    ToolCall,
    Usage,
    ending,
)
from clawkit.models.provider_errors import (
    broke_off,
    from_status,
    no_stream,
    read_error,
    too_many_arguments,
)
from clawkit.models.tool_calls import A_CALL, LONGEST_ARGUMENTS, ToolNames, read_arguments

_CACHED: Json = {"cache_control": {"type": "ephemeral"}}
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")


def build(prompt: Prompt, model: str, names: ToolNames) -> Json:
    body: Json = {
        "model": model,
        "max_tokens": prompt.max_tokens,
        "stream": True,
        "messages": _messages(prompt.messages, names),
    }
    if prompt.system.strip():
        body["system"] = [{"type": "text", "text": prompt.system, **_CACHED}]
    if prompt.tools:
        body["tools"] = [
            {
                "name": names.sent(tool.name),
                "description": tool.description,
                "input_schema": {"type": "object", **tool.input_schema},
            }
            for tool in prompt.tools
        ]
        body["tools"][-1] |= _CACHED
    return body


def _messages(messages: Sequence[Message], names: ToolNames) -> list[Json]:
    """The turns, which must alternate; outcomes come first in the turn that has them."""
    found: list[Json] = []
    for message in tidy(messages):
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.parts for block in _blocks(part, names)]
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": blocks})
    found[-1]["content"][-1] |= _CACHED
    return found


def _blocks(part: Part, names: ToolNames) -> Iterator[Json]:
    if isinstance(part, Text):
        yield {"type": "text", "text": part.text}
    elif isinstance(part, Image):
        yield _image(part)
    elif isinstance(part, ToolCall):
        name = names.sent(part.name)
        yield {"type": "tool_use", "id": _id(part.id), "name": name, "input": part.arguments}
    else:
        content = [b for p in part.parts if not _is_blank(p) for b in _blocks(p, names)]
        result: Json = {"type": "tool_result", "tool_use_id": _id(part.call_id)}
        # A failure without words is refused.
        if content or part.is_error:
            result["content"] = content or [{"type": "text", "text": "It failed."}]
        yield {**result, "is_error": True} if part.is_error else result


def _image(image: Image) -> Json:
    if image.mime_type not in SEEN_TYPES:
        return {"type": "text", "text": describe(image)}
    data = b64encode(image.data).decode()
    source = {"type": "base64", "media_type": image.mime_type, "data": data}
    return {"type": "image", "source": source}


def _is_blank(part: Text | Image) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _id(id: str) -> str:
    """Other providers' ids may have characters that this one does not take."""
    return _UNUSABLE.sub("_", id) or "_"


_VERSION = "2023-06-01"
_CONTEXT = 200_000
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
_REASONS: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "tool_use": "tools",
}


class AnthropicModel:
    """A model of Anthropic's, or of a server that speaks as Anthropic does."""

    def __init__(
        self, settings: ModelSettings, *, key_env: str = "", context: int | None = None
    ) -> None:
        self.name = f"{settings.provider}/{settings.model}"
        self.context = context or _CONTEXT
        self._settings = settings
        headers = {"anthropic-version": _VERSION}
        if settings.key:
            headers["x-api-key"] = settings.key
        self._door = ProviderClient(settings, headers, key_env)
        # People write the address with the version as often as without.
        self._path = "/messages" if self._door.base_url.endswith("/v1") else "/v1/messages"

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """The answer. Calls come at its end: one that breaks off before can be asked for anew."""
        names = ToolNames(prompt.tools, prompt.messages)
        body = build(prompt, self._settings.model, names)
        try:
            async with (
                self._door.post(self._path, body) as answer,
                aclosing(self._read(answer, names)) as events,
            ):
                async for event in events:
                    yield event
        except ProviderRefusal as refusal:
            # Whoever shortens the conversation can now do it by what really fits.
            self.context = refusal.limit(self.context)
            raise refusal.error from None

    async def close(self) -> None:
        await self._door.close()

    async def _read(self, answer: ProviderResponse, names: ToolNames) -> AsyncGenerator[Event]:
        reading = _Reading(names)
        async for event in self._events(answer):
            if event.get("type") == "error":
                said = read_error(event)
                raise from_status(self._door.party, said.status, said)
            delta = reading.take(event)
            if reading.arguments > LONGEST_ARGUMENTS:
                raise too_many_arguments(self._door.party, LONGEST_ARGUMENTS)
            if delta:
                yield TextDelta(delta)
            if reading.is_over:
                break
        else:
            raise broke_off(self._door.party)
        await answer.drain()
        for call in reading.calls():
            yield Called(call)
        yield reading.finished(self._settings)

    async def _events(self, answer: ProviderResponse) -> AsyncGenerator[Json]:
        """What streams in, or the same out of the one document of a server that does not stream."""
        if answer.kind != "application/json":
            async for event in answer.events():
                yield event
            return
        document = await answer.document()
        if document.get("type") != "error" and not isinstance(document.get("content"), list):
            raise no_stream(self._door.party, answer.kind, read_error(document))
        for event in _as_stream(document):
            yield event


def _as_stream(message: Json) -> Iterator[Json]:
    """The events that a whole message would have come in."""
    if message.get("type") == "error":
        yield message
        return
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(objects(message.get("content"))):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        if block.get("type") == "tool_use":
            written = msgspec.json.encode(fields(block.get("input"))).decode()
            delta = {"type": "input_json_delta", "partial_json": written}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "message_delta", "delta": {"stop_reason": message.get("stop_reason")}}
    yield {"type": "message_stop"}


class _Reading:
    """An answer as far as it came."""

    def __init__(self, names: ToolNames) -> None:
        self.is_over = False
        self.arguments = 0
        """How large the calls are so far."""
        self._names = names
        self._blocks: dict[str, tuple[str, str, list[str]]] = {}
        self._usage: Json = {}
        self._stop = ""
        self._model = ""

    def take(self, event: Json) -> str:
        """One event; gives what it adds to the text."""
        kind = event.get("type")
        if kind == "content_block_delta":
            return self._grow(str(event.get("index")), fields(event.get("delta")))
        if kind == "content_block_start":
            return self._start(str(event.get("index")), fields(event.get("content_block")))
        if kind == "message_start":
            message = fields(event.get("message"))
            self._model = text(message.get("model"))
            self._count(message.get("usage"))
        elif kind == "message_delta":
            self._stop = text(fields(event.get("delta")).get("stop_reason")) or self._stop
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self.is_over = True
        return ""

    def calls(self) -> list[ToolCall]:
        return [
            ToolCall(id, self._names.ours(name), read_arguments("".join(pieces)))
            for id, name, pieces in self._blocks.values()
        ]

    def finished(self, settings: ModelSettings) -> Finished:
        reason = ending(_REASONS.get(self._stop, "end"), calls=bool(self._blocks))
        model = f"{settings.provider}/{self._model or settings.model}"
        return Finished(reason, self._counted(), model)

    def _start(self, index: str, block: Json) -> str:
        if block.get("type") == "tool_use":
            id, name = text(block.get("id")), text(block.get("name"))
            self._blocks[index] = (id, name, [])
            self.arguments += A_CALL + len(id) + len(name)
        return text(block.get("text")) if block.get("type") == "text" else ""

    def _grow(self, index: str, delta: Json) -> str:
        if delta.get("type") == "input_json_delta" and index in self._blocks:
            piece = text(delta.get("partial_json"))
            self._blocks[index][2].append(piece)
            self.arguments += len(piece)
        return text(delta.get("text")) if delta.get("type") == "text_delta" else ""

    def _count(self, usage: Any) -> None:
        """Counts are totals: later ones replace earlier ones."""
        counts = fields(usage)
        self._usage |= {name: counts[name] for name in _COUNTS if name in counts}

    def _counted(self) -> Usage:
        """What came from the cache, or went into it, is input as well."""
        cached = number(self._usage.get("cache_read_input_tokens"))
        new = number(self._usage.get("cache_creation_input_tokens"))
        rest = number(self._usage.get("input_tokens"))
        return Usage(rest + new + cached, number(self._usage.get("output_tokens")), cached)
