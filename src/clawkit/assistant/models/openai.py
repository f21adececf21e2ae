"""OpenAI's chat completions: `POST {base_url}/chat/completions`, streamed.

OpenAI, OpenRouter, Ollama, LM Studio, vLLM and llama.cpp all speak it, each a little differently.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

from clawkit.assistant.models.arguments import A_CALL, LONGEST_ARGUMENTS, read_arguments
from clawkit.assistant.models.ending import ending
from clawkit.assistant.models.failures import broke_off, from_status, too_many_arguments
from clawkit.assistant.models.fields import Json, fields, number, objects, text
from clawkit.assistant.models.http import Answer, Door, Refusal
from clawkit.assistant.models.names import Names
from clawkit.assistant.models.openai_request import Manners, build
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
from clawkit.assistant.models.said import read_error, speaks_of_answer
from clawkit.assistant.models.sse import DONE
from clawkit.errors import ContextTooLongError, ModelError

_CONTEXT = 32_000
_PATH = "/chat/completions"
_REASONS: dict[str, StopReason] = {
    "length": "length",
    "content_filter": "refusal",
    "tool_calls": "tools",
    "function_call": "tools",
}


class OpenAi:
    """A model behind OpenAI's chat completions."""

    def __init__(
        self, settings: ModelSettings, *, key_env: str = "", context: int | None = None
    ) -> None:
        self.name = f"{settings.provider}/{settings.model}"
        self.context = context or _CONTEXT
        self._settings = settings
        headers = {"authorization": f"Bearer {settings.key}"} if settings.key else {}
        self._door = Door(settings, headers, key_env)
        host = urlsplit(self._door.base_url).hostname
        self._manners = Manners(modern_limit=host == "api.openai.com")
        self._path = "" if self._door.base_url.endswith(_PATH) else _PATH

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """The answer. Calls come at its end: one that breaks off before can be asked for anew."""
        names = Names(prompt.tools, prompt.messages)
        while True:
            # An answer as long as all that fits would leave no room for the question.
            most = self.context // 2
            body = build(prompt, self._settings.model, names, self._manners, most)
            try:
                async with (
                    self._door.post(self._path, body) as answer,
                    aclosing(self._read(answer, names)) as events,
                ):
                    async for event in events:
                        yield event
                return
            except Refusal as refusal:
                if not self._learn(refusal, prompt):
                    raise refusal.error from None

    def _learn(self, refusal: Refusal, prompt: Prompt) -> bool:
        """Whether asking again, with what the refusal tells, is worth it."""
        if not isinstance(refusal.error, ContextTooLongError):
            return self._manners.learn(refusal.said, prompt, self.name)
        asked = min(prompt.max_tokens, self.context // 2)
        # Whoever shortens the conversation can now do it by what really fits.
        self.context = refusal.limit(self.context)
        return self.context // 2 < asked and speaks_of_answer(refusal.said)

    async def close(self) -> None:
        await self._door.close()

    async def _read(self, answer: Answer, names: Names) -> AsyncGenerator[Event]:
        reading = _Reading(names)
        try:
            async for chunk in _chunks(answer):
                if chunk is DONE:
                    reading.is_over = True
                    break
                if error := _error(chunk):
                    said = read_error(error)
                    raise from_status(self._door.party, said.status, said)
                delta = reading.take(chunk)
                if reading.arguments > LONGEST_ARGUMENTS:
                    raise too_many_arguments(self._door.party, LONGEST_ARGUMENTS)
                if delta:
                    yield TextDelta(delta)
        except ModelError:
            # With the reason for its end the answer is complete, whatever comes after it.
            if not reading.stop:
                raise
        if not (reading.stop or reading.is_over):
            raise broke_off(self._door.party)
        await answer.drain()
        for call in reading.calls():
            yield Called(call)
        yield reading.finished(self._settings)


async def _chunks(answer: Answer) -> AsyncGenerator[Json]:
    if answer.kind == "application/json":  # A server that does not stream.
        yield await answer.document()
        return
    async for event in answer.events():
        yield event


def _error(chunk: Json) -> Any:
    """The error in a chunk, which stands where a provider finds it fit."""
    if chunk.get("error"):
        return chunk
    choices = chunk.get("choices")
    if choices is None and chunk.get("object") == "error":
        return chunk
    choice = _first(choices)
    return choice if choice.get("error") else None


class _Called:
    def __init__(self, index: Any, id: str) -> None:
        self.index = index
        self.id = id
        self.name = ""
        self.pieces: list[str] = []


class _Reading:
    """An answer as far as it came."""

    def __init__(self, names: Names) -> None:
        self.is_over = False
        self.stop = ""
        self.arguments = 0
        """How large the calls are so far."""
        self._refused = False
        self._names = names
        self._calls: list[_Called] = []
        self._usage = Usage()
        self._model = ""

    def take(self, chunk: Json) -> str:
        """One chunk; gives what it adds to the text."""
        self._model = text(chunk.get("model")) or self._model
        self._count(chunk.get("usage"))
        choice = _first(chunk.get("choices"))
        self.stop = text(choice.get("finish_reason")) or self.stop
        delta = fields(choice.get("delta") or choice.get("message"))
        for call in objects(delta.get("tool_calls")):
            self._grow(call)
        refusal = _refusal(delta)
        self._refused = self._refused or bool(refusal)
        return _text(delta.get("content")) + refusal

    def calls(self) -> list[ToolCall]:
        return [
            ToolCall(call.id, self._names.ours(call.name), read_arguments("".join(call.pieces)))
            for call in self._calls
        ]

    def finished(self, settings: ModelSettings) -> Finished:
        said = "refusal" if self._refused else _REASONS.get(self.stop, "end")
        reason = ending(said, calls=bool(self._calls))
        # llama.cpp tells the path of a file.
        used = self._model.rpartition("/")[2] if self._model[:1] == "/" else self._model
        return Finished(reason, self._usage, f"{settings.provider}/{used or settings.model}")

    def _grow(self, delta: Json) -> None:
        call = self._find(delta.get("index"), text(delta.get("id")))
        function = fields(delta.get("function"))
        call.name = call.name or text(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(
            arguments, (dict, list)
        ):  # Not as text, as it should be, but as what it says.
            arguments = json.dumps(arguments)
        piece = text(arguments)
        call.pieces.append(piece)
        self.arguments += len(piece)

    def _find(self, index: Any, id: str) -> _Called:
        """The call that a delta belongs to: not every server numbers them."""
        for call in reversed(self._calls):
            if call.index == index and (not id or call.id == id):
                return call
        call = _Called(index, id or f"call_{uuid.uuid4().hex[:24]}")
        if any(other.id == id for other in self._calls):
            call.id = f"call_{uuid.uuid4().hex[:24]}"
        self._calls.append(call)
        self.arguments += A_CALL + len(call.id)
        return call

    def _count(self, usage: Any) -> None:
        counts = fields(usage)
        if counts:
            details = fields(counts.get("prompt_tokens_details"))
            cached = details.get("cached_tokens") or counts.get("prompt_cache_hit_tokens")
            self._usage = Usage(
                number(counts.get("prompt_tokens")),
                number(counts.get("completion_tokens")),
                number(cached),
            )


def _first(choices: Any) -> Json:
    found = objects(choices)
    return found[0] if found else {}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(text(part.get("text")) for part in objects(content))


def _refusal(delta: Json) -> str:
    """The words with which a model declines: beside its content, or as a part of it."""
    parts = objects(delta.get("content"))
    return text(delta.get("refusal")) + "".join(text(part.get("refusal")) for part in parts)
