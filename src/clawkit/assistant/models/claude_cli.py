"""The Claude CLI as a model: `use = "claude-cli/sonnet"` answers through it, with the same tools.

The CLI runs its own loop of tools, and the reply system runs its own. They meet in a turn: when the
CLI calls a tool, the stream ends with that call, and the CLI waits; the next prompt brings the
outcome, and the stream goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from clawkit.assistant.models.claude_cli_hearing import Hearing, from_error
from clawkit.assistant.models.claude_cli_telling import message_of
from clawkit.assistant.models.protocol import (
    Called,
    Event,
    Finished,
    ModelSettings,
    Prompt,
    Text,
    ToolCall,
    ToolOutcome,
    ToolSpec,
)
from clawkit.claude.client import ClaudeClient
from clawkit.claude.names import qualified, split_name
from clawkit.claude.options import ClaudeAgentOptions
from clawkit.errors import CliError, ModelError, ModelTimeoutError
from clawkit.tools.registry import SdkMcpServerRegistry
from clawkit.tools.results import ToolContent, ToolResult
from clawkit.tools.server import SdkMcpServerImpl
from clawkit.tools.tool import SdkMcpTool, ToolOptions
from clawkit.wire.context import Context

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
        model = self._settings.model
        return f"{PROVIDER}/{model}" if model else PROVIDER

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
        """Whoever asks anew will not come back for what it asked before."""
        task = asyncio.current_task()
        for turn in [turn for turn in self._turns if turn.owner is task]:
            await self._end(turn)

    def _end_with_task(self, turn: _Turn) -> None:
        """Whoever runs the tools may be cancelled, and nobody would come back for the CLI."""
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
        self._hearing = Hearing(settings)
        self._heard: asyncio.Queue[Event | Exception | None] = asyncio.Queue()
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
            handler = _Handler(self, spec.name)
            home.register_tool(SdkMcpTool(tool, spec.description, schema, handler, options=_TOOL))
        registry = SdkMcpServerRegistry()
        for home in servers.values():
            registry.register(home)
        return registry

    async def start(self) -> None:
        self._cwd.mkdir(mode=0o700, parents=True, exist_ok=True)
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
                async with asyncio.timeout(_TOGETHER if called else self._settings.timeout):
                    heard = await self._heard.get()
            except TimeoutError:
                if not called:
                    raise self._silent() from None
                yield Finished("tools", model=self._hearing.model)
                return
            if isinstance(heard, Exception):
                raise heard
            if heard is not None:
                yield heard
            called = called or isinstance(heard, Called)
            if isinstance(heard, Finished):
                return

    def _silent(self) -> ModelTimeoutError:
        return ModelTimeoutError(
            PROVIDER, f"the Claude CLI said nothing for {self._settings.timeout:g} s"
        )

    async def _read(self) -> None:
        """Pass on what the CLI says; whatever it says, it is at work."""
        try:
            async for message in self._client.receive_response():
                self._heard.put_nowait(self._hearing.hear(message))
        except (CliError, ModelError) as error:
            self._heard.put_nowait(error)


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
