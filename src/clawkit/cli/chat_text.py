"""An answer on its way to a terminal: nothing in it can harm, and Markdown is lightly dressed."""

from __future__ import annotations

import re
from functools import cache

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
