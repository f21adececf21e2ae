"""A reply on a terminal as it comes: safe text, light Markdown, tool calls and notices."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING, TextIO

from clawkit.assistant.callbacks import AssistantReply, Callbacks

if TYPE_CHECKING:
    from clawkit.assistant.toolbox.toolbox import CallResult
    from clawkit.models.protocol import ToolCall

_MEDIA = re.compile(r"[ \t]*MEDIA:[ \t]*\S.*")
_MAYBE_MEDIA = re.compile(r"[ \t]*(?:M(?:E(?:D(?:I(?:A(?::.*)?)?)?)?)?)?")
_LONGEST_HELD = 64
_MAYBE_MARKED = re.compile(r" {0,40}(?:`{0,2}|#{0,6}|[-*]|\*\*|\d{1,3}[.)]?|>)")
_FENCE = re.compile(r" {0,40}```")
_HEADING = re.compile(r"#{1,6} ")
_BULLET = re.compile(r" {0,40}[-*] ")
_NUMBER = re.compile(r" {0,40}\d{1,3}[.)] ")
_QUOTE = re.compile(r" {0,40}>(?: |(?=\n)|$)")
_UNLIMITED = 1 << 60

BOLD, DIM, CODE, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"


def harmless(text: str) -> str:
    """A text of several lines in which every character only shows itself."""
    from clawkit.guard.scan import visible

    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(
        "\t".join(visible(part, _UNLIMITED) for part in line.split("\t")) for line in lines
    )


class Stream:
    """Pieces of an answer as they may be shown. What cannot be judged yet waits for the next.

    Lines that only name a file to send are left out: the file is shown, not its name.
    """

    def __init__(self) -> None:
        self._held = ""
        self._at_start = True
        self._shown: list[str] = []

    @property
    def shown(self) -> str:
        """What was let through so far, as the model said it."""
        return "".join(self._shown)

    def feed(self, piece: str) -> str:
        *lines, self._held = (self._held + piece).split("\n")
        before = len(self._shown)
        for line in lines:
            if not (self._at_start and _MEDIA.fullmatch(line.rstrip("\r"))):
                self._shown.append(f"{line}\n")
            self._at_start = True
        if not (self._at_start and _MAYBE_MEDIA.fullmatch(self._held)):
            self._let(_safe_cut(self._held))
        return harmless("".join(self._shown[before:]))

    def end(self) -> str:
        """The rest."""
        before = len(self._shown)
        if not (self._at_start and _MEDIA.fullmatch(self._held)):
            self._let(len(self._held))
        self._held, self._at_start = "", True
        return harmless("".join(self._shown[before:]))

    def _let(self, cut: int) -> None:
        self._shown.append(self._held[:cut])
        self._held = self._held[cut:]
        self._at_start = self._at_start and cut == 0


def _safe_cut(text: str) -> int:
    """Where a text can be cut so that no character needs its neighbour beyond the cut."""
    if not text or _stands_alone(text[-1]):
        return len(text)
    for cut in range(len(text) - 1, max(0, len(text) - _LONGEST_HELD), -1):
        if _stands_alone(text[cut - 1]) and _stands_alone(text[cut]):
            return cut
    return 0 if len(text) < _LONGEST_HELD else len(text)


def _stands_alone(character: str) -> bool:
    return character != "\r" if character.isascii() else "\u3040" <= character <= "\ud7ff"


@cache
def _width(character: str) -> int:
    from rich.cells import cell_len

    return cell_len(character)


class Markdown:
    """Dresses harmless text as it streams: bold, code, headings, lists; broken between words."""

    def __init__(self, width: int) -> None:
        self._width = max(20, width)
        self._waiting = ""
        self._at = 0
        """How far `waiting` was read."""
        self._out: list[str] = []
        self._gap = ""
        """The spaces before the word; none where a line is broken."""
        self._word = ""
        self._word_width = 0
        self._last = " "
        self._column = 0
        self._hang = ""
        """What the lines begin with in which a line goes on."""
        self._line = ""
        """The style of the whole line."""
        self._fence = self._code = self._bold = False
        self._starts = True

    def feed(self, text: str) -> str:
        self._waiting, self._at = self._waiting[self._at :] + text, 0
        self._work(last=False)
        return self._take()

    def end(self) -> str:
        """The rest, and an end to every style."""
        self._work(last=True)
        self._end_word()
        styled = self._line or self._fence or self._code or self._bold
        self._line, self._fence, self._code, self._bold = "", False, False, False
        self._starts = True
        return self._take() + (PLAIN if styled else "")

    def _take(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    def _work(self, *, last: bool) -> None:
        while self._at < len(self._waiting):
            if self._starts and not self._start_line(last=last):
                return
            marks = self._waiting[self._at : self._at + 3]
            if not marks or (marks in ("*", "**", "`") and not last and not self._fence):
                return
            self._step()

    def _start_line(self, *, last: bool) -> bool:
        """What the first characters of a line make of it; False if they are not there yet."""
        text, at = self._waiting, self._at
        if not last and _MAYBE_MARKED.fullmatch(text, at):
            return False
        self._starts = False
        if _FENCE.match(text, at):
            self._fence = not self._fence
            self._style(line=DIM)
        elif self._fence:
            self._style(line=CODE)
        elif heading := _HEADING.match(text, at):
            self._at = heading.end()
            self._style(line=BOLD)
        elif bullet := _BULLET.match(text, at):
            self._begin_with(bullet, f"{bullet[0][:-2]}• ")
        elif number := _NUMBER.match(text, at):
            self._begin_with(number, number[0])
        elif quote := _QUOTE.match(text, at):
            self._begin_with(quote, "│ ", "│ ")
        return True

    def _begin_with(self, mark: re.Match[str], shown: str, hang: str = "") -> None:
        self._at = mark.end()
        self._out.append(shown)
        self._column = len(shown)
        self._hang = hang or " " * len(shown)

    def _step(self) -> None:
        character = self._waiting[self._at]
        after = self._waiting[self._at + 1 : self._at + 3]
        if character == "\n":
            self._end_line()
        elif self._fence or self._line == DIM:
            self._put(character)
        elif character == "`" and after[:1] != "`":
            self._at += 1
            self._code = not self._code
            self._style()
        elif character == "*" == after[:1] and not self._code and self._is_mark(after[1:]):
            self._at += 2
            self._bold = not self._bold
            self._style()
        else:
            self._put(character)

    def _is_mark(self, after: str) -> bool:
        """Two stars open before a word and close behind one; `2 ** 3` has none."""
        return not (self._last if self._bold else after or " ").isspace()

    def _put(self, character: str) -> None:
        self._at += 1
        self._last = character
        width = _width(character)
        if self._fence or self._line == DIM:
            self._end_word()
            self._out.append(character)
        elif character in " \t":
            self._end_word()
            self._gap += character if len(self._gap) < self._width else ""
        else:
            if width == 2:
                self._end_word()
            self._word += character
            self._word_width += width
            if width == 2 or self._word_width >= self._width:
                self._end_word()

    def _end_word(self) -> None:
        if not self._word:
            return
        indent, wide = len(self._hang), len(self._gap) + self._word_width
        if self._column + wide > self._width and self._column > indent:
            self._gap, self._column, wide = f"\n{self._hang}", indent, self._word_width
        self._out += (self._gap, self._word)
        # A word that is wider than the terminal goes on where the next line begins.
        self._column = indent if self._word_width >= self._width else self._column + wide
        self._gap, self._word, self._word_width = "", "", 0

    def _end_line(self) -> None:
        self._at += 1
        self._end_word()
        if self._line or self._code or self._bold:
            self._out.append(PLAIN)
        self._line, self._code, self._bold = "", False, False
        self._out.append("\n")
        self._column, self._hang, self._gap, self._last = 0, "", "", " "
        self._starts = True

    def _style(self, line: str | None = None) -> None:
        """From here on; inside of a word it belongs to the word, and takes no room."""
        self._line = self._line if line is None else line
        styles = (self._line, BOLD if self._bold else "", CODE if self._code else "")
        self._word += PLAIN + "".join(styles)


_LONGEST_ARGUMENTS = 120
_LONGEST_NOTE = 500
_THINKING = "thinking …"
_told: set[str] = set()
"""The errors that were told since the last message: each is one problem, wherever it is met."""


def can_style(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows styles, and nobody minds."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


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

    def finish(self, reply: AssistantReply) -> None:
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
