"""A message history that every provider takes: no empty turn, and an outcome for each call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from clawkit.models.protocol import Image, Message, Part, Text, ToolCall, ToolOutcome

_Waiting = tuple[str, str]
"""A call without an outcome yet: its id as it was, and as it is sent."""
_UNKNOWN = "This call was interrupted: it may have run, and what came of it is not known."
_BEGINNING = Message("user", (Text("(The beginning of the conversation is left out.)"),))
_NOTHING = (Text("(An empty message.)"),)
SEEN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def tidy(messages: Sequence[Message]) -> list[Message]:
    """The messages without what makes providers refuse all of them.

    A turn that was broken off may leave calls without outcomes, and a history that was cut may
    begin with the assistant, or with outcomes of calls that are gone. Ids are given anew where
    another call has the same one: some models number them from the start in every turn.
    """
    found: list[Message] = []
    used: set[str] = set()
    waiting: list[_Waiting] = []
    for message in messages:
        if not waiting and plain_text(message):
            found.append(message)
            continue
        if message.role == "tool":
            found.append(_answering(message, waiting))
            continue
        found += _interrupted(waiting)
        parts = tuple(_renamed(p, used, waiting) for p in message.parts if not _is_empty(p))
        if parts or message.role == "user":
            found.append(Message(message.role, parts or _NOTHING))
    found += _interrupted(waiting)
    return found if found and found[0].role == "user" else [_BEGINNING, *found]


def unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the last answer that have no outcome yet."""
    outcomes: set[str] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            calls = (part for part in message.parts if isinstance(part, ToolCall))
            return tuple(call for call in calls if call.id not in outcomes)
        outcomes |= {part.call_id for part in message.parts if isinstance(part, ToolOutcome)}
    return ()


def unknown_outcome(call_id: str) -> ToolOutcome:
    """What stands for the outcome of a call that was interrupted."""
    return ToolOutcome(call_id, (Text(_UNKNOWN),), is_error=True)


def plain_text(message: Message) -> str:
    """The words of a message that is nothing else, as most of a long conversation are."""
    parts = message.parts
    if len(parts) != 1 or type(parts[0]) is not Text or message.role == "tool":
        return ""
    text = parts[0].text
    return text if text.strip() else ""


def pictures(message: Message) -> Iterator[Image]:
    """The pictures of a message, those in the outcomes of its calls too."""
    for part in message.parts:
        parts = part.parts if isinstance(part, ToolOutcome) else (part,)
        yield from (inner for inner in parts if isinstance(inner, Image))


def shown_earlier(name: str) -> Text:
    """What stands for a picture that is not sent again."""
    return Text(f"[image {name}, shown earlier]")


def describe(image: Image) -> str:
    """What stands in for a picture that the model cannot see."""
    return f"[picture {image.name} ({image.mime_type}), which this model cannot see]"


def _renamed(part: Part, used: set[str], waiting: list[_Waiting]) -> Part:
    """A part as it is, or a call under an id that is its own; what calls wait for is noted."""
    if not isinstance(part, ToolCall):
        return part
    id, number = part.id, len(used)
    while id in used or not id:
        number += 1
        id = f"call_{number}"
    used.add(id)
    waiting.append((part.id, id))
    return part if id == part.id else replace(part, id=id)


def _answering(message: Message, waiting: list[_Waiting]) -> Message:
    """Outcomes of calls that wait for one; any other becomes words of the same turn."""
    kept: list[Part] = []
    loose: list[Part] = []
    for part in message.parts:
        if not isinstance(part, ToolOutcome):
            loose += () if _is_empty(part) else (part,)
        elif call := next((each for each in waiting if each[0] == part.call_id), None):
            waiting.remove(call)
            kept.append(replace(part, call_id=call[1]))
        else:
            loose += [Text("Outcome of an earlier call:"), *part.parts]
    return Message("tool" if kept else "user", (*kept, *loose) or _NOTHING)


def _interrupted(waiting: list[_Waiting]) -> Iterator[Message]:
    if waiting:
        outcomes = tuple(unknown_outcome(id) for _, id in waiting)
        waiting.clear()
        yield Message("tool", outcomes)


def _is_empty(part: Part) -> bool:
    return isinstance(part, Text) and not part.text.strip()
