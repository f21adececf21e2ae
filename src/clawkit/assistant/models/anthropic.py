"""The Anthropic Messages API: `POST {base_url}/v1/messages`, streamed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

import msgspec

from clawkit.assistant.models.anthropic_request import build
from clawkit.assistant.models.arguments import A_CALL, LONGEST_ARGUMENTS, read_arguments
from clawkit.assistant.models.ending import ending
from clawkit.assistant.models.failures import broke_off, from_status, no_stream, too_many_arguments
from clawkit.assistant.models.fields import Json, fields, number, objects, text
from clawkit.assistant.models.http import Answer, Door, Refusal
from clawkit.assistant.models.names import Names
from clawkit.assistant.models.protocol import (
    Called,
    Event,
    Finished,
    ModelSettings,
    Prompt,
    StopReason,
    TextDelta,
    ToolCall,
    Usage,
)
from clawkit.assistant.models.said import read_error

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


class Anthropic:
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
        self._door = Door(settings, headers, key_env)
        # People write the address with the version as often as without.
        self._path = "/messages" if self._door.base_url.endswith("/v1") else "/v1/messages"

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """The answer. Calls come at its end: one that breaks off before can be asked for anew."""
        names = Names(prompt.tools, prompt.messages)
        body = build(prompt, self._settings.model, names)
        try:
            async with (
                self._door.post(self._path, body) as answer,
                aclosing(self._read(answer, names)) as events,
            ):
                async for event in events:
                    yield event
        except Refusal as refusal:
            # Whoever shortens the conversation can now do it by what really fits.
            self.context = refusal.limit(self.context)
            raise refusal.error from None

    async def close(self) -> None:
        await self._door.close()

    async def _read(self, answer: Answer, names: Names) -> AsyncGenerator[Event]:
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

    async def _events(self, answer: Answer) -> AsyncGenerator[Json]:
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

    def __init__(self, names: Names) -> None:
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
