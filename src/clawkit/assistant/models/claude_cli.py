"""The Claude CLI as a model: `use = "claude-cli/sonnet"` answers through it, with the same tools.

The CLI runs its own loop of tools, and the reply system runs its own. They meet in a turn: when the
CLI calls a tool, the stream ends with that call, and the CLI waits; the next prompt brings the
outcome, and the stream goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from clawkit.assistant.models.protocol import (
    Called,
    Event,
    Finished,
    Image,
    Message,
    ModelSettings,
    Prompt,
    Text,
    TextDelta,
    ToolCall,
    ToolOutcome,
    ToolSpec,
    Usage,
)
from clawkit.claude.client import ClaudeClient
from clawkit.claude.messages import Message as CliMessage
from clawkit.claude.messages import ResultMessage, StreamEvent
from clawkit.claude.names import qualified, split_name
from clawkit.claude.options import ClaudeAgentOptions
from clawkit.errors import CliError, ModelError, ProviderDownError, RefusedKeyError
from clawkit.tools.registry import SdkMcpServerRegistry
from clawkit.tools.results import ToolContent, ToolResult
from clawkit.tools.server import SdkMcpServerImpl
from clawkit.tools.tool import SdkMcpTool
from clawkit.wire.context import Context

PROVIDER = "claude-cli"
_OWN = "claw"
_TOGETHER = 0.05
"""Seconds without another call after which those that came are the calls of one answer."""


class ClaudeCli:
    """A model behind the CLI; each answer has a CLI of its own, which ends with it."""

    context = 200_000

    def __init__(self, settings: ModelSettings, cwd: Path) -> None:
        self._settings = settings
        self._cwd = cwd
        self._turns: set[_Turn] = set()

    @property
    def name(self) -> str:
        model = self._settings.model
        return f"{PROVIDER}/{model}" if model else PROVIDER

    async def stream(self, prompt: Prompt) -> AsyncIterator[Event]:
        turn = self._waiting_for(prompt)
        try:
            if turn is None:
                turn = await self._begin(prompt)
            async for event in turn.events():
                yield event
                if isinstance(event, Finished) and event.reason == "tools":
                    self._end_with_task(turn)
                    turn = None
                    return
        except CliError as error:
            raise ProviderDownError(PROVIDER, f"{error}. `claw doctor` looks for it") from None
        finally:
            if turn is not None:
                await self._end(turn)

    async def close(self) -> None:
        for turn in list(self._turns):
            await self._end(turn)

    async def _begin(self, prompt: Prompt) -> _Turn:
        turn = _Turn(prompt, self._settings, self._cwd)
        self._turns.add(turn)
        await turn.start()
        return turn

    def _waiting_for(self, prompt: Prompt) -> _Turn | None:
        """The turn whose calls the last message answers."""
        outcomes = [p for p in prompt.messages[-1].parts if isinstance(p, ToolOutcome)]
        for turn in self._turns:
            if outcomes and turn.take(outcomes):
                return turn
        return None

    def _end_with_task(self, turn: _Turn) -> None:
        """Whoever runs the tools may be cancelled, and nobody would come back for the CLI."""
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        if task is not None and not turn.watched:
            turn.watched = True
            task.add_done_callback(lambda _: turn.closing or loop.create_task(self._end(turn)))

    async def _end(self, turn: _Turn) -> None:
        if not turn.closing:
            turn.closing = True
            self._turns.discard(turn)
            await turn.close()


class _Turn:
    """One CLI and the answer it gives."""

    def __init__(self, prompt: Prompt, settings: ModelSettings, cwd: Path) -> None:
        self.watched = False
        self.closing = False
        self._model = settings.model
        self._cwd = cwd
        self._heard: asyncio.Queue[Event | BaseException] = asyncio.Queue()
        self._outcomes: dict[str, asyncio.Future[ToolOutcome]] = {}
        self._prompt = prompt
        self._reader: asyncio.Task[None] | None = None
        self._client = ClaudeClient(self._options(prompt))
        self._client.register_mcp_message_handler(self._registry(prompt.tools))

    def _options(self, prompt: Prompt) -> ClaudeAgentOptions:
        return ClaudeAgentOptions(
            model=self._model or None,
            system_prompt=prompt.system,
            cwd=self._cwd,
            tools=[],
            allowed_tools=[qualified(*_place(spec.name)) for spec in prompt.tools],
            strict_mcp_config=True,
            keep_session=False,
            include_partial_messages=True,
        )

    def _registry(self, specs: tuple[ToolSpec, ...]) -> SdkMcpServerRegistry:
        servers: dict[str, SdkMcpServerImpl] = {}
        for spec in specs:
            server, tool = _place(spec.name)
            home = servers.setdefault(server, SdkMcpServerImpl(server, "1.0.0"))
            handler = _Handler(self, spec.name)
            home.register_tool(SdkMcpTool(tool, spec.description, spec.input_schema, handler))
        registry = SdkMcpServerRegistry()
        for home in servers.values():
            registry.register(home)
        return registry

    async def start(self) -> None:
        self._cwd.mkdir(parents=True, exist_ok=True)
        await self._client.connect()
        self._reader = asyncio.get_running_loop().create_task(self._read())
        await self._client.send(list(_content(self._prompt.messages)))

    async def close(self) -> None:
        for outcome in self._outcomes.values():
            outcome.cancel()
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
        await self._client.disconnect()

    async def call(self, name: str, arguments: dict[str, Any], call_id: str) -> ToolOutcome:
        """Hand a call of the CLI to the reply system and wait for what comes of it."""
        outcome = asyncio.get_running_loop().create_future()
        self._outcomes[call_id] = outcome
        self._heard.put_nowait(Called(ToolCall(call_id, name, arguments)))
        return await outcome

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
        """What is heard, up to the end of the answer or to calls that somebody has to run."""
        called = False
        while True:
            try:
                async with asyncio.timeout(_TOGETHER if called else None):
                    heard = await self._heard.get()
            except TimeoutError:
                yield Finished("tools", model=self._model)
                return
            if isinstance(heard, BaseException):
                raise heard
            yield heard
            called = called or isinstance(heard, Called)
            if isinstance(heard, Finished):
                return

    async def _read(self) -> None:
        try:
            async for message in self._client.receive_response():
                self._hear(message)
        except (CliError, ModelError) as error:
            self._heard.put_nowait(error)

    def _hear(self, message: CliMessage) -> None:
        if isinstance(message, StreamEvent) and message.text:
            self._heard.put_nowait(TextDelta(message.text))
        elif isinstance(message, ResultMessage):
            if message.is_error:
                raise _failure(message)
            self._heard.put_nowait(Finished("end", _usage(message.usage), self._model or PROVIDER))


class _Handler:
    """A tool of the prompt, as the CLI calls it."""

    def __init__(self, turn: _Turn, name: str) -> None:
        self._turn = turn
        self._name = name

    async def call(self, args: dict[str, Any], context: Context) -> ToolResult:
        outcome = await self._turn.call(self._name, args, context.tool_call_id)
        content = [
            ToolContent.text(part.text)
            if isinstance(part, Text)
            else ToolContent.image(part.data, part.mime_type)
            for part in outcome.parts
        ]
        return ToolResult(content, is_error=outcome.is_error)


def _place(name: str) -> tuple[str, str]:
    """The server and the tool that the CLI knows a tool of the prompt by."""
    return split_name(name) or (_OWN, name)


def _content(messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    """The conversation as one message: what was said before, then the newest, part by part."""
    *earlier, newest = messages
    if earlier:
        said = "\n\n".join(line for message in earlier if (line := _line(message)))
        yield {"type": "text", "text": f"The conversation so far:\n\n{said}\n\nThe message now:"}
    for part in newest.parts:
        if isinstance(part, Text):
            yield {"type": "text", "text": part.text}
        elif isinstance(part, Image):
            data = b64encode(part.data).decode()
            source = {"type": "base64", "media_type": part.mime_type, "data": data}
            yield {"type": "image", "source": source}


def _line(message: Message) -> str:
    who = {"user": "User", "assistant": "Assistant", "tool": "Tool"}[message.role]
    words = [_words(part) for part in message.parts]
    return f"{who}: {' '.join(filter(None, words))}" if any(words) else ""


def _words(part: object) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image):
        return f"[image {part.name}]"
    if isinstance(part, ToolCall):
        return f"[called {part.name}]"
    if isinstance(part, ToolOutcome):
        return " ".join(_words(inner) for inner in part.parts)
    return ""


def _usage(usage: dict[str, Any]) -> Usage:
    cached = int(usage.get("cache_read_input_tokens") or 0)
    return Usage(
        int(usage.get("input_tokens") or 0) + cached, int(usage.get("output_tokens") or 0), cached
    )


def _failure(message: ResultMessage) -> ModelError:
    said = (message.result or message.subtype)[:300]
    if "API key" in said or "/login" in said:
        return RefusedKeyError(PROVIDER, f"the Claude CLI is not logged in ({said}): run `claude`")
    return ProviderDownError(PROVIDER, f"the Claude CLI could not answer: {said}")
