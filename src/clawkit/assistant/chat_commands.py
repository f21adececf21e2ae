"""Parses and runs the commands of a conversation: `/new`, `/status`, `/model` and others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from clawkit.assistant.callbacks import AssistantReply, Callbacks, MessageContext
from clawkit.assistant.summaries import compacted
from clawkit.errors import NoSuchModelError
from clawkit.models.protocol import Usage

if TYPE_CHECKING:
    from clawkit.assistant.assistant import Assistant
    from clawkit.assistant.sessions.async_store import Turn

Name = Literal["new", "reset", "status", "model", "compact", "help"]
_FIRST_WORD = re.compile(r"\s*/(new|reset|status|model|compact|help)(?=\s|$)[^\S\n]*\n?")
_SLASH_WORD = re.compile(r"/([a-z]+)(?=\s|$)(.*)", re.DOTALL)
_ALIKE = 0.7
_ELSEWHERE = ("result", "stop")
"""Commands where orders outlive their call: no slip of another one."""


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


def mistyped_command(text: str) -> str:
    """What to say of a message that was meant as a command, and is none; empty for others."""
    from difflib import get_close_matches

    found = _SLASH_WORD.match(text)
    if found is None or parse_command(text) is not None:
        return ""
    near = get_close_matches(found[1], get_args(Name), n=1, cutoff=_ALIKE)
    if near and found[1] not in _ELSEWHERE:
        return f"There is no /{found[1]}: did you mean /{near[0]}?"
    return "" if found[2].strip() else f"There is no /{found[1]} here: /help lists the commands."


HELP = """\
/new [message]    start afresh under the same session key, with this message if there is one
/reset            the same as /new
/status           the model, and how much this conversation holds
/model [NAME]     show which model answers here, or choose one: provider/model, or `default`
/compact          replace what was said so far by a summary
/help             this list"""

DEFAULT = "default"
_LONGEST_NAME = 200


async def run_command(
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
