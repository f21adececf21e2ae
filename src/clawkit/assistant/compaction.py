"""Makes a conversation fit into a model: what is shortened, and what is left out.

What goes first is what is missed least: old calls of tools and their results, then old pictures,
then the oldest turns, which are given back to be summarised. A call and its outcome stay together,
and the person's last message is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from msgspec import Struct

from clawkit.errors import ContextTooLongError
from clawkit.models.messages import shown_earlier
from clawkit.models.protocol import (
    Image,
    Message,
    Part,
    Text,
    ToolCall,
    ToolOutcome,
    message_tokens,
    part_tokens,
)

RECENT = 2
"""Turns whose calls and results are shortened only when nothing else helps."""

_KEPT = (2000, 400, 100)
"""Characters that are kept of a text: at first, and when that is still too much."""


class Fitted(Struct, frozen=True):
    """Messages that fit; `needs_summary_of` were left out, `trimmed` parts were shortened."""

    messages: tuple[Message, ...]
    trimmed: int
    needs_summary_of: tuple[Message, ...]


def fit(messages: Sequence[Message], budget: int) -> Fitted:
    """As much of a conversation as `budget` tokens hold.

    ContextTooLongError when not even the last message does.
    """
    left_out, kept = _without_orphans(messages)
    draft = _Draft(kept, budget)
    draft.shorten_calls(before=draft.start_of_turn(-RECENT), keep=_KEPT[0])
    draft.name_images()
    draft.shorten_giants()
    left_out += draft.leave_out_turns()
    draft.shorten_calls(before=len(draft.messages), keep=_KEPT[0])
    draft.name_images_of_results()
    for keep in _KEPT[1:]:
        draft.shorten_calls(before=len(draft.messages), keep=keep)
    if draft.total > budget:
        raise _too_long(draft, budget)
    return Fitted(tuple(draft.messages), draft.trimmed, left_out)


def _without_orphans(
    messages: Sequence[Message],
) -> tuple[tuple[Message, ...], list[Message]]:
    """A window may begin between a call and its outcome, which no provider accepts."""
    start = 0
    while start < len(messages) and messages[start].role == "tool":
        start += 1
    return tuple(messages[:start]), list(messages[start:])


class _Draft:
    """Messages with their sizes, while they are made to fit."""

    def __init__(self, messages: list[Message], budget: int) -> None:
        self.messages = messages
        self.budget = budget
        self._originals = list(messages)
        self._sizes = list(map(message_tokens, messages))
        self.total = sum(self._sizes)
        self._done = {
            part.call_id
            for message in messages
            for part in message.parts
            if isinstance(part, ToolOutcome)
        }

    @property
    def trimmed(self) -> int:
        """How many parts of what is left are not as they were."""
        pairs = zip(self.messages, self._originals, strict=True)
        return sum(
            new is not old
            for message, original in pairs
            for new, old in zip(message.parts, original.parts, strict=True)
        )

    @property
    def last_of_person(self) -> int:
        """Where the last message of the person is; -1 where there is none."""
        places = range(len(self.messages) - 1, -1, -1)
        return next((at for at in places if self.messages[at].role == "user"), -1)

    def start_of_turn(self, number: int) -> int:
        """Where a turn begins, counted from the end as -1, -2, …; 0 where there are fewer."""
        starts = [at for at, message in enumerate(self.messages) if message.role == "user"]
        return starts[number] if len(starts) >= -number else 0

    def shorten_calls(self, *, before: int, keep: int) -> None:
        """Cut what tools were given and what they gave, the largest first, until all fits."""
        if self.total <= self.budget:
            return
        places = [(part_tokens(part), at, index) for at, index, part in self._calls(before)]
        for _, at, index in sorted(places, key=lambda place: (-place[0], place[1], place[2])):
            if self.total <= self.budget:
                return
            self._change(at, index, lambda part: shortened(part, keep))

    def _calls(self, before: int) -> Iterator[tuple[int, int, Part]]:
        """The outcomes, and the calls that have one: a call that is still to be made is whole."""
        for at, message in enumerate(self.messages[:before]):
            for index, part in enumerate(message.parts):
                if isinstance(part, ToolOutcome) or (
                    isinstance(part, ToolCall) and part.id in self._done
                ):
                    yield at, index, part

    def shorten_giants(self) -> None:
        """A single new result is no reason to forget half of the conversation."""
        if self.total <= self.budget:
            return
        for at, index, part in list(self._calls(len(self.messages))):
            if part_tokens(part) > self.budget // 2:
                self._change(at, index, lambda part: shortened(part, self.budget // 2))

    def name_images(self) -> None:
        """Put names in the place of pictures, the oldest first, but for those just sent."""
        current = self.start_of_turn(-1)
        for at in range(current):
            for index, part in enumerate(self.messages[at].parts):
                if self.total <= self.budget:
                    return
                if isinstance(part, Image | ToolOutcome):
                    self._change(at, index, _named)

    def name_images_of_results(self) -> None:
        """The same for the pictures that tools have given in this turn."""
        for at, message in enumerate(self.messages):
            for index in range(len(message.parts) if message.role == "tool" else 0):
                if self.total <= self.budget:
                    return
                self._change(at, index, _named)

    def leave_out_turns(self) -> tuple[Message, ...]:
        """Drop whole turns from the start, up to the one that is going on."""
        if self.total <= self.budget:
            return ()
        starts = [at for at, message in enumerate(self.messages) if message.role == "user"]
        total, cut = self.total, 0
        for start in starts:
            total -= sum(self._sizes[cut:start])
            cut = start
            if total <= self.budget:
                break
        gone = tuple(self._originals[:cut])
        del self._originals[:cut]
        del self.messages[:cut]
        del self._sizes[:cut]
        self.total = total
        return gone

    def _change(self, at: int, index: int, change: Callable[[Part], Part]) -> None:
        message = self.messages[at]
        changed = change(message.parts[index])
        if changed is message.parts[index]:
            return
        parts = (*message.parts[:index], changed, *message.parts[index + 1 :])
        self.messages[at] = Message(message.role, parts)
        size = message_tokens(self.messages[at])
        self.total += size - self._sizes[at]
        self._sizes[at] = size


def cut_down(message: Message, room: int) -> Message:
    """A message that is too large to be said again, in about so many tokens or twice as many."""
    keep = 2 * room // max(1, len(message.parts))  # most characters are half a token or less
    parts = tuple(shortened(part, keep) for part in message.parts)
    if message_tokens(Message(message.role, parts)) > 2 * room:
        parts = tuple(map(_named, parts))
    return Message(message.role, parts)


def shortened(part: Part, keep: int) -> Part:
    """A part with the head and the tail of its texts; unchanged where that is no gain."""
    changed: Part = part
    match part:
        case Text():
            changed = Text(shorten(part.text, keep))
        case ToolCall():
            changed = ToolCall(part.id, part.name, _shortened_values(part.arguments, keep))
        case ToolOutcome():
            parts = (
                Text(shorten(inner.text, keep)) if isinstance(inner, Text) else inner
                for inner in part.parts
            )
            changed = ToolOutcome(part.call_id, tuple(parts), part.is_error)
        case Image():
            pass
    return part if changed == part else changed


def _shortened_values(value: Any, keep: int) -> Any:
    match value:
        case str():
            return shorten(value, keep)
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {name: _shortened_values(item, keep) for name, item in pairs}
        case list():
            return [_shortened_values(item, keep) for item in cast("list[Any]", value)]
        case _:
            return value


def shorten(text: str, keep: int) -> str:
    """Two thirds of what is kept from the head, one from the tail, and how much is gone between."""
    gone = len(text) - keep
    note = f"\n[… {gone:,} of {len(text):,} characters left out …]\n"
    if gone <= len(note):
        return text
    head = keep * 2 // 3
    return text[:head] + note + text[len(text) - (keep - head) :]


def _named(part: Part) -> Part:
    if isinstance(part, Image):
        return shown_earlier(part.name)
    if isinstance(part, ToolOutcome) and any(isinstance(inner, Image) for inner in part.parts):
        inner = (shown_earlier(p.name) if isinstance(p, Image) else p for p in part.parts)
        return ToolOutcome(part.call_id, tuple(inner), part.is_error)
    return part


def _too_long(draft: _Draft, budget: int) -> ContextTooLongError:
    at = draft.last_of_person
    alone = message_tokens(draft.messages[at]) if at >= 0 else draft.total
    what = "the message alone is" if alone > budget else "the message and its tool calls are"
    return ContextTooLongError(
        "",
        f"{what} about {max(alone, draft.total):,} tokens, and {max(budget, 0):,} fit: send less "
        "text or fewer attachments, or choose a model with a larger context (`/model`, or `use` "
        "under [model] in config.toml)",
    )
