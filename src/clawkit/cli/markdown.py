"""Streams Markdown to a terminal with rich; nothing in it is hidden or executed."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from itertools import chain, dropwhile
from typing import ClassVar, TextIO

from markdown_it import MarkdownIt
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from rich.cells import cell_len
from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    Group,
    JustifyMethod,
    RenderResult,
)
from rich.containers import Renderables
from rich.live import Live
from rich.markdown import (
    BlockQuote,
    CodeBlock,
    Heading,
    ListElement,
    ListItem,
    Markdown,
    MarkdownContext,
    MarkdownElement,
    Paragraph,
    TableDataElement,
    TableElement,
)
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

_WORD = re.compile(r"(\S+)\s*")
_FENCE = re.compile(r" *(`{3,}(?=[^`]*$)|~{3,})")
_NARROWEST_COLUMN = 6
_HANGING = "  "
_NARROWEST_HANGING = 20
_REFRESH_AFTER = 0.05
_STYLES = {
    "markdown.block_quote": "none",
    "markdown.code": "cyan",
    "markdown.code_block": "none",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
}


def _keep_extra_cells(state: StateCore) -> None:
    """Cells beyond the header of their table, which the parser leaves out, get columns too."""
    lines = state.src.split("\n")
    tokens: list[Token] = []
    row, cells = None, 0
    for token in state.tokens:
        cells += token.type == "td_open"
        if token.type == "tr_open":
            row, cells = token.map, 0
        elif token.type == "tr_close" and cells and row:
            written = escapedSplit(lines[row[0]].lstrip(" >").rstrip().removesuffix("|"))
            for extra in written[cells + (written[0] == "") :]:
                tokens += _cell(extra.strip())
        tokens.append(token)
    state.tokens = tokens


def _cell(content: str) -> list[Token]:
    inline = Token("inline", "", 0, content=content, children=[])
    return [Token("td_open", "td", 1), inline, Token("td_close", "td", -1)]


# What would hide something of the text, such as where a link leads, is shown as it was written.
_PARSER = (
    MarkdownIt("commonmark")
    .enable("table")
    .disable(["autolink", "entity", "escape", "html_block", "html_inline", "image", "link"])
    .disable(["lheading", "reference"])
)
_PARSER.core.ruler.after("block", "extra_cells", _keep_extra_cells)


class LiveMarkdown:
    """Harmless text that grows: whole blocks are written for good, the last one again and again."""

    def __init__(self, out: TextIO) -> None:
        self._console = console_for(out)
        self._blocks = Blocks()
        self._live: Live | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waiting = ""
        self._pending = ""
        self._begun = False

    def wait(self, text: str) -> None:
        """Show this until there is something better to show."""
        self._waiting = text
        self._start().refresh()

    def feed(self, lines: str, pending: str) -> None:
        """Whole lines, and the beginning of the next one."""
        self._waiting, self._pending = "", pending
        live = self._start()
        with self._console:  # all at once
            for block in self._blocks.feed(lines):
                live.refresh()
                self._print(block)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_REFRESH_AFTER, self._refresh)

    def end(self, text: str) -> None:
        """Write what is left, and this text after it; the next one begins anew."""
        lines, newline, rest = text.rpartition("\n")
        blocks = [*self._blocks.feed(lines + newline), self._blocks.end(rest)]
        self._waiting = self._pending = ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        with self._console:
            if self._live is not None:
                self._live.stop()
                self._live = None
            for block in blocks:
                self._print(block)
        self._begun = False

    def _start(self) -> Live:
        if self._live is None:
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=sys.stderr.isatty(),
                get_renderable=self._preview,
            )
            self._live.start()
        return self._live

    def _refresh(self) -> None:
        self._timer = None
        if self._live is not None:
            self._live.refresh()

    def _preview(self) -> ConsoleRenderable:
        height = max(1, self._console.height - 2)
        tail = "\n".join((*self._blocks.tail(height), self._pending))
        if self._waiting or not tail.strip():
            return Text(self._waiting, style="dim", no_wrap=True)
        drawn = _Tail(AnswerMarkdown(tail), height)
        return Group("", drawn) if self._begun else drawn

    def _print(self, block: str) -> None:
        if block.strip():
            if self._begun:
                self._console.line()
            self._begun = True
            self._console.print(AnswerMarkdown(block), crop=False, end="")


def console_for(out: TextIO, width: int | None = None, *, styled: bool | None = None) -> Console:
    """A console that takes no text for markup; the terminal says what is not said here."""
    return Console(
        file=out,
        width=width,
        force_terminal=styled,
        theme=Theme(_STYLES),
        highlight=False,
        markup=False,
        emoji=False,
    )


class Blocks:
    """Cuts a text as it comes where a line at the margin follows a blank one or ends a fence."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._fence = ""
        self._fence_line = ""
        self._after_blank = False

    def feed(self, lines: str) -> Iterator[str]:
        """The blocks that are complete with these whole lines."""
        for line in lines.split("\n")[:-1]:
            if self._after_blank and line[:1].strip():
                yield self._take()
            self._lines.append(line)
            if self._ends_fence(line) and not self._fence_line.startswith(" "):
                yield self._take()
            self._after_blank = not line.strip() and not self._fence

    def end(self, rest: str) -> str:
        """What is left, with the rest of the text, however incomplete."""
        self._lines.append(rest)
        self._fence, self._after_blank = "", False
        return self._take()

    def tail(self, height: int) -> list[str]:
        """The last lines of what is not complete, as they would be read with all of it."""
        lines = self._lines[-height:]
        return (
            [self._fence_line, *lines] if self._fence and self._fence_line not in lines else lines
        )

    def _ends_fence(self, line: str) -> bool:
        if not self._fence:
            if found := _FENCE.match(line):
                self._fence, self._fence_line = found[1], line
            return False
        ends = line.strip().startswith(self._fence) and not line.strip(f" {self._fence[0]}")
        self._fence = "" if ends else self._fence
        return ends

    def _take(self) -> str:
        block, self._lines = "\n".join(self._lines), []
        return block


