"""The base of models behind an HTTP API: sends the request, assembles the streamed answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from clawkit.errors import ModelError
from clawkit.models.http import ProviderClient, ProviderRefusal, ProviderResponse
from clawkit.models.json_fields import Json
from clawkit.models.messages import A_CALL, LONGEST_ARGUMENTS, ToolNames, read_arguments
from clawkit.models.protocol import (
    Called,
    Event,
    Finished,
    ModelSettings,
    Prompt,
    StopReason,
    TextDelta,
    ToolCall,
    Usage,
    ending,
)
from clawkit.models.provider_errors import broke_off, from_status, read_error, too_many_arguments


class GrowingCall:
    """A call of a tool as far as it came."""

    def __init__(self, id: str, name: str = "", index: Any = None) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.pieces: list[str] = []


class StreamedAnswer(ABC):
    """An answer as far as it came; each API says what its events add."""

    reasons: Mapping[str, StopReason]
    """Ours for each of the provider's reasons to end."""

    def __init__(self, names: ToolNames) -> None:
        self.is_over = False
        self.refused = False
        self.stop = ""
        self.model = ""
        self.usage = Usage()
        self.size = 0
        """How large the calls are so far."""
        self.calls: dict[str, GrowingCall] = {}
        self._names = names

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing, even if nothing more comes."""
        return self.is_over

    @abstractmethod
    def error_in(self, event: Json) -> Json | None:
        """The error that an event tells of."""

    @abstractmethod
    def take(self, event: Json) -> str:
        """One event; gives what it adds to the text."""

    def add_call(self, key: str, call: GrowingCall) -> GrowingCall:
        self.calls[key] = call
        self.size += A_CALL + len(call.id) + len(call.name)
        return call

    def grow(self, call: GrowingCall, piece: str) -> None:
        call.pieces.append(piece)
        self.size += len(piece)

    def ended(self, settings: ModelSettings) -> Iterator[Event]:
        """The calls, and how the answer ended."""
        for call in self.calls.values():
            arguments = read_arguments("".join(call.pieces))
            yield Called(ToolCall(call.id, self._names.ours(call.name), arguments))
        said = "refusal" if self.refused else self.reasons.get(self.stop, "end")
        reason = ending(said, calls=bool(self.calls))
        yield Finished(reason, self.usage, f"{settings.provider}/{self.model or settings.model}")


class StreamedModel(ABC):
    """A model behind an HTTP API; each API says how it is asked and how its answers are read."""

    answer_type: type[StreamedAnswer]

    def __init__(
        self, settings: ModelSettings, headers: dict[str, str], key_env: str, context: int
    ) -> None:
        self.name = f"{settings.provider}/{settings.model}"
        self.context = context
        self.settings = settings
        self.path = ""
        self.client = ProviderClient(settings, headers, key_env)

    @abstractmethod
    def body(self, prompt: Prompt, names: ToolNames) -> Json:
        """The request."""

    @abstractmethod
    def events(self, response: ProviderResponse) -> AsyncGenerator[Json]:
        """What streams in, or the same out of the one document of a server that does not."""

    def learn(self, refusal: ProviderRefusal, prompt: Prompt) -> bool:  # noqa: ARG002 - for others
        """Whether asking again, with what the refusal tells, is worth it."""
        # Whoever shortens the conversation can now do it by what really fits.
        self.context = refusal.limit(self.context)
        return False

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Event]:
        """The answer. Calls come at its end: one that breaks off before can be asked for anew."""
        names = ToolNames(prompt.tools, prompt.messages)
        while True:
            try:
                async with (
                    self.client.post(self.path, self.body(prompt, names)) as response,
                    aclosing(self._read(response, self.answer_type(names))) as events,
                ):
                    async for event in events:
                        yield event
                return
            except ProviderRefusal as refusal:
                if not self.learn(refusal, prompt):
                    raise refusal.error from None

    async def close(self) -> None:
        await self.client.close()

    async def _read(
        self, response: ProviderResponse, answer: StreamedAnswer
    ) -> AsyncGenerator[Event]:
        try:
            async for event in self.events(response):
                if error := answer.error_in(event):
                    said = read_error(error)
                    raise from_status(self.client.identity, said.status, said)
                delta = answer.take(event)
                if answer.size > LONGEST_ARGUMENTS:
                    raise too_many_arguments(self.client.identity, LONGEST_ARGUMENTS)
                if delta:
                    yield TextDelta(delta)
                if answer.is_over:
                    break
        except ModelError:
            # An answer that is complete stays so, whatever comes after it.
            if not answer.is_complete:
                raise
        if not answer.is_complete:
            raise broke_off(self.client.identity)
        await response.drain()
        for event in answer.ended(self.settings):
            yield event
