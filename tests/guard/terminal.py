"""A real terminal for tests: a program runs in a pty, is typed to, and its screen is read."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pyte

from tests.guard.approvals import PATIENCE, until

# The leader of a session gets the first terminal it opens: Ctrl-C comes from there.
_A_WHILE = 10.0
"""Seconds after which keys are typed again."""

_GET_EXCLUSIVE = 0x80045440  # TIOCGEXCL of Linux, which Python does not name

_IN_TERMINAL = """
import os, sys
os.close(os.open(os.ttyname(0), os.O_RDWR))
os.execvp(sys.argv[1], sys.argv[1:])
"""


class _Screen(pyte.Screen):
    """A screen that answers a program which asks where its cursor is."""

    def __init__(self, width: int, height: int, near: int) -> None:
        super().__init__(width, height)
        self._near = near

    def write_process_input(self, data: str) -> None:
        os.write(self._near, data.encode())


class Terminal:
    """The near end of a terminal whose far end a program has."""

    def __init__(self, command: list[str], width: int, height: int) -> None:
        self._near, self._far = pty.openpty()
        self._lock = threading.Lock()
        self._screen = _Screen(width, height, self._near)
        self._stream = pyte.ByteStream(self._screen)
        self.resize(width, height)
        self.mode = termios.tcgetattr(self._far)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _IN_TERMINAL, *command],
            stdin=self._far,
            stdout=self._far,
            stderr=self._far,
            start_new_session=True,
            # readline, wherever it is imported, gives children the size of another terminal.
            env={k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")},
        )
        self._output = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self._near, 65536)
            except OSError:  # the far end is closed
                return
            with self._lock:
                self._output += part
                self._stream.feed(part)

    @property
    def output(self) -> str:
        return self._output.decode(errors="replace")

    @property
    def screen(self) -> list[str]:
        """The lines that show something; none while the program has the screen no more."""
        if "\x1b[?1049l" in self.output:
            return []
        with self._lock:
            lines = [line.rstrip() for line in self._screen.display]
        while lines and not lines[-1]:
            del lines[-1]
        return lines

    @property
    def text(self) -> str:
        """What the screen shows."""
        return "\n".join(self.screen)

    def shows(self, *texts: str) -> None:
        """Wait until all these texts are on the screen at once."""
        try:
            until(lambda: all(text in self.text for text in texts))
        except AssertionError:
            shown = self.text or self.output
            raise AssertionError(f"{texts} did not appear in:\n{shown}") from None

    def type(self, keys: str) -> None:
        os.write(self._near, keys.encode())

    def resize(self, width: int, height: int) -> None:
        with self._lock:
            self._screen.resize(height, width)
        fcntl.ioctl(self._near, termios.TIOCSWINSZ, struct.pack("4H", height, width, 0, 0))

    def hides(self) -> None:
        """Wait until what is typed is not shown; what came before that is lost."""
        until(lambda: not termios.tcgetattr(self._far)[3] & termios.ECHO)

    def ends(self) -> int:
        """Wait for the program's end; its exit status."""
        return self.process.wait(PATIENCE)

    def ends_by(self, keys: str) -> int:
        """Type until it ends: a signal just before a program begins to read is seen at the next."""
        until(lambda: self._ended_by(keys))
        return self.ends()

    def _ended_by(self, keys: str) -> bool:
        self.type(keys)
        try:
            self.process.wait(_A_WHILE)
        except subprocess.TimeoutExpired:
            return False
        return True

    def is_exclusive(self) -> bool:
        """Whether the system lets nobody else open it."""
        return fcntl.ioctl(self._far, _GET_EXCLUSIVE, b"\0" * 4) != b"\0" * 4

    def is_given_back(self) -> bool:
        """Whether the terminal is as it was: mode, screen and cursor."""
        until(lambda: self.output.count("\x1b[?1049h") == self.output.count("\x1b[?1049l"))
        cursor = self.output.rfind("\x1b[?25h") > self.output.rfind("\x1b[?25l")
        return cursor and termios.tcgetattr(self._far) == self.mode

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._far)
        self._reader.join()
        os.close(self._near)


@contextmanager
def terminal(*command: str, width: int = 80, height: int = 24) -> Generator[Terminal]:
    opened = Terminal(list(command), width, height)
    try:
        yield opened
    finally:
        opened.close()
