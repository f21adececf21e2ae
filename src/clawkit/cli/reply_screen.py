"""A reply on a terminal as it comes: safe text, tool calls and notices."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, TextIO

from clawkit.assistant.callbacks import AssistantReply, Callbacks
from clawkit.assistant.toolbox.tool_source import CallResult
from clawkit.cli.tables import terminal_width, wrapped
from clawkit.models.protocol import Text, ToolCall
from clawkit.text.normalization import visible

if TYPE_CHECKING:
    from clawkit.cli.markdown import LiveMarkdown

_MEDIA = re.compile(r"[ \t]*MEDIA:[ \t]*\S.*")
_MAYBE_MEDIA = re.compile(r"[ \t]*(?:M(?:E(?:D(?:I(?:A(?::.*)?)?)?)?)?)?")
_UNLIMITED = 1 << 60

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


def harmless(text: str) -> str:
    """A text of several lines in which every character only shows itself."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(
        "\t".join(visible(part, _UNLIMITED) for part in line.split("\t")) for line in lines
    )


class Stream:
    """Buffers an answer to whole lines that are safe for a terminal.

    Lines that only name a file to send are left out: the file is shown, not its name.
    """

    def __init__(self) -> None:
        self._line = ""
        self._shown: list[str] = []

    @property
    def shown(self) -> str:
        """What was let through so far, as the model said it."""
        return "".join(self._shown)

    @property
    def pending(self) -> str:
        """The line that goes on; nothing while it may name a file."""
        return "" if _MAYBE_MEDIA.fullmatch(self._line) else harmless(self._line)

    def feed(self, piece: str) -> str:
        *lines, self._line = (self._line + piece).split("\n")
        return self._let(f"{line}\n" for line in lines if not _MEDIA.fullmatch(line.rstrip("\r")))

    def end(self) -> str:
        line, self._line = self._line, ""
        return self._let([] if _MEDIA.fullmatch(line) else [line])

    def _let(self, parts: Iterable[str]) -> str:
        text = "".join(parts)
        self._shown.append(text)
        return harmless(text)


_LONGEST_ARGUMENTS = 120
_LONGEST_NOTE = 500
_THINKING = "thinking …"
_told: set[str] = set()
"""The errors that were told since the last message: each is one problem, wherever it is met."""


def can_style(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows styles, and nobody minds."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def aside(text: str, out: TextIO) -> None:
    """Harmless lines beside an answer, dim where they can be."""
    styled = can_style(out)
    for line in text.split("\n"):
        for part in wrapped(line, terminal_width(out), after="  "):
            print(f"{_DIM}{part}{_PLAIN}" if styled and part else part, file=out)
    out.flush()


class ReplyScreen(Callbacks):
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
        self._stream = Stream()
        self._markdown = _markdown(out)

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
        if self._markdown is not None:
            self._markdown.wait(_THINKING)

    def text(self, delta: str) -> None:
        if self._out is None:
            return
        lines = self._stream.feed(delta)
        if self._markdown is None:
            self._write(lines)
        elif lines or self._stream.pending:
            self._markdown.feed(lines, self._stream.pending)

    def take_back(self) -> bool:
        if self._stream.shown or self._stream.pending:
            return False
        self._stream = Stream()
        return True

    def block(self, text: str) -> None:
        self._blocks.append(text)
        self.pause()
        self._stream = Stream()

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

        self.pause()
        aside(visible(redact(text), _LONGEST_NOTE), self._notes)

    def pause(self) -> None:
        """Let out what was held back, and end the line."""
        self._end(self._stream.end())

    def finish(self, reply: AssistantReply) -> None:
        """What the stream did not show: the answer to a command, or a word about silence."""
        self.pause()
        if self._stream.shown.split() != reply.text.split():
            self._stream = Stream()
            self._end(self._stream.feed(reply.text) + self._stream.end())

    def _end(self, rest: str) -> None:
        if self._markdown is not None:
            self._markdown.end(rest)
        elif rest:
            self._write(rest if rest.endswith("\n") else f"{rest}\n")

    def _write(self, text: str) -> None:
        if self._out is not None:
            self._out.write(text)
            self._out.flush()


def _markdown(out: TextIO | None) -> LiveMarkdown | None:
    if out is None or not can_style(out):
        return None
    from clawkit.cli.markdown import LiveMarkdown

    return LiveMarkdown(out)


def _reason(result: CallResult) -> str:
    """The first line of what a tool said when it failed; some say it to the model only."""
    to_model = (part.text for part in result.outcome.parts if isinstance(part, Text))
    said = (text.strip() for text in (result.text, *to_model))
    return next(filter(None, said), "it did not say why").partition("\n")[0]


def begin_message() -> None:
    """Report errors again that were reported for the message before."""
    _told.clear()


def error_lines(verb: str, text: str) -> None:
    """An error for a person, on stderr; the same one only once a message."""
    if text in _told:
        return
    _told.add(text)
    width = terminal_width(sys.stderr)
    for line in harmless(text).split("\n"):
        print("\n".join(wrapped(f"claw {verb}: {line}", width, after="  ")), file=sys.stderr)