class _Tail:
    """The last lines of something that may be higher than the terminal."""

    def __init__(self, whole: ConsoleRenderable, height: int) -> None:
        self._whole = whole
        self._height = height

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._whole, options, pad=False, new_lines=True)
        for line in lines[-self._height :]:
            yield from line


class _Paragraph(Paragraph):
    """Broken between words, and what follows hangs below the first line; at the margin, a word that
    is too long is the terminal's to break."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "default"
        self.text.expand_tabs()  # lines that are wrapped have spaces instead, and are measured
        if not _at_margin(console, options):
            yield self.text
            return
        for line in self.text.split("\n", allow_blank=True):
            words = _WORD.finditer(line.plain)
            long = [word.span() for word in words if cell_len(word[1]) > console.width]
            for part in line.divide(chain.from_iterable(long)):
                part.rstrip()
                if _WORD.fullmatch(part.plain):
                    part.overflow = "ignore"
                if part or not long:
                    yield from _hanging(part, console, options.max_width)


def _hanging(text: Text, console: Console, width: int) -> Iterator[Text]:
    """A line in as many as it takes, all but the first indented."""
    if text.overflow == "ignore" or text.cell_len <= width or width <= _NARROWEST_HANGING:
        yield text
        return
    first = text.wrap(console, width)[0]
    rest = text[len(first) :]
    rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
    yield first
    lines = rest.wrap(console, width - len(_HANGING)) if rest else ()
    yield from (Text.assemble(_HANGING, line) for line in lines)


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}  # at the left, all of them


class _Code(CodeBlock):
    """Code in colours below the name of its language; it can be copied as it was written."""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Code:  # noqa: ARG003 - called by rich
        return cls(token.info.strip(), "ansi_dark")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.lexer_name:
            yield Text(self.lexer_name, style="dim")
        language = self.lexer_name.partition(" ")[0] or "text"
        code = Syntax("", language, theme=self.theme).highlight(self.text.plain)
        code.rstrip()
        code.no_wrap = False
        code.overflow = "ignore" if _at_margin(console, options) else "fold"
        yield code


class _Item(ListItem):
    """An item with the number that was written before it, if any."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def on_leave(self, context: MarkdownContext) -> None:
        _give_a_line(self.elements)
        super().on_leave(context)

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Item:  # noqa: ARG003 - called by rich
        return cls(int(token.info or 0))


class _Quote(BlockQuote):
    def on_leave(self, context: MarkdownContext) -> None:
        _give_a_line(self.elements)
        super().on_leave(context)


def _give_a_line(elements: Renderables) -> None:
    """Adds an empty line to an empty item or quote, so that its number or bar is drawn."""
    if not list(elements.__iter__()):  # its type does not say that it can be iterated
        elements.append(Text())


class _Numbered(ListElement):
    """Numbered as it was written, and not anew."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        items = [item for item in self.items if isinstance(item, _Item)]
        widest = max(item.number for item in items)
        for item in items:
            yield from item.render_number(console, options, item.number, widest)


class _Table(TableElement):
    """Drawn in columns if there is room for so many; its rows as lines if there is not."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head = [self.header.row] if self.header and self.header.row else []
        rows = [row.cells for row in (*head, *(self.body.rows if self.body else ()))]
        if max(map(len, rows)) * _NARROWEST_COLUMN <= options.max_width:
            yield from super().__rich_console__(console, options)
        else:
            yield from (Text(" | ").join(cell.content for cell in cells) for cells in rows)


class _Cell(TableDataElement):
    def __init__(self, justify: JustifyMethod) -> None:
        super().__init__(justify)
        self.content.overflow = "fold"


def _at_margin(console: Console, options: ConsoleOptions) -> bool:
    """Whether the terminal may break what is too long, so that it can be copied whole."""
    return options.max_width == console.width


class AnswerMarkdown(Markdown):
    """A text of a model: its lines stay lines, its numbers and addresses stay as they are."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "paragraph_open": _Paragraph,
        "heading_open": _Heading,
        "blockquote_open": _Quote,
        "fence": _Code,
        "code_block": _Code,
        "list_item_open": _Item,
        "ordered_list_open": _Numbered,
        "table_open": _Table,
        "td_open": _Cell,
        "th_open": _Cell,
    }

    def __init__(self, text: str) -> None:
        super().__init__("")
        self.parsed = _PARSER.parse(text)
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "softbreak":
                    child.type = "hardbreak"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        parts = super().__rich_console__(console, options)
        yield from dropwhile(Segment.line().__eq__, parts)  # rich begins a list with a blank line
