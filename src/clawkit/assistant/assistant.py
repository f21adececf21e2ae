"""The Assistant: the sessions, models, tools and memory that replies share; opened anew for orders
when its config changes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.callbacks import AssistantReply, Callbacks, MessageContext, Origin
from clawkit.assistant.chat_commands import parse_command, run_command
from clawkit.assistant.config import AssistantOptions, Config, config_file, read_config
from clawkit.assistant.media.call_folder import sweep
from clawkit.assistant.memory.long_term import LongTermMemory
from clawkit.assistant.model_choice import ChosenModel, choose, open_model
from clawkit.assistant.reply import ReplyPipeline
from clawkit.assistant.sessions.async_store import AsyncSessionStore
from clawkit.errors import ModelError, SettingsError
from clawkit.models.protocol import Model
from clawkit.settings import settings

if TYPE_CHECKING:
    from clawkit.assistant.media.transcription import Transcriber
    from clawkit.assistant.toolbox.toolbox import Toolbox


class Assistant:
    """Holds what replies share: sessions, models, tools. Each is opened when first needed."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.keys = Keys(config)
        self.sessions = AsyncSessionStore(config.store_file)
        self._models: dict[str, Model] = {}
        self._choices: dict[str, tuple[ChosenModel, ...]] = {}

    async def __aenter__(self) -> Assistant:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop the servers it started; close connections and files."""
        if "toolbox" in self.__dict__:
            await self.toolbox.close()
        for model in self._models.values():
            await model.close()
        if "long_term" in self.__dict__:
            await self.long_term.close()
        await self.sessions.close()

    @cached_property
    def toolbox(self) -> Toolbox:
        from clawkit.assistant.toolbox.toolbox import Toolbox

        return Toolbox(self.config, self.keys)

    @cached_property
    def long_term(self) -> LongTermMemory:
        """What it remembers beyond one session."""
        return LongTermMemory(self.config, self.keys)

    def remembers(self, origin: Origin) -> bool:
        """Whether messages from there are remembered beyond their session, and recalled.

        An order over MCP sees its own session and nothing else, unless the config shares memory;
        one over HTTP, where others may ask, never sees more.
        """
        options = self.config.memory
        if origin == "http":
            return False
        return options.enabled and (origin != "mcp" or options.share)

    @cached_property
    def transcriber(self) -> Transcriber | None:
        if not self.config.transcription.provider:
            return None
        from clawkit.assistant.media.transcription import transcriber

        return transcriber(self.config.transcription, self.keys)

    async def reply(self, context: MessageContext, callbacks: Callbacks) -> AssistantReply:
        """The answer to one message, once it is this message's turn in its session."""

        def waiting(ahead: int) -> None:
            callbacks.step(f"waiting for {ahead} earlier in this session")

        async with self.sessions.turn(
            context.session_key, origin=context.origin, named=context.named, on_wait=waiting
        ) as turn:
            command = parse_command(context.text)
            if command is None:
                return await ReplyPipeline(self, turn, context, callbacks).reply()
            done = await run_command(command, self, turn, context, callbacks)
            if isinstance(done, AssistantReply):
                return done
            return await ReplyPipeline(self, turn, done, callbacks).reply()

    def choice(self, override: str = "") -> tuple[ChosenModel, ...]:
        """The model that answers, then those that stand in for it; chosen once, as each is opened
        once: a changed config or `.env` has an assistant of its own.
        """
        if override not in self._choices:
            self._choices[override] = choose(self.config, self.keys, override)
        return self._choices[override]

    def models(self, override: str, callbacks: Callbacks, *, alone: bool = False) -> list[Model]:
        """The models to ask, in order; one that cannot be opened is passed over for the next."""
        opened: list[Model] = []
        problems: list[ModelError] = []
        for chosen in self.choice(override)[: 1 if alone else None]:
            try:
                opened.append(self.model(chosen))
            except ModelError as error:
                problems.append(error)
        if not opened:
            raise problems[0]
        for problem in problems:
            callbacks.notice(str(problem))
        return opened

    def model(self, chosen: ChosenModel) -> Model:
        if chosen.name not in self._models:
            self._models[chosen.name] = open_model(chosen, self.config, self.keys)
        return self._models[chosen.name]


class ReloadingAssistant:
    """Gives each order the assistant of the newest config; an older one finishes what it has."""

    def __init__(self) -> None:
        self._newest: Assistant | None = None
        self._orders: Counter[Assistant] = Counter()
        """How many orders each works on."""
        self._seen: object = None
        self._sweeping: asyncio.Task[int] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def task_after(self) -> float:
        """From the config; a config that cannot be read is reported by the order itself."""
        if self._newest is not None:
            return self._newest.config.assistant.task_after
        try:
            return read_config(settings()).assistant.task_after
        except SettingsError:
            return AssistantOptions().task_after

    @contextmanager
    def assistant(self, opened: Assistant | None = None) -> Generator[Assistant]:
        """The assistant for one order: of the newest config, or one that is given already.

        It stays open as long. Raises SettingsError.
        """
        opened = opened or self._current()
        self._orders[opened] += 1
        try:
            yield opened
        finally:
            self._orders[opened] -= 1
            self._close_beside(opened)

    async def close(self) -> None:
        """Close everything without waiting for running orders."""
        if self._sweeping is not None:
            await self._sweeping
        if self._closing:
            await asyncio.wait(self._closing)
        if self._newest is not None:
            await self._newest.close()
            self._newest = None

    def _close_beside(self, opened: Assistant) -> None:
        """Close an assistant of an older config in the background, once it has no orders."""
        if opened is not self._newest and not self._orders[opened]:
            del self._orders[opened]
            task = asyncio.get_running_loop().create_task(opened.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _current(self) -> Assistant:
        seen = tuple(map(_stamp, self._files))
        if self._newest is None:
            self._sweeping = asyncio.get_running_loop().create_task(asyncio.to_thread(sweep))
        if self._newest is None or seen != self._seen:
            opened = Assistant(read_config(settings()))
            retired, self._newest, self._seen = self._newest, opened, seen
            if retired is not None:
                self._close_beside(retired)
        return self._newest

    @cached_property
    def _files(self) -> tuple[Path, ...]:
        """What an assistant is opened with: when one of them changes, the next one is."""
        places = settings()
        return config_file(places), places.config / ".env"


def _stamp(file: Path) -> tuple[int, int] | None:
    """The modification time and size of a file: another pair means that it changed."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
