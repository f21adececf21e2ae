"""The Claude CLI as a model: `use = "claude-cli/sonnet"` answers through it, with our tools."""

from __future__ import annotations

import asyncio
import contextlib
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from clawkit.claude.client import ClaudeClient
from clawkit.claude.messages import AssistantMessage, ResultMessage, StreamEvent
from clawkit.claude.messages import Message as CliMessage
from clawkit.claude.options import ClaudeAgentOptions
from clawkit.claude.permissions import qualified, split_name
from clawkit.errors import (
    CliError,
    CliNotFoundError,
    CliVersionError,
    ContextTooLongError,
    ModelError,
    ModelTimeoutError,
    NoSuchModelError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
    RefusedRequestError,
)
from clawkit.models.json_fields import number
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
    ToolOutcome,
    ToolSpec,
    Usage,
)
from clawkit.models.provider_errors import ProviderIdentity, WrongAddressError
from clawkit.system.files import make_private
from clawkit.tools.results import ToolContent, ToolResult
from clawkit.tools.server import SdkMcpServerImpl, SdkMcpServerRegistry
from clawkit.tools.tool import SdkMcpTool, ToolOptions
from clawkit.wire.jsonrpc import as_object
from clawkit.wire.session import Context

_WHO = {"user": "User", "assistant": "Assistant", "tool": "Tool"}


def message_of(messages: tuple[Message, ...]) -> dict[str, Any]:
    """The conversation as a message of the user."""
    return {
        "type": "user",
        "message": {"role": "user", "content": _content(messages)},
        "parent_tool_use_id": None,
        "session_id": "default",
    }


def _content(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """What was said before, then the newest message, part by part and as it is."""
    *earlier, newest = messages
    if newest.role == "tool":  # another model, or another CLI, had these tools called
        return _blocks([*_history(messages), "\n\nGo on from here."])
    told = _blocks([*_history(earlier), "\n\nThe message now:"]) if earlier else []
    for part in newest.parts:
        told += _blocks(_pieces_of(part))
    return told


def _history(messages: Iterable[Message]) -> Iterator[str | Image]:
    yield "The conversation so far:"
    for message in messages:
        yield f"\n\n{_WHO[message.role]}: "
        for at, part in enumerate(message.parts):
            yield " " if at else ""
            yield from _pieces_of(part)


def _pieces_of(part: Part) -> Iterator[str | Image]:
    if isinstance(part, Text):
        yield part.text
    elif isinstance(part, Image):
        yield part
    elif isinstance(part, ToolCall):
        yield f"[called {part.name} with {json.dumps(part.arguments, ensure_ascii=False)}]"
    else:
        yield from _outcome_pieces(part)


def _outcome_pieces(outcome: ToolOutcome) -> Iterator[str | Image]:
    yield "[failed: " if outcome.is_error else "["
    for part in outcome.parts:
        yield from _pieces_of(part)
    yield "]"


def _blocks(pieces: Iterable[str | Image]) -> list[dict[str, Any]]:
    """Words that follow each other are one block."""
    blocks: list[dict[str, Any]] = []
    words = ""
    for piece in pieces:
        if isinstance(piece, str):
            words += piece
            continue
        blocks += _text(words)
        blocks.append(_image(piece))
        words = ""
    return blocks + _text(words)


def _text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}] if words else []


def _image(image: Image) -> dict[str, Any]:
    data = b64encode(image.data).decode()
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": image.mime_type, "data": data},
    }


_REASONS: dict[str, StopReason] = {
    "refusal": "refusal",
    "max_tokens": "length",
    "max_output_tokens": "length",
}


class CliAnswerReader:
    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._name = settings.model
        self._streamed: set[str] = set()
        self._half_shown = ""
        """The message of which words were shown and that the CLI has not taken as said."""
        self._newest = ""
        self._error = ""

    @property
    def model(self) -> str:
        """The model that answers, by the name the CLI gave it once it has."""
        return _named(self._settings.provider, self._name)

    def event_of(self, message: CliMessage) -> Event | None:
        """The event that a message stands for; raises for a turn that failed."""
        if isinstance(message, StreamEvent):
            return self._piece(message)
        if isinstance(message, AssistantMessage):
            return self._whole(message)
        if isinstance(message, ResultMessage):
            return self._end(message)
        return None

    def _piece(self, message: StreamEvent) -> Event | None:
        if message.event.get("type") == "message_start":
            self._begin(as_object(message.event.get("message")) or {})
        if not message.text:
            return None
        self._half_shown = self._newest
        return TextDelta(message.text)

    def _begin(self, started: dict[str, Any]) -> None:
        """A message begins. Where one broke off, the CLI may ask anew, and half of it was shown."""
        if self._half_shown:
            provider = self._settings.provider
            raise ProviderDownError(provider, "the connection broke off in mid-answer")
        self._newest = str(started.get("id"))
        self._streamed.add(self._newest)
        self._name = str(started.get("model") or self._name)

    def _whole(self, message: AssistantMessage) -> Event | None:
        """The same in one piece: its words count only where nothing was streamed."""
        if message.error is not None:
            self._error = message.error
            return None
        id = str((as_object(message.data.get("message")) or {}).get("id"))
        if id == self._half_shown:
            self._half_shown = ""
        is_new = id not in self._streamed and message.model != "<synthetic>"
        return TextDelta(message.text) if is_new and message.text else None

    def _end(self, message: ResultMessage) -> Event:
        reason = _REASONS.get(self._error) or _REASONS.get(message.stop_reason or "")
        if reason is None and (message.is_error or message.subtype != "success"):
            raise _from_result(message, self._settings)
        return Finished(reason or "end", _usage(message.usage), self.model)


