"""The terminal under the live view of approvals: taken over, drawn on, read, and given back."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from clawkit.cli.approvals_screen import Line, Screen
from clawkit.guard.approvals_view import View

if TYPE_CHECKING:
    import io

_TICK = 0.1
_LONGEST_KEYS = 16
_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_STYLES = {"": "", "bold": "\x1b[1m", "dim": "\x1b[2m", "chosen": "\x1b[7m"}
_KEY = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1bO.|.", re.DOTALL)
_NAMES = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    " ": "space",
    "\x1b[6~": "page down",
    "\x1b[5~": "page up",
}


def run(view: View) -> None:
    """Show the view's questions and obey the keys until the person quits."""
    screen = Screen(view)
    with _terminal():
        drawn = ""
        going = True
        while going:
            if screen.refresh(time.time()):
                _write("\a")
            drawn = _draw(screen, drawn)
            for key in _keys():
                going = going and screen.press(key, time.time())
                screen.refresh(time.time())
                drawn = _draw(screen, drawn)


def _draw(screen: Screen, drawn: str) -> str:
    """Write the whole frame over the last one if it differs: no line is ever empty in between."""
    width, height = os.get_terminal_size(sys.stdout.fileno())
    frame = _frame(screen.lines(max(1, width), max(1, height), time.time()))
    if (shown := f"{width}x{height}{frame}") != drawn:
        _write(frame)
    return shown


def _frame(lines: list[Line]) -> str:
    rows = [f"{_STYLES[style]}{text}\x1b[0m\x1b[K" for style, text in lines]
    return "\x1b[H" + "\r\n".join(rows) + "\x1b[J"


def _keys() -> list[str]:
    """The keys pressed by now, waiting a moment for the first; a lost terminal quits."""
    if not select.select([sys.stdin], [], [], _TICK)[0]:
        return []
    data = os.read(sys.stdin.fileno(), 1024)
    if not data:
        return ["q", "y"]
    if len(data) > _LONGEST_KEYS:  # pasted, not typed: nobody answers a question that way
        return []
    typed = [found.group() for found in _KEY.finditer(data.decode(errors="replace"))]
    return [_NAMES.get(key, key) for key in typed]


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


@contextmanager
def _terminal() -> Generator[None]:
    """The terminal for ourselves; given back as it was, whatever happens."""
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    cast("io.TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    with _ended_by(signal.SIGTERM, signal.SIGHUP):
        try:
            tty.setcbreak(stdin)
            _forbid_suspending(stdin)
            _write(_ENTER)
            yield
        finally:
            _write(_LEAVE)
            termios.tcsetattr(stdin, termios.TCSAFLUSH, before)


def _forbid_suspending(stdin: int) -> None:
    """Stopped by Ctrl-Z, the view would leave proxies waiting and the terminal unusable."""
    mode = termios.tcgetattr(stdin)
    mode[6][termios.VSUSP] = bytes([os.fpathconf(stdin, "PC_VDISABLE") & 0xFF])
    termios.tcsetattr(stdin, termios.TCSANOW, mode)


@contextmanager
def _ended_by(*signals: signal.Signals) -> Generator[None]:
    """These signals end the program through its `finally` blocks."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = [(number, signal.signal(number, end)) for number in signals]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
