"""What goes into a reply and what comes out of it: the message, those who listen, the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from clawkit.assistant.media.inbound import Attachment
from clawkit.assistant.media.outbound import Outgoing
from clawkit.models.protocol import StopReason, ToolCall, Usage

if TYPE_CHECKING:
    from clawkit.assistant.toolbox.toolbox import CallResult

Origin = Literal["mcp", "ask", "chat"]


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


class Reply(Struct, frozen=True):
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
