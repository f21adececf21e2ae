"""What a person sees of a reply as it comes: the answer, and on the way tools and notices."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, TextIO

from clawkit.assistant.exchange import Callbacks, Reply
from clawkit.cli.chat_text import DIM, PLAIN, Markdown, Stream, harmless

if TYPE_CHECKING:
    from clawkit.assistant.toolbox.toolbox import CallResult
    from clawkit.models.protocol import ToolCall

_LONGEST_ARGUMENTS = 120
_LONGEST_NOTE = 500
_THINKING = "thinking …"
_told: set[str] = set()
"""The errors that were told since the last message: each is one problem, wherever it is met."""


def can_style(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows styles, and nobody minds."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Screen(Callbacks):
    """Writes an answer to a terminal while it streams; steps and notices as dim lines.

    Without `out` nothing of the answer is written before its end. Without `notes` nobody is told
    about steps; notices are lines on stderr then, since a script must know what it did not get.
    Each notice is given once, and not at all if it is `known`.
    """

    def __init__(
        self, verb: str, out: TextIO | None, notes: TextIO | None, known: Collection[str] = ()
    ) -> None:
        self._verb = verb
        self._out = out
        self._notes = notes
        self._known = known
        self._blocks: list[str] = []
        self._notices: dict[str, None] = {}
        self.tools: dict[str, None] = {}
        """The names of the tools that were started, in their order."""
        self._begin()
        self._open_line = False
        self._thinking = False

    def _begin(self) -> None:
        self._stream = Stream()
        width = shutil.get_terminal_size((80, 24)).columns
        self._dress = Markdown(width) if self._out and can_style(self._out) else None

    @property
    def blocks(self) -> tuple[str, ...]:
        """What was said in full before tools ran."""
        return tuple(self._blocks)

    @property
    def notices(self) -> tuple[str, ...]:
        """What was said about the answer, beside it."""
        return tuple(self._notices)

    def wait(self) -> None:
        """Say that something happens, until there is something better to say."""
        if self._out is not None and can_style(self._out):
            self._out.write(f"{DIM}{_THINKING}{PLAIN}")
            self._out.flush()
            self._thinking = True

    def text(self, delta: str) -> None:
        if self._out is not None:
            self._write(self._stream.feed(delta))

    def take_back(self) -> bool:
        if self._stream.shown:
            return False
        self._begin()
        return True

    def block(self, text: str) -> None:
        self._blocks.append(text)
        self.pause()
        self._begin()

    def tool_started(self, call: ToolCall) -> None:
        self.tools[call.name] = None
        arguments = json.dumps(call.arguments, ensure_ascii=False) if call.arguments else ""
        if len(arguments) > _LONGEST_ARGUMENTS:
            arguments = arguments[:_LONGEST_ARGUMENTS] + "…"
        self.note(f"→ {call.name} {arguments}".rstrip())

    def tool_ended(self, call: ToolCall, result: CallResult) -> None:
        how = f"failed: {_reason(result)}" if result.outcome.is_error else "done"
        self.note(f"  {call.name} {how} ({result.seconds:.1f} s)")

    def step(self, text: str, tool: str = "") -> None:
        self.note(f"… {tool}: {text}" if tool else f"… {text}")

    def notice(self, text: str) -> None:
        from clawkit.assistant.redaction import redact

        if text in self._known or (text := redact(text)) in self._notices:
            return
        self._notices[text] = None
        if self._notes is not None:
            self.note(f"… {text}")
        else:
            error_lines(self._verb, text)

    def note(self, text: str) -> None:
        """A line beside the answer."""
        if self._notes is None:
            return
        from clawkit.assistant.redaction import redact
        from clawkit.guard.scan import visible

        self.pause()
        line = visible(redact(text), _LONGEST_NOTE)
        print(f"{DIM}{line}{PLAIN}" if can_style(self._notes) else line, file=self._notes)
        self._notes.flush()

    def pause(self) -> None:
        """Let out what was held back, and end the line."""
        self._write(self._stream.end())
        self.forget_waiting()
        if self._dress is not None and self._out is not None:
            self._put(self._dress.end())
        if self._open_line and self._out is not None:
            self._put("\n")

    def finish(self, reply: Reply) -> None:
        """What the stream did not show: the answer to a command, or a word about silence."""
        self.pause()
        if self._stream.shown.split() != reply.text.split():
            self._begin()
            self._write(self._stream.feed(reply.text))
            self.pause()

    def forget_waiting(self) -> None:
        if self._thinking and self._out is not None:
            self._out.write("\r\x1b[K")
            self._out.flush()
            self._thinking = False

    def _write(self, text: str) -> None:
        if self._out is not None and text:
            self._put(self._dress.feed(text) if self._dress is not None else text)

    def _put(self, text: str) -> None:
        if not text or self._out is None:
            return
        self.forget_waiting()
        self._out.write(text)
        self._out.flush()
        plain = text.removesuffix(PLAIN)
        self._open_line = not plain.endswith("\n") if plain else self._open_line


def _reason(result: CallResult) -> str:
    """The first line of what a tool said when it failed; some say it to the model only."""
    from clawkit.models.protocol import Text

    to_model = (part.text for part in result.outcome.parts if isinstance(part, Text))
    said = (text.strip() for text in (result.text, *to_model))
    return next(filter(None, said), "it did not say why").partition("\n")[0]


def begin_message() -> None:
    """What goes wrong from now on is told, even if it was told of the message before."""
    _told.clear()


def error_lines(verb: str, text: str) -> None:
    """An error for a person, on stderr; the same one only once a message."""
    if text in _told:
        return
    _told.add(text)
    for line in harmless(text).split("\n"):
        print(f"claw {verb}: {line}", file=sys.stderr)
