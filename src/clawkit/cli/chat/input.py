"""TypedInput input of `claw chat`: line editing, history and completion, by prompt_toolkit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.patch_stdout import patch_stdout

from clawkit.cli.chat import goes_on
from clawkit.system.files import make_private, write_whole

_REMEMBERED = 1000
_LONGEST_KEPT = 20_000


class TypedInput:
    """Messages from a terminal. What is pasted is one message, whatever lines it has."""

    def __init__(self, history: Path, commands: Sequence[str]) -> None:
        self._session: PromptSession[str] = PromptSession(
            "> ",
            multiline=True,
            prompt_continuation=lambda _width, _line, wrapped: "  " if wrapped else "… ",
            key_bindings=_keys(),
            history=_ChatHistory(history),
            completer=_ChatCompleter(commands),
            complete_while_typing=False,
            enable_suspend=True,
        )
        self.is_interrupted = False
        """Whether the last key was Ctrl-C: it stopped an answer, or cleared a line."""

    async def read(self) -> str:
        """The next message; raises EOFError at the end, KeyboardInterrupt to leave."""
        while True:
            try:
                with patch_stdout():
                    message = await self._session.prompt_async()
            except KeyboardInterrupt:
                if self.is_interrupted and not self._session.default_buffer.text:
                    raise
            else:
                self.is_interrupted = False
                return message
            self.is_interrupted = True
            print("(Ctrl-C again leaves, as Ctrl-D does)")


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        typed_on = [key for key in event.key_processor.input_queue if key.key != Keys.CPRResponse]
        if goes_on(buffer.text):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        elif typed_on:  # faster than anybody types: it is pasted, and goes on
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    return keys


class _ChatCompleter(Completer):
    """Commands at the start of a message; paths anywhere else."""

    def __init__(self, commands: Sequence[str]) -> None:
        self._commands = commands
        self._paths = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        text = document.text_before_cursor
        word = text.split()[-1] if text[-1:].strip() else ""
        if text == word and "/" not in word[1:]:
            found = [command for command in self._commands if command.startswith(word)]
            return [Completion(f"{command} ", -len(word)) for command in found]
        return self._paths.get_completions(Document(word), complete_event)


class _ChatHistory(History):
    """One line of JSON for each message, readable by its owner; one that fails stops nobody."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        """The newest first; the file is shortened when it has grown too long."""
        try:
            lines = self._file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return
        if len(lines) > 2 * _REMEMBERED:
            kept = "".join(f"{line}\n" for line in lines[-_REMEMBERED:])
            with suppress(OSError):
                write_whole(self._file, kept.encode())
        for line in reversed(lines[-_REMEMBERED:]):
            with suppress(ValueError):
                if isinstance(entry := json.loads(line), str):
                    yield entry

    def store_string(self, string: str) -> None:
        if not string.strip() or len(string) > _LONGEST_KEPT:
            return
        with suppress(OSError):
            make_private(self._file.parent)
            handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "wb") as out:
                out.write(json.dumps(string).encode() + b"\n")
