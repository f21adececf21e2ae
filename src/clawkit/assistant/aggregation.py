"""One answer out of many parts: what was said on the way, what tools gave, and the end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clawkit.assistant.media.outbound import to_blocks
from clawkit.assistant.reply import Callbacks, Reply

if TYPE_CHECKING:
    from clawkit.assistant.toolbox.toolbox import CallResult
    from clawkit.models.protocol import ToolCall

LONGEST_TOOL_TEXT = 4000
MOST_NOTICES = 50
_LOOKS = 20
"""Places to look at: a text made to be compared for ever is none that anybody repeats."""
_SPACES = re.compile(r"\s+")


class Collected(Callbacks):
    """Keeps the parts in the order in which they came."""

    def __init__(self, *, show_tools: bool = True) -> None:
        self._parts: list[str] = []
        self._notices: dict[str, None] = {}
        self._show_tools = show_tools

    def take_back(self) -> bool:
        return True

    def block(self, text: str) -> None:
        self._parts.append(text)

    def tool_ended(self, call: ToolCall, result: CallResult) -> None:
        if self._show_tools and not result.outcome.is_error:
            self._parts.append(_shortened(call.name, result.text))

    def notice(self, text: str) -> None:
        if len(self._notices) < MOST_NOTICES:
            self._notices[text] = None

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(self._notices)

    def beside(self, other: Callbacks) -> Callbacks:
        """Both hear everything."""
        return Both(self, other)

    def result(self, reply: Reply, *, with_media: bool, structured: bool) -> dict[str, Any]:
        """The result of the call, with everything that had to be left out said in the text."""
        omissions = [*self._notices, *reply.omissions]
        if reply.media and not with_media:
            names = ", ".join(item.name for item in reply.media)
            omissions.append(f"{names} left out: answers of this tool are text only")
        notes = [f"[{one}]" for one in omissions]
        if reply.problem:
            notes.append(f"Error: {reply.problem}")
        text = "\n\n".join(filter(None, (combine(self._parts, reply.text), *notes)))
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        if with_media:
            content += to_blocks(reply.media)
        result: dict[str, Any] = {"content": content, "isError": bool(reply.problem)}
        if structured:
            result["structuredContent"] = {
                "sessionKey": reply.session_key,
                "model": reply.model,
                "usage": {
                    "input": reply.usage.input,
                    "output": reply.usage.output,
                    "cached": reply.usage.cached,
                },
                "stopReason": reply.reason,
                **({"notices": list(self._notices)} if self._notices else {}),
            }
        return result


class Both(Callbacks):
    """Two listeners as one."""

    def __init__(self, one: Callbacks, other: Callbacks) -> None:
        self._all = (one, other)

    def text(self, delta: str) -> None:
        for each in self._all:
            each.text(delta)

    def take_back(self) -> bool:
        return all(each.take_back() for each in self._all)

    def block(self, text: str) -> None:
        for each in self._all:
            each.block(text)

    def tool_started(self, call: ToolCall) -> None:
        for each in self._all:
            each.tool_started(call)

    def tool_ended(self, call: ToolCall, result: CallResult) -> None:
        for each in self._all:
            each.tool_ended(call, result)

    def step(self, text: str, tool: str = "") -> None:
        for each in self._all:
            each.step(text, tool)

    def notice(self, text: str) -> None:
        for each in self._all:
            each.notice(text)

    def problem(self, text: str) -> None:
        for each in self._all:
            each.problem(text)


def combine(parts: Sequence[str], answer: str) -> str:
    """Each thing once, in the order it was said, and the answer at the end.

    A part goes if the answer repeats it, if it was said before, or if another part has all of it.
    """
    said = [text for part in parts if (text := part.strip())]
    plain = [_SPACES.sub(" ", text) for text in said]
    whole = _SPACES.sub(" ", answer).strip()
    kept = [
        text
        for place, text in enumerate(said)
        if not _repeats(whole, plain[place])
        and plain[place] not in plain[:place]
        and not any(
            _repeats(other, plain[place]) for other in plain if len(other) > len(plain[place])
        )
    ]
    return "\n\n".join([*kept, answer.strip()] if whole else kept)


def _repeats(other: str, part: str) -> bool:
    """Whether `other` says all of `part`, not only as pieces of longer words."""
    start = -1
    for _ in range(_LOOKS):
        start = other.find(part, start + 1)
        if start < 0:
            return False
        if not (_in_word(other, start) or _in_word(other, start + len(part))):
            return True
    return False


def _in_word(text: str, place: int) -> bool:
    """Whether a cut at `place` would go through a word."""
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()


def _shortened(name: str, text: str) -> str:
    text = text.strip()
    if len(text) <= LONGEST_TOOL_TEXT:
        return text
    left_out = len(text) - LONGEST_TOOL_TEXT
    return f"{text[:LONGEST_TOOL_TEXT]}\n[{left_out} more characters of {name} left out]"
