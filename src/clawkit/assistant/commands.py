"""The commands of a conversation, carried out: what `/new`, `/status` and the others do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clawkit.assistant.answering import Answering
from clawkit.assistant.directives import HELP, Directive
from clawkit.assistant.exchange import Callbacks, MessageContext, Reply
from clawkit.assistant.summaries import compacted
from clawkit.errors import NoSuchModelError
from clawkit.models.protocol import Usage

if TYPE_CHECKING:
    from clawkit.assistant.reply import Assistant
    from clawkit.assistant.sessions.sessions import Turn

DEFAULT = "default"
_LONGEST_NAME = 200


async def carry_out(
    directive: Directive,
    assistant: Assistant,
    turn: Turn,
    context: MessageContext,
    callbacks: Callbacks,
) -> Reply:
    """Do what a message asks for; `/new` with words behind it goes on with those."""
    usage = Usage()
    if directive.name in ("new", "reset"):
        text = _afresh(await turn.reset())
        if directive.rest.strip() or context.attachments:
            rest = replace(context, text=directive.rest)
            return await Answering(assistant, turn, rest, callbacks).reply()
    elif directive.name == "model":
        text = await _choose_model(directive.rest.strip(), assistant, turn)
    elif directive.name == "status":
        text = await _status(assistant, turn)
    elif directive.name == "compact":
        text, usage = await _compact(assistant, turn, callbacks)
    else:
        text = HELP
    name = assistant.choice(turn.model)[0].name
    await turn.save((), usage=usage, model=name, reason="command")
    unread = (f"/{directive.name} takes no attachments",) if context.attachments else ()
    return Reply(text, name, context.session_key, omissions=unread, usage=usage)


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
