"""The commands of a conversation: `/new`, `/status`, `/model`, `/compact`, `/help`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clawkit.assistant.callbacks import AssistantReply, Callbacks, MessageContext
from clawkit.assistant.summaries import compacted
from clawkit.errors import NoSuchModelError
from clawkit.models.protocol import Usage

if TYPE_CHECKING:
    from clawkit.assistant.command_words import ChatCommand
    from clawkit.assistant.reply import Assistant
    from clawkit.assistant.sessions.async_store import Turn

HELP = """\
/new [message]    start afresh under the same session key, with this message if there is one
/reset            the same as /new
/status           the model, and how much this conversation holds
/model [NAME]     show which model answers here, or choose one: provider/model, or `default`
/compact          replace what was said so far by a summary
/help             this list"""

DEFAULT = "default"
_LONGEST_NAME = 200


async def run(
    command: ChatCommand,
    assistant: Assistant,
    turn: Turn,
    context: MessageContext,
    callbacks: Callbacks,
) -> AssistantReply | MessageContext:
    """Do what a message asks for; gives the reply, or what `/new` had behind it, to be answered."""
    usage = Usage()
    if command.name in ("new", "reset"):
        text = _afresh(await turn.reset())
        if command.rest.strip() or context.attachments:
            return replace(context, text=command.rest)
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
