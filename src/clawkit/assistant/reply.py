"""The Assistant: waits for the session's turn, runs chat commands, or has a model answer."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.callbacks import AssistantReply, Callbacks, MessageContext, Origin
from clawkit.assistant.chat_commands import parse_command, run_command
from clawkit.assistant.config import Config
from clawkit.assistant.model_choice import ChosenModel, choose, open_model
from clawkit.assistant.reply_pipeline import ReplyPipeline
from clawkit.assistant.sessions.async_store import AsyncSessionStore
from clawkit.errors import ModelError
from clawkit.models.protocol import Model

if TYPE_CHECKING:
    from clawkit.assistant.media.transcription import Transcriber
    from clawkit.assistant.memory.long_term import LongTermMemory
    from clawkit.assistant.toolbox.toolbox import Toolbox

__all__ = ["Assistant", "AssistantReply", "Callbacks", "MessageContext", "Origin", "get_reply"]


async def get_reply(
    config: Config, context: MessageContext, callbacks: Callbacks
) -> AssistantReply:
    """One reply from an assistant that is opened for it."""
    async with Assistant(config) as assistant:
        return await assistant.reply(context, callbacks)


class Assistant:
    """Holds what replies share: sessions, models, tools. Each is opened when first needed."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.keys = Keys(config)
        self.sessions = AsyncSessionStore(config.store_file)
        self._models: dict[str, Model] = {}

    async def __aenter__(self) -> Assistant:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop the servers it started, and let go of connections and files."""
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
        from clawkit.assistant.memory.long_term import LongTermMemory

        return LongTermMemory(self.config, self.keys)

    def remembers(self, origin: Origin) -> bool:
        """Whether messages from there are remembered beyond their session, and recalled.

        An order over MCP sees its own session and nothing else, unless the config shares memory.
        """
        options = self.config.memory
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
            if command is not None:
                return await run_command(command, self, turn, context, callbacks)
            return await ReplyPipeline(self, turn, context, callbacks).reply()

    def choice(self, override: str = "") -> tuple[ChosenModel, ...]:
        """The model that answers, then those that stand in for it."""
        return choose(self.config, self.keys, override)

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
