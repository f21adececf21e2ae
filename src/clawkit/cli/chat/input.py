"""Input of `claw chat`: edited lines with a history, completion, messages of several lines."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Protocol

HISTORY = "chat_history.jsonl"
"""The file beside the store that has what was typed."""
COMMANDS = (
    "/new",
    "/reset",
    "/status",
    "/model",
    "/compact",
    "/help",
    "/image",
    "/file",
    "/quit",
)
_PROMPT = "> "
_MORE = "… "
_REMEMBERED = 1000
_LONGEST_KEPT = 20_000
_PASTE_PAUSE = 0.03
"""Seconds in which the next line of something pasted comes, and no typed one does."""


class Input(Protocol):
    """Where messages come from."""

    def read(self) -> str:
        """The next message; raises EOFError at the end, KeyboardInterrupt where one is given up."""
        ...


class Piped:
    """Messages from a pipe, one a line."""

    def __init__(self) -> None:
        self._lines = self._decoded()

    def read(self) -> str:
        lines: list[str] = []
        for line in self._lines:
            if not _goes_on(line):
                return "\n".join((*lines, line))
            lines.append(line[:-1])
        if not lines:
            raise EOFError
        return "\n".join(lines)

    def _decoded(self) -> Iterator[str]:
        for line in sys.stdin.buffer:
            yield line.decode(errors="replace").removesuffix("\n").removesuffix("\r")


class Typed:
    """Messages from a terminal. What is pasted is one message, whatever lines it has."""

    def __init__(self, history: Path) -> None:
        self._history = history
        self._readline = _readline()
        for entry in _remembered(history):
            self._add(entry)

    def read(self) -> str:
        lines = [input(_PROMPT)]
        while _goes_on(lines[-1]) or _more_is_there():
            if _goes_on(lines[-1]):
                lines[-1] = lines[-1][:-1]
            lines.append(input(_MORE))
        message = "\n".join(lines)
        if message.strip():
            self._add(message)
            _keep(self._history, message)
        return message

    def _add(self, entry: str) -> None:
        if self._readline is not None:
            self._readline.add_history(entry)


def _goes_on(line: str) -> bool:
    """Two backslashes at the end are meant as they stand."""
    return line.endswith("\\") and not line.endswith("\\\\")


def _more_is_there() -> bool:
    if sys.platform == "win32":
        return False
    return bool(select.select([sys.stdin], [], [], _PASTE_PAUSE)[0])


def _readline() -> ModuleType | None:
    """Line editing, where Python was built with it."""
    try:
        import readline
    except ImportError:
        return None
    readline.set_auto_history(False)
    readline.set_completer_delims(" \t\n")
    readline.set_completer(_complete)
    if "libedit" in (readline.__doc__ or ""):
        readline.parse_and_bind("bind ^I rl_complete")
    else:
        readline.parse_and_bind("tab: complete")
        readline.parse_and_bind("set enable-bracketed-paste on")
    return readline


def _complete(text: str, number: int) -> str | None:
    if text.startswith("/") and "/" not in text[1:]:
        found = [f"{command} " for command in COMMANDS if command.startswith(text)]
    else:
        found = sorted(_paths(text))
    return found[number] if number < len(found) else None


def _paths(start: str) -> Iterator[str]:
    head, slash, name = start.rpartition("/")
    with suppress(OSError, RuntimeError):  # of a home that nobody has
        for entry in Path(head + slash or ".").expanduser().iterdir():
            if entry.name.startswith(name) and (name or not entry.name.startswith(".")):
                yield f"{head}{slash}{entry.name}{'/' if entry.is_dir() else ''}"


def _remembered(file: Path) -> list[str]:
    """What was typed before; the file is shortened when it has grown too long."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    entries: list[str] = []
    for line in lines[-_REMEMBERED:]:
        with suppress(ValueError):
            entry = json.loads(line)
            entries += [entry] if isinstance(entry, str) else []
    if len(lines) > 2 * _REMEMBERED:
        from clawkit.system.files import write_whole

        with suppress(OSError):
            write_whole(file, "".join(f"{line}\n" for line in lines[-_REMEMBERED:]).encode())
    return entries


def _keep(file: Path, message: str) -> None:
    """One line for each message, readable by its owner only; a history that fails stops nobody."""
    if len(message) > _LONGEST_KEPT:
        return
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(json.dumps(message).encode() + b"\n")
