"""Types of a reply: the message, the callbacks on the way, the answer; and parts of it combined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from clawkit.assistant.media.inbound import Attachment
from clawkit.assistant.media.outbound import Outgoing
from clawkit.assistant.toolbox.tool_source import CallResult
from clawkit.errors import MissingCapabilityError
from clawkit.models.protocol import StopReason, ToolCall, Usage

if TYPE_CHECKING:
    from clawkit.wire.input_requests import InputRequest

Origin = Literal["mcp", "http", "ask", "chat"]


class MessageContext(Struct, frozen=True):
    """A message, and where it was said. A session that is not `named` is pruned after a while.

    `model` answers this message, and no other stands in for it; without, it is the session's own
    or the config's. Without `with_media` the answer is text only, so the model sends no files.
    """

    text: str
    session_key: str
    named: bool = True
    origin: Origin = "mcp"
    attachments: tuple[Attachment, ...] = ()
    model: str = ""
    with_media: bool = True


class Callbacks:
    """Hears what happens on the way to an answer; override what you want to know."""

    @property
    def answers(self) -> frozenset[str]:
        """The kinds of questions of tools that can be answered: `elicitation`, `sampling`."""
        return frozenset()

    async def ask(self, question: InputRequest) -> dict[str, Any]:
        """Answer a question of a tool."""
        raise MissingCapabilityError(
            "there is nobody here who can answer", {question.capability: {}}
        )

    def text(self, delta: str) -> None:
        """More of what the model is saying."""

    def take_back(self) -> bool:
        """The model failed and can be asked anew: forget the text since the last block.

        False if somebody has seen any of it: then it stays, and the answer ends there.
        """
        return False

    def block(self, text: str) -> None:
        """Something it said in full before it went on with tools."""

    def tool_started(self, call: ToolCall) -> None:
        """A tool is about to run."""

    def tool_ended(self, call: ToolCall, result: CallResult) -> None:
        """A tool is done."""

    def step(self, text: str, tool: str = "") -> None:
        """What takes time just now; `tool` says so of itself."""

    def notice(self, text: str) -> None:
        """What went otherwise than wanted, and is true of the answer: part of the result."""

    def problem(self, text: str) -> None:
        """Something that the answer comes without, such as memory, and why."""
        self.notice(text)


class AssistantReply(Struct, frozen=True):
    """The answer. `omissions` say what is missing from it and why.

    `problem`: what went wrong after something was said or done, which is here as far as it came;
    or why the answer could not be kept.
    """

    text: str
    model: str
    session_key: str
    media: tuple[Outgoing, ...] = ()
    omissions: tuple[str, ...] = ()
    usage: Usage = Usage()
    reason: StopReason = "end"
    problem: str = ""


_LOOKS = 20
"""Occurrences to check at most, so that a hostile text cannot make the search endless."""
_SPACES = re.compile(r"\s+")


def combine(parts: Sequence[str], answer: str) -> str:
    """Joins what was said on the way and the answer, without repetitions.

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
