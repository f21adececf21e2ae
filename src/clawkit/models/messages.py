"""Messages and tool calls as every provider takes them.

A history has no empty turn, and an outcome for each call; tools have valid names.

A model may write broken JSON, or hit the limit of its answer in the middle of it. The call is
passed on all the same, with one argument that no tool has; whoever runs calls asks `unreadable`
first and gives its text to the model as a failed outcome, so that the model can call again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec.structs import replace

from clawkit.models.json_fields import decoded, joined
from clawkit.models.protocol import Image, Message, Part, Text, ToolCall, ToolOutcome, ToolSpec

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
        parts = tuple(_renamed(p, used, waiting) for p in message.parts if not is_blank(p))
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
            loose += () if is_blank(part) else (part,)
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


def is_blank(part: Part) -> bool:
    """Whether a part is a text without words."""
    return isinstance(part, Text) and not part.text.strip()


LONGEST_NAME = 64
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")


class ToolNames:
    """The tools of one prompt, also those of earlier calls, by both of their names."""

    def __init__(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> None:
        self._sent: dict[str, str] = {}
        self._ours: dict[str, str] = {}
        for tool in tools:
            self._add(tool.name)
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self._add(part.name)

    def sent(self, name: str) -> str:
        """The name that the provider knows."""
        return self._sent[name]

    def ours(self, name: str) -> str:
        """The name that we know; one that was never sent is what the model made up."""
        return self._ours.get(name, name)

    def _add(self, name: str) -> None:
        if name in self._sent:
            return
        usable = _UNUSABLE.sub("_", name)
        if usable != name or len(name) > LONGEST_NAME or not name or usable in self._ours:
            # The same from turn to turn, and not the name of another tool.
            mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
            usable = f"{usable[: LONGEST_NAME - 9]}_{mark}"
        self._sent[name] = usable
        self._ours[usable] = name


_MARK = "unreadable arguments"
_LONGEST = 2000
LONGEST_ARGUMENTS = 4_000_000
"""Characters of all calls of one answer together."""
A_CALL = 10_000
"""What a call counts beside its arguments, so that there are not endlessly many."""


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments in a text; nothing at all stands for none."""
    text = joined(text)
    if not text.strip():
        return {}
    try:
        value = decoded(text.encode())
    except ValueError:
        return {_MARK: text[:_LONGEST]}
    if value is None:
        return {}
    if not isinstance(value, dict):
        return {_MARK: text[:_LONGEST]}
    return cast("dict[str, Any]", value)


def unreadable(call: ToolCall) -> str | None:
    """What to tell the model about a call whose arguments could not be read; else None."""
    if set(call.arguments) != {_MARK}:
        return None
    return (
        f"{call.name} was not called: its arguments are not a JSON object, or were cut off where "
        "the answer reached its limit. Call it again with complete, valid JSON."
    )