def _usage(usage: dict[str, Any]) -> Usage:
    """What came from the cache, or went into it, is input as well."""
    new, made, cached = (
        number(usage.get(name))
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    return Usage(new + made + cached, number(usage.get("output_tokens")), cached)


def _from_result(message: ResultMessage, settings: ModelSettings) -> ModelError:
    """Why a turn failed: the CLI says so in words, and which status the API had."""
    provider = settings.provider
    name = _named(provider, settings.model)
    said = _quote(message.result or ", ".join(message.errors) or message.subtype, settings)
    status = message.data.get("api_error_status")
    if message.data.get("terminal_reason") == "prompt_too_long":
        return ContextTooLongError(
            provider,
            f"the conversation does not fit into {name} ({said}). Shorten it with "
            "/compact, or begin anew with /new",
        )
    if status in (401, 403) or "/login" in said:
        return RefusedKeyError(
            provider,
            f"the Claude CLI is not logged in, or its key is refused ({said}). Start `claude` and "
            "log in, or set ANTHROPIC_API_KEY",
        )
    if status == 429:
        return RateLimitError(provider, f"the Claude CLI is asked too often ({said})")
    if status == 404:
        return NoSuchModelError(
            provider, f"the Claude CLI does not know {name} ({said}). Choose another"
        )
    if status in (400, 413):
        return RefusedRequestError(provider, f"the request is refused ({said})")
    return ProviderDownError(provider, f"the Claude CLI could not answer ({said})")


def from_error(error: CliError, settings: ModelSettings) -> ModelError:
    """Why there is no CLI to answer."""
    if isinstance(error, (CliNotFoundError, CliVersionError)):
        return WrongAddressError(
            settings.provider,
            f"{error}; or choose another model with `claw setup`",
        )
    said = _quote(str(error), settings)
    return ProviderDownError(settings.provider, f"{said}. `claw status --deep` tries it")


def _quote(text: str, settings: ModelSettings) -> str:
    return ProviderIdentity(settings.provider, settings.model, "").quote(text)


def _named(provider: str, model: str) -> str:
    return f"{provider}/{model}" if model else provider


PROVIDER = "claude-cli"
_OWN = "claw"
_TOGETHER = 0.05
"""Seconds without another call after which those that came are the calls of one answer."""
_TOOL = ToolOptions(
    # The reply system runs the calls of an answer side by side, so the CLI is to make them so.
    read_only=True,
    always_load=True,
    # Else the CLI puts a long result into a file, which this model has no tool to read.
    meta={"anthropic/maxResultSizeChars": 500_000},
)
# The reply system tries again as well, and tells the person who waits.
_ENVIRONMENT = {"CLAUDE_CODE_MAX_RETRIES": "2"}


class ClaudeCli:
    """A model behind the CLI; each answer has a CLI of its own, which ends with it."""

    context = 200_000

    def __init__(self, settings: ModelSettings, cwd: Path) -> None:
        self._settings = settings
        self._cwd = cwd
        self._turns: set[_Turn] = set()
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        return _named(PROVIDER, self._settings.model)

    async def stream(self, prompt: Prompt) -> AsyncIterator[Event]:
        turn = self._waiting_for(prompt)
        try:
            if turn is None:
                await self._end_abandoned()
                turn = _Turn(prompt, self._settings, self._cwd)
                self._turns.add(turn)
                await turn.start()
            async for event in turn.events():
                yield event
                if isinstance(event, Finished) and event.reason == "tools":
                    self._end_with_task(turn)
                    turn = None
                    return
        except CliError as error:
            raise from_error(error, self._settings) from None
        finally:
            if turn is not None:
                await self._end(turn)

    async def close(self) -> None:
        for turn in list(self._turns):
            await self._end(turn)
        if self._ending:
            await asyncio.wait(self._ending)

    def _waiting_for(self, prompt: Prompt) -> _Turn | None:
        """The turn whose calls the last message answers."""
        outcomes = [p for p in prompt.messages[-1].parts if isinstance(p, ToolOutcome)]
        for turn in self._turns:
            if outcomes and turn.take(outcomes):
                return turn
        return None

    async def _end_abandoned(self) -> None:
        """End the turns whose owner has started a new one."""
        task = asyncio.current_task()
        for turn in [turn for turn in self._turns if turn.owner is task]:
            await self._end(turn)

    def _end_with_task(self, turn: _Turn) -> None:
        """End the turn with the task that runs its tools, which may be cancelled meanwhile."""
        task = asyncio.current_task()
        if task is not None and turn.owner is None:
            turn.owner = task
            task.add_done_callback(lambda _: self._end_soon(turn))

    def _end_soon(self, turn: _Turn) -> None:
        if turn in self._turns:
            ending = asyncio.get_running_loop().create_task(self._end(turn))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def _end(self, turn: _Turn) -> None:
        if turn in self._turns:
            self._turns.discard(turn)
            await turn.close()


class _Turn:
    """One CLI and the answer it gives."""

    def __init__(self, prompt: Prompt, settings: ModelSettings, cwd: Path) -> None:
        self.owner: asyncio.Task[Any] | None = None
        self._prompt = prompt
        self._settings = settings
        self._cwd = cwd
        self._answer = CliAnswerReader(settings)
        self._events: asyncio.Queue[Event | Exception | None] = asyncio.Queue()
        self._outcomes: dict[str, asyncio.Future[ToolOutcome]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._client = ClaudeClient(self._options(prompt))
        self._client.register_mcp_message_handler(self._registry(prompt.tools))

    def _options(self, prompt: Prompt) -> ClaudeAgentOptions:
        return ClaudeAgentOptions(
            model=self._settings.model or None,
            system_prompt=prompt.system,
            cwd=self._cwd,
            env=_ENVIRONMENT,
            tools=[],
            allowed_tools=[qualified(*_place(spec.name)) for spec in prompt.tools],
            strict_mcp_config=True,
            keep_session=False,
            include_partial_messages=True,
            verbatim_prompts=True,
        )

    def _registry(self, specs: tuple[ToolSpec, ...]) -> SdkMcpServerRegistry:
        servers: dict[str, SdkMcpServerImpl] = {}
        for spec in specs:
            server, tool = _place(spec.name)
            home = servers.setdefault(server, SdkMcpServerImpl(server, "1.0.0"))
            schema = {"type": "object", **spec.input_schema}
            handler = self._handler(spec.name)
            home.register_tool(SdkMcpTool(tool, spec.description, schema, handler, options=_TOOL))
        registry = SdkMcpServerRegistry()
        for home in servers.values():
            registry.register(home)
        return registry

    async def start(self) -> None:
        make_private(self._cwd)
        await self._client.connect()
        self._reader = asyncio.get_running_loop().create_task(self._read())
        await self._client.send(message_of(self._prompt.messages))

    async def close(self) -> None:
        for outcome in self._outcomes.values():
            outcome.cancel()
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
        await self._client.disconnect()

    def _handler(self, name: str) -> Callable[..., Awaitable[ToolResult]]:
        """A tool of the prompt: hands its calls to the reply system and waits for their outcome."""

        async def call(args: dict[str, Any], context: Context) -> ToolResult:
            waiting: asyncio.Future[ToolOutcome] = asyncio.get_running_loop().create_future()
            self._outcomes[context.tool_call_id] = waiting
            self._events.put_nowait(Called(ToolCall(context.tool_call_id, name, args)))
            outcome = await waiting
            content = [
                ToolContent.text(part.text)
                if isinstance(part, Text)
                else ToolContent.image(part.data, part.mime_type)
                for part in outcome.parts
            ]
            return ToolResult(content, is_error=outcome.is_error)

        return call

    def take(self, outcomes: list[ToolOutcome]) -> bool:
        """Give the CLI what it waits for, if these are the outcomes of its calls."""
        if not all(outcome.call_id in self._outcomes for outcome in outcomes):
            return False
        for outcome in outcomes:
            waiting = self._outcomes.pop(outcome.call_id)
            if not waiting.done():
                waiting.set_result(outcome)
        return True

    async def events(self) -> AsyncIterator[Event]:
        """The events, up to the end of the answer or to calls that somebody has to run."""
        called = False
        while True:
            try:
                async with asyncio.timeout(_TOGETHER if called else self._settings.timeout):
                    event = await self._events.get()
            except TimeoutError:
                if not called:
                    raise self._silent() from None
                yield Finished("tools", model=self._answer.model)
                return
            if isinstance(event, Exception):
                raise event
            if event is not None:
                yield event
            called = called or isinstance(event, Called)
            if isinstance(event, Finished):
                return

    def _silent(self) -> ModelTimeoutError:
        return ModelTimeoutError(
            PROVIDER, f"the Claude CLI said nothing for {self._settings.timeout:g} s"
        )

    async def _read(self) -> None:
        """Pass on what the CLI says; whatever it says, it is at work."""
        try:
            async for message in self._client.receive_response():
                self._events.put_nowait(self._answer.event_of(message))
        except (CliError, ModelError) as error:
            self._events.put_nowait(error)


def _place(name: str) -> tuple[str, str]:
    """The server and the tool that the CLI knows a tool of the prompt by."""
    return split_name(name) or (_OWN, name)
