"""The Assistant: waits for the session's turn, runs chat commands, or has a model answer."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.callbacks import AssistantReply, Callbacks, MessageContext, Origin
from clawkit.assistant.config import Config
from clawkit.assistant.model_choice import ChosenModel, choose, open_model
from clawkit.assistant.reply_pipeline import ReplyPipeline
from clawkit.assistant.sessions.async_store import AsyncSessionStore
from clawkit.assistant.summaries import compacted
from clawkit.errors import ModelError, NoSuchModelError
from clawkit.models.protocol import Model, Usage

if TYPE_CHECKING:
    from clawkit.assistant.media.transcription import Transcriber
    from clawkit.assistant.memory.long_term import LongTermMemory
    from clawkit.assistant.sessions.async_store import Turn
    from clawkit.assistant.toolbox.toolbox import Toolbox

__all__ = ["Assistant", "AssistantReply", "Callbacks", "MessageContext", "Origin", "get_reply"]


Name = Literal["new", "reset", "status", "model", "compact", "help"]

HELP = """\
/new [message]    start afresh under the same session key, with this message if there is one
/reset            the same as /new
/status           the model, and how much this conversation holds
/model [NAME]     show which model answers here, or choose one: provider/model, or `default`
/compact          replace what was said so far by a summary
/help             this list"""

DEFAULT = "default"
_LONGEST_NAME = 200
_FIRST_WORD = re.compile(r"\s*/(new|reset|status|model|compact|help)(?=\s|$)[^\S\n]*\n?")


class ChatCommand(Struct, frozen=True):
    """A command and what stands behind it."""

    name: Name
    rest: str


def parse_command(text: str) -> ChatCommand | None:
    """The command at the start of a message, if there is one."""
    found = _FIRST_WORD.match(text)
    if found is None:
        return None
    return ChatCommand(cast("Name", found[1]), text[found.end() :])


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


async def run_command(
    command: ChatCommand,
    assistant: Assistant,
    turn: Turn,
    context: MessageContext,
    callbacks: Callbacks,
) -> AssistantReply:
    """Do what a message asks for; `/new` with words behind it goes on with those."""
    usage = Usage()
    if command.name in ("new", "reset"):
        text = _afresh(await turn.reset())
        if command.rest.strip() or context.attachments:
            rest = replace(context, text=command.rest)
            return await ReplyPipeline(assistant, turn, rest, callbacks).reply()
    elif command.name == "model":
        text = await _choose_model(command.rest.strip(), assistant, turn)
    elif command.name == "status":
        text = await _status(assistant, turn)
    elif command.name == "compact":
        text, usage = await _compact(assistant, turn, callbacks)
    else:
        text = HELP
    name = assistant.choice(turn.model)[0].name
    await turn.save((), usage=usage, model=name, reason="command")
    unread = (f"/{command.name} takes no attachments",) if context.attachments else ()
    return AssistantReply(text, name, context.session_key, omissions=unread, usage=usage)


def _afresh(left_behind: int) -> str:
    if not left_behind:
        return "A new conversation; there was nothing before."
    return f"A new conversation. {left_behind} earlier messages are left behind."


async def _choose_model(wanted: str, assistant: Assistant, turn: Turn) -> str:
    if not wanted:
        chosen = assistant.choice(turn.model)[0]
        return (
            f"{chosen.name} answers here ({chosen.why}). `/model provider/model` chooses another."
        )
    if len(wanted) > _LONGEST_NAME or not wanted.isprintable():
        raise NoSuchModelError("", "/model takes one name: provider/model, or `default`")
    if wanted == DEFAULT:
        await turn.choose_model("")
        return f"{assistant.choice()[0].name} answers here again."
    chosen = assistant.choice(wanted)[0]
    assistant.model(chosen)  # one that cannot be opened is not chosen
    await turn.choose_model(wanted)
    return f"{chosen.name} answers here from now on."


async def _status(assistant: Assistant, turn: Turn) -> str:
    chosen = assistant.choice(turn.model)[0]
    info = await turn.info()
    lines = [f"model: {chosen.name} ({chosen.why})"]
    if chosen.name == "offline":
        lines.append("This is not a language model; `claw setup` chooses one.")
    turns = "1 turn" if info.turns == 1 else f"{info.turns} turns"
    lines.append(f"conversation: {info.messages} messages in {turns}")
    return "\n".join(lines)


async def _compact(assistant: Assistant, turn: Turn, callbacks: Callbacks) -> tuple[str, Usage]:
    model = assistant.models(turn.model, callbacks)[0]
    history = await turn.history(0)
    if not history.gap:
        return "There is nothing to summarise.", Usage()
    history, usage = await compacted(turn, history, 0, model)
    return f"What was said so far is now this summary:\n\n{history.summary}", usage
