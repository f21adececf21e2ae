"""Tables, counts and ages as all commands print them."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TextIO

from clawkit.text.normalization import visible

_GAP = 2
_LEAST = 12
"""As narrow as the first and the last column may become before others are left out."""
_NOT_A_TERMINAL = 100_000
_SHORT = 8
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def minute(seconds: float) -> str:
    """A moment in the time of this machine."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def shorten(text: str, widest: int) -> str:
    """A text of so many columns at most: a Japanese letter takes two."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= widest else f"{set_cell_size(text, widest - 1).rstrip()}…"


def terminal_width(out: TextIO | None = None) -> int | None:
    """The columns of the terminal; None where a program reads, for which nothing is cut."""
    is_terminal = (out or sys.stdout).isatty()
    return shutil.get_terminal_size((80, 24)).columns if is_terminal else None


def wrapped(
    text: str, width: int | None, first: str = "", after: str = "", most: int | None = None
) -> list[str]:
    """Lines for eyes, broken between words: `first` starts one, `after` the others; of no more
    than `most`, the last ends with `…`. Where a program reads (no `width`), it is one line."""
    if width is None:
        return [f"{first}{text}"]
    return textwrap.wrap(
        text,
        max(width, len(first) + 20, len(after) + 20),
        initial_indent=first,
        subsequent_indent=after,
        break_long_words=most is not None,
        break_on_hyphens=False,
        max_lines=most,
        placeholder="…",
    ) or [first]


def table_lines(
    rows: Sequence[Sequence[str]], width: int | None = None, optional: Sequence[str] = ()
) -> list[str]:
    """Aligned columns, cut to `width` with `…`; the columns that a narrow terminal does without
    are called in the first row as in `optional`, those that go first before the others."""
    cells = [[visible(cell, len(cell)) for cell in row] for row in rows]
    if width is not None:
        cells = _without_optional(cells, width, optional)
    return _rendered(cells, width)


def _without_optional(
    cells: list[list[str]], width: int, optional: Sequence[str]
) -> list[list[str]]:
    for name in optional:
        first, *between, _ = _widths(cells)
        if first + 2 * (_LEAST + _GAP) > width:
            first = min(first, _LEAST)
        if first + sum(between) + _LEAST + _GAP * (len(between) + 1) > width:
            place = cells[0].index(name)
            cells = [[*row[:place], *row[place + 1 :]] for row in cells]
    return cells


def _widths(cells: list[list[str]]) -> list[int]:
    from rich.cells import cell_len

    return [max(map(cell_len, column)) for column in zip(*cells, strict=True)]


def _rendered(cells: list[list[str]], width: int | None) -> list[str]:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, _GAP, 0, 0))
    first, *others = _widths(cells)
    whole = width is None or first + sum(others[:-1]) + _LEAST + _GAP * len(others) <= width
    for number in range(len(cells[0])):
        # What is not wrapped keeps its width while another column can give way.
        table.add_column(no_wrap=number < len(others) and (number > 0 or whole))
    for row in cells:
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in row))
    console = Console(file=io.StringIO(), width=width or _NOT_A_TERMINAL, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().rstrip("\n").split("\n")]


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """A table, its first row the names of the columns; cut for eyes, never for programs."""
    for line in table_lines(rows, terminal_width()):
        print(line)


def row_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A table whose last cell is a note, on a line of its own below its row."""
    lines: list[str] = []
    for line, row in zip(
        table_lines([row[:-1] for row in rows]) if rows else (), rows, strict=True
    ):
        lines += [line, f"    {visible(row[-1])}"] if row[-1] else [line]
    return lines


def print_rows(rows: Sequence[tuple[str, ...]]) -> None:
    for line in row_lines(rows):
        print(line)


def fact_lines(facts: Mapping[str, str], wide: int = 10) -> Iterator[str]:
    """What is known by name, below a title; nothing of what is empty."""
    return (f"  {name:<{wide}} {visible(value)}" for name, value in facts.items() if value)


def change_row(
    action: str, server: str, client: str, file: str, note: str, *, dry_run: bool
) -> tuple[str, ...]:
    """What was done to a server in a client's file, or would be."""
    would = dry_run and action in ("installed", "removed", "wrapped", "unwrapped")
    return f"would be {action}" if would else action, server, client, at_home(file), note


def short_id(id_: str) -> str:
    """On a terminal the beginning of an id is enough to tell it from others."""
    return id_[:_SHORT] if sys.stdout.isatty() else id_


def at_home(file: str) -> str:
    home = str(Path.home())
    return "~" + file[len(home) :] if file.startswith(home + "/") else file


def ago(seconds: float) -> str:
    """How long ago something was, as one would say it."""
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min ago"
    if seconds < 2 * _DAY:
        return f"{int(seconds // _HOUR)} h ago"
    return f"{int(seconds // _DAY)} days ago"
