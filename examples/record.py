"""Draws docs/pictures and records docs/first-ten-minutes.cast, from real runs in an empty home.

`make pictures` runs it. What is typed stands here; what is answered, the programs say themselves,
on a terminal of their own. The recording is an asciicast, which `asciinema play` shows.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory

import pyte
from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

DOCS = Path(__file__).parent.parent / "docs"
COLUMNS, ROWS = 100, 40
LONGEST_PAUSE = 1.5
A_KEY = 0.03
PROMPT = "$ "
# Port 9 is nobody's: a model that runs on this machine has no place in the pictures.
EMPTY = {"LANG": "C.UTF-8", "TERM": "xterm-256color", "OLLAMA_HOST": "127.0.0.1:9"}
CLIENT = {
    "mcpServers": {
        "notes": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "~/notes"],
        }
    }
}


@dataclass(frozen=True)
class Typed:
    """A command, and what is answered to a question of it: a text to wait for, and a line."""

    command: str
    answers: tuple[tuple[str, str], ...] = ()


SCENES = {
    "assistant": (
        Typed('claw ask "Remember that my favorite color is blue." --session demo'),
        Typed('claw ask "What\'s my favorite color?" --session demo'),
        Typed("claw install cursor"),
    ),
    "tools": (
        Typed("claw new weather"),
        Typed("claw call weather.py greet name=Ada times=2"),
        Typed("claw tools weather.py"),
    ),
    "memory": (
        Typed('claw remember "The spare key of the greenhouse hangs behind the fern."'),
        Typed('claw remember "Ken is allergic to hazelnuts."'),
        Typed('claw recall "What must I not put into a cake for Ken?"'),
        Typed("claw memory"),
    ),
    "guard": (
        Typed("claw wrap notes"),
        Typed(
            "claw call greet name=Ada -- claw proxy --name weather -- claw serve weather.py",
            (("Decision", "allow once"),),
        ),
        Typed("claw log"),
    ),
}
TITLES = {
    "assistant": "An assistant that any MCP client can order",
    "tools": "Python functions as MCP tools",
    "memory": "A memory for all your agents",
    "guard": "A guard for every server you use",
}
Event = tuple[float, str]
COLOURS = {
    name: name for name in ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
} | {"brown": "yellow", "brightblack": "bright_black"}

# Rich's own has a font in it that browsers would fetch from elsewhere.
SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def run(typed: Typed, home: Path) -> Iterator[Event]:
    """What a command writes on its terminal, with the seconds since it began."""
    began = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        os.execve(
            "/bin/sh", ["sh", "-c", typed.command], {**EMPTY, "PATH": programs, "HOME": str(home)}
        )
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    answers, seen = list(typed.answers), ""
    while select([terminal], [], [])[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the terminal of a process that has ended
            break
        if not data:
            break
        text = data.decode(errors="replace").replace(str(home), "~")
        seen += text
        yield time.monotonic() - began, text
        if answers and answers[0][0] in seen:
            os.write(terminal, f"{answers.pop(0)[1]}\n".encode())
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"{typed.command}: exit status {os.waitstatus_to_exitcode(status)}")


def recorded(scene: tuple[Typed, ...], home: Path) -> list[Event]:
    """A scene as events of one recording; pauses are cut."""
    events: list[Event] = []
    now = 0.0
    for typed in scene:
        events.append((now, PROMPT))
        for letter in typed.command:
            now += A_KEY
            events.append((now, letter))
        events.append((now, "\r\n"))
        last = 0.0
        for at, text in run(typed, home):
            now += min(at - last, LONGEST_PAUSE)
            last = at
            events.append((now, text))
        now += LONGEST_PAUSE
        events.append((now, "\r\n"))
    return events


def draw(name: str, events: list[Event]) -> str:
    """The screen at the end of a scene as a picture."""
    screen = pyte.Screen(COLUMNS, 10 * ROWS)
    stream = pyte.Stream(screen)
    for _, data in events:
        stream.feed(data)
    lines = [_line(screen.buffer[at]) for at in range(screen.cursor.y)]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    text = Text("\n").join(lines)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(file=nowhere, record=True, width=COLUMNS, color_system="truecolor")
        console.print(text)
        return console.export_svg(
            title=TITLES[name], theme=DIMMED_MONOKAI, code_format=SVG, unique_id=f"claw-{name}"
        )


def _line(cells: Mapping[int, Char]) -> Text:
    """A line of the screen, with its colours."""
    row = [cells[column] for column in range(COLUMNS)]
    runs = groupby(row, key=_style)
    line = Text.assemble(*(("".join(cell.data for cell in run), style) for style, run in runs))
    line.rstrip()
    return line


def _style(cell: Char) -> Style:
    colour = None if cell.fg == "default" else COLOURS.get(cell.fg, f"#{cell.fg}")
    return Style(color=colour, bold=cell.bold, italic=cell.italics)


def prepare(home: Path) -> None:
    (home / "notes").mkdir()
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text(json.dumps(CLIENT, indent=2))


def cast(scenes: dict[str, list[Event]]) -> str:
    """All scenes as one asciicast."""
    lines = [json.dumps({"version": 2, "width": COLUMNS, "height": ROWS, "title": "Clawkit"})]
    start = 0.0
    for name, events in scenes.items():
        heading = f"\x1b[2J\x1b[H\x1b[1m# {TITLES[name]}\x1b[0m\r\n\r\n"
        lines.append(json.dumps([round(start, 3), "o", heading]))
        lines += [json.dumps([round(start + at, 3), "o", text]) for at, text in events]
        start += events[-1][0] + LONGEST_PAUSE
    return "\n".join(lines) + "\n"


def main(docs: Path) -> None:
    (docs / "pictures").mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        home = Path(folder)
        prepare(home)
        scenes = {name: recorded(scene, home) for name, scene in SCENES.items()}
    for name, events in scenes.items():
        (docs / "pictures" / f"{name}.svg").write_text(draw(name, events), encoding="utf-8")
    (docs / "first-ten-minutes.cast").write_text(cast(scenes), encoding="utf-8")


if __name__ == "__main__":
    main(DOCS)
