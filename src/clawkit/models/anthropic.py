"""The Anthropic Messages API: `POST {base_url}/v1/messages`, streamed."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

import msgspec

from clawkit.models.http import ProviderResponse
from clawkit.models.json_fields import Json, fields, number, objects, text
from clawkit.models.messages import SEEN_TYPES, ToolNames, describe, is_blank, tidy
from clawkit.models.protocol import (
    Image,
    Message,
    ModelSettings,
    Part,
    Prompt,
    StopReason,
    Text,
    ToolCall,
    Usage,
)
from clawkit.models.provider_errors import no_stream, read_error
from clawkit.models.streamed_model import GrowingCall, StreamedAnswer, StreamedModel

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
        content = [b for p in part.parts if not is_blank(p) for b in _blocks(p, names)]
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


class _AnthropicAnswer(StreamedAnswer):
    reasons = _REASONS

    def __init__(self, names: ToolNames) -> None:
        super().__init__(names)
        self._counts: Json = {}

    def error_in(self, event: Json) -> Json | None:
        return event if event.get("type") == "error" else None

    def take(self, event: Json) -> str:
        kind = event.get("type")
        if kind == "content_block_delta":
            return self._grow(str(event.get("index")), fields(event.get("delta")))
        if kind == "content_block_start":
            return self._start(str(event.get("index")), fields(event.get("content_block")))
        if kind == "message_start":
            message = fields(event.get("message"))
            self.model = text(message.get("model"))
            self._count(message.get("usage"))
        elif kind == "message_delta":
            self.stop = text(fields(event.get("delta")).get("stop_reason")) or self.stop
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self.is_over = True
        return ""

    def _start(self, index: str, block: Json) -> str:
        if block.get("type") == "tool_use":
            self.add_call(index, GrowingCall(text(block.get("id")), text(block.get("name"))))
        return text(block.get("text")) if block.get("type") == "text" else ""

    def _grow(self, index: str, delta: Json) -> str:
        if delta.get("type") == "input_json_delta" and index in self.calls:
            self.grow(self.calls[index], text(delta.get("partial_json")))
        return text(delta.get("text")) if delta.get("type") == "text_delta" else ""

    def _count(self, usage: Any) -> None:
        """Counts are totals: later ones replace earlier ones. What came from the cache, or went
        into it, is input as well."""
        self._counts |= fields(usage)
        rest, output, cached, new = (number(self._counts.get(name)) for name in _COUNTS)
        self.usage = Usage(rest + new + cached, output, cached)


class AnthropicModel(StreamedModel):
    """A model of Anthropic's, or of a server that speaks as Anthropic does."""

    answer_type = _AnthropicAnswer

    def __init__(
        self, settings: ModelSettings, *, key_env: str = "", context: int | None = None
    ) -> None:
        headers = {"anthropic-version": _VERSION}
        if settings.key:
            headers["x-api-key"] = settings.key
        super().__init__(settings, headers, key_env, context or _CONTEXT)
        # People write the address with the version as often as without.
        self.path = "/messages" if self.client.base_url.endswith("/v1") else "/v1/messages"

    def body(self, prompt: Prompt, names: ToolNames) -> Json:
        return build(prompt, self.settings.model, names)

    async def events(self, response: ProviderResponse) -> AsyncGenerator[Json]:
        if response.kind != "application/json":
            async for event in response.events():
                yield event
            return
        document = await response.document()
        if document.get("type") != "error" and not isinstance(document.get("content"), list):
            raise no_stream(self.client.identity, response.kind, read_error(document))
        for event in _as_stream(document):
            yield event
