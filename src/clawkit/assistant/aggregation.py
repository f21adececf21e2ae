"""One answer out of many parts: what was said on the way, what tools gave, and the end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clawkit.assistant.media.outbound import to_blocks
from clawkit.assistant.reply import Callbacks, Reply

if TYPE_CHECKING:
    from clawkit.assistant.models.protocol import ToolCall
    from clawkit.assistant.toolbox.toolbox import CallResult

LONGEST_TOOL_TEXT = 4000
_SPACES = re.compile(r"\s+")


class Collected(Callbacks):
    """Keeps the parts in the order in which they came."""

    def __init__(self, *, show_tools: bool = True) -> None:
        self._parts: list[str] = []
        self._show_tools = show_tools

    def block(self, text: str) -> None:
        self._parts.append(text)

    def tool_ended(self, call: ToolCall, result: CallResult) -> None:
        if self._show_tools and not result.outcome.is_error:
            self._parts.append(_shortened(call.name, result.text))

    def beside(self, other: Callbacks) -> Callbacks:
        """Both hear everything."""
        return Both(self, other)

    def result(self, reply: Reply, *, with_media: bool, structured: bool) -> dict[str, Any]:
        """The result of the call, with everything that had to be left out said in the text."""
        omissions = list(reply.omissions)
        if reply.media and not with_media:
            names = ", ".join(item.name for item in reply.media)
            omissions.append(f"{names} left out: answers of this tool are text only")
        notes = [f"[{one}]" for one in omissions]
        if reply.problem:
            notes.append(f"Error: {reply.problem}")
        text = combine([*self._parts, reply.text, *notes])
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
            }
        return result


class Both(Callbacks):
    """Two listeners as one."""

    def __init__(self, one: Callbacks, other: Callbacks) -> None:
        self._all = (one, other)

    def text(self, delta: str) -> None:
        for each in self._all:
            each.text(delta)

    def block(self, text: str) -> None:
        for each in self._all:
            each.block(text)

    def tool_started(self, call: ToolCall) -> None:
        for each in self._all:
            each.tool_started(call)

    def tool_ended(self, call: ToolCall, result: CallResult) -> None:
        for each in self._all:
            each.tool_ended(call, result)

    def notice(self, text: str) -> None:
        for each in self._all:
            each.notice(text)


def combine(parts: Sequence[str]) -> str:
    """Each thing once, in the order it was first said; what another part repeats is left out."""
    said = [(part.strip(), _SPACES.sub(" ", part).strip()) for part in parts]
    kept = [
        text
        for place, (text, plain) in enumerate(said)
        if text and not any(_repeats(said[n][1], plain, n < place) for n in _but(place, said))
    ]
    return "\n\n".join(kept)


def _but(place: int, said: Sequence[object]) -> list[int]:
    return [n for n in range(len(said)) if n != place]


def _repeats(other: str, part: str, earlier: bool) -> bool:
    """Whether `other` says all of `part`: of two that are the same, the earlier one stays."""
    if other == part:
        return earlier
    start = other.find(part)
    while start >= 0:
        end = start + len(part)
        if not (_in_word(other, start) or _in_word(other, end)):
            return True
        start = other.find(part, start + 1)
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
