"""`claw chat`: a conversation with the assistant in the terminal, or line by line in a pipe."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import threading
from collections.abc import Coroutine
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

import typer

from clawkit.assistant.assistant import Assistant
from clawkit.assistant.callbacks import AssistantReply, MessageContext, combine
from clawkit.assistant.chat_commands import Name, parse_command
from clawkit.assistant.config import Config, read_config
from clawkit.assistant.media.inbound import attachment_from_file, attachments_from_files
from clawkit.assistant.prompt import typed_text
from clawkit.assistant.redaction import redact
from clawkit.assistant.sessions.records import Saved
from clawkit.assistant.sessions.store import SessionStore
from clawkit.assistant.sessions.turn_queue import check_key
from clawkit.cli.ask import OUTPUT, model_suggestion, save_media, typed_path, warnings_as_lines
from clawkit.cli.chat import HISTORY, goes_on
from clawkit.cli.commands import on_termination, status_of, text_of
from clawkit.cli.reply_screen import ReplyScreen, aside, begin_message, error_lines, harmless
from clawkit.cli.status.assistant import check_model
from clawkit.errors import ClawError, MediaError, SettingsError

if TYPE_CHECKING:
    from clawkit.cli.chat.input import TypedInput


def chat(
    session: Annotated[
        str, typer.Option("--session", metavar="KEY", help="Which conversation to go on with.")
    ] = "main",
    model: Annotated[
        str, typer.Option(metavar="PROVIDER/MODEL", help="Talk to this model, not the usual one.")
    ] = "",
) -> None:
    """Talk with the assistant. In a pipe: one message a line, plain answers."""
    warnings_as_lines("chat")
    try:
        code = converse(read_config(), session, model)
    except ClawError as error:
        error_lines("chat", redact(str(error)))
        code = status_of(error)
    except KeyboardInterrupt:
        code = 130
    raise typer.Exit(code)


COMMANDS = (*(f"/{name}" for name in get_args(Name)), "/image", "/file", "/quit")
_LEAVING = ("quit", "exit")
_LOCAL_HELP = """/image PATH       show a picture with the next message
/file PATH        send a file with the next message
/quit             leave, as exit, quit and Ctrl-D do
A line that ends in \\ goes on in the next one. Ctrl-C stops an answer or clears
the line; a second one leaves."""
_LONGEST_SHOWN = 600
_LAST = 60
"""Messages that the last exchange has at most, with those of its tools."""

T = TypeVar("T")


class Piped:
    """Messages from a pipe, one a line; each is read in a thread beside the event loop."""

    def __init__(self) -> None:
        # Not sys.stdin: Python cannot end while a thread waits for a line of that.
        self._pipe = os.fdopen(0, "rb", closefd=False)
        self.is_interrupted = False

    async def read(self) -> str:
        """The next message; raises EOFError at the end."""
        lines: list[str] = []
        while data := await self._line():
            line = text_of(data, "stdin", "utf-8").removesuffix("\n").removesuffix("\r")
            if not goes_on(line):
                return "\n".join((*lines, line))
            lines.append(line[:-1])
        if not lines:
            raise EOFError
        return "\n".join(lines)

    async def _line(self) -> bytes:
        loop = asyncio.get_running_loop()
        line: asyncio.Future[bytes] = loop.create_future()

        def read() -> None:
            data = self._pipe.readline()
            with suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(line.set_result, data)

        threading.Thread(target=read, daemon=True).start()
        return await line


def converse(config: Config, session: str, model: str) -> int:
    """Talk until somebody leaves; the exit status."""
    check_key(session)
    with asyncio.Runner() as runner:
        return _Conversation(config, session, model, runner).run()


def _typed(config: Config) -> TypedInput:
    from clawkit.cli.chat.input import TypedInput

    return TypedInput(config.places.data / HISTORY, COMMANDS)


class _Conversation:
    """One conversation. Its event loop goes on while one types, with servers and connections."""

    def __init__(self, config: Config, session: str, model: str, runner: asyncio.Runner) -> None:
        self._config = config
        self._session = session
        self._model = model
        self._runner = runner
        self._terminal = os.isatty(0) and os.isatty(1)
        self._source = _typed(config) if self._terminal else Piped()
        self._images: list[Path] = []
        self._files: list[Path] = []
        self._failed = False
        self._ended_by = 0
        self._task: asyncio.Task[Any] | None = None
        on_termination(runner.get_loop(), self._end)

    def run(self) -> int:
        assistant = Assistant(self._config)
        try:
            if self._model:  # one that was asked for and cannot answer is better told now
                chosen = assistant.choice(self._model)[0]
                self._wait(check_model(chosen, self._config, assistant.keys))
            if self._terminal:
                self._greet(assistant)
            while (message := self._next()) is not None and self._handle(assistant, message):
                pass
        finally:
            self._ended_by = 0
            self._wait(assistant.close())
        return int(self._failed and not self._terminal)

    def _next(self) -> str | None:
        try:
            return self._wait(self._source.read())
        except EOFError:
            return None

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Ctrl-C cancels the work, and so do the signals that end the program."""

        async def stoppable() -> T:
            self._task = asyncio.current_task()
            return await work

        try:
            return self._runner.run(stoppable())
        except asyncio.CancelledError:
            if self._ended_by:
                raise SystemExit(128 + self._ended_by) from None
            raise

    def _end(self, number: int) -> None:
        self._ended_by = number
        if self._task is not None:
            self._task.cancel()

    def _greet(self, assistant: Assistant) -> None:
        kept: list[Saved] = []
        model = ""
        with suppress(ClawError):  # a new conversation; what is damaged, the first message reports
            store = SessionStore(self._config.store_file)
            transcript = store.last(self._session, _LAST)
            kept = [one for one in transcript.messages if one.epoch == transcript.info.epoch]
            model = transcript.chosen_model
        chosen = assistant.choice(self._model or model)[0]
        _tell(f"{chosen.name} answers ({chosen.why}). /help shows the commands.")
        if chosen.provider == "offline":
            _tell("It is not a language model: `claw setup` chooses one.")
            if found := self._wait(model_suggestion(assistant)):
                _tell(found)
        if kept:
            _tell_last([one for one in kept if one.turn == kept[-1].turn])

    def _handle(self, assistant: Assistant, message: str) -> bool:
        """Do what a message asks for; False to leave."""
        begin_message()
        word, _, rest = message.strip().partition(" ")
        if self._leaves(message.strip()):
            return False
        try:
            if word in ("/image", "/file"):
                self._attach(rest.strip(), image=word == "/image")
            elif self._terminal and (meant := _meant(message)):
                _tell(f"There is no {word}: did you mean {meant}?")
            elif message.strip() or self._images or self._files:
                self._answer(assistant, message)
                if word == "/help" and self._terminal:
                    print(_LOCAL_HELP)
        except ClawError as error:
            self._failed = True
            error_lines("chat", redact(str(error), assistant.keys))
            if word not in ("/image", "/file"):
                self._tell_attached()
        return True

    def _leaves(self, message: str) -> bool:
        return message in ("/quit", "/exit") or (self._terminal and message in _LEAVING)

    def _attach(self, path: str, *, image: bool) -> None:
        """Looked at now, while the path can still be corrected, and read when it is sent."""
        if not path:
            raise SettingsError(f"which file? {'/image' if image else '/file'} PATH")
        file = _path(path)
        try:
            found = attachment_from_file(file, image=image)
        except MediaError as error:
            problem = error.problem.replace("give it with --", "give it with /")
            raise MediaError(error.item, problem) from None
        (self._images if image else self._files).append(file)
        if self._terminal:
            kilobytes = max(1, len(found.data) // 1000)
            _tell(f"{found.name} ({found.mime_type}, {kilobytes} KB) goes with what you say next")

    def _answer(self, assistant: Assistant, message: str) -> None:
        command = parse_command(message)
        if command is not None and command.name == "model":
            self._model = ""  # what is chosen in the chat counts more than how it was started
        # Commands take no attachment; only what stands behind `/new` goes on to the model.
        to_model = command is None or (
            command.name in ("new", "reset") and bool(command.rest.strip())
        )
        attachments = attachments_from_files(self._images, self._files) if to_model else ()
        context = MessageContext(message, self._session, True, "chat", attachments, self._model)
        notes = sys.stdout if self._terminal else (sys.stderr if sys.stderr.isatty() else None)
        known = assistant.toolbox.problems  # as of the message before: they were told then
        screen = ReplyScreen("chat", sys.stdout if self._terminal else None, notes, known)
        screen.wait()
        try:
            reply = self._wait(assistant.reply(context, screen))
        except KeyboardInterrupt:
            if not self._terminal or self._task is None or not self._task.done():
                raise  # the second one, which does not wait for what the first one stops
            screen.note("stopped (Ctrl-C again leaves)")
            self._source.is_interrupted = True
            self._tell_attached()
            return
        finally:
            screen.pause()
        if to_model:
            self._images, self._files = [], []
        self._print(reply, screen)

    def _tell_attached(self) -> None:
        """Says which attachments still wait after a message that was not answered."""
        names = ", ".join(file.name for file in (*self._images, *self._files))
        text = f"still attached to what you say next: {names}"
        if names and self._terminal:
            _tell(text)
        elif names:
            error_lines("chat", text)

    def _print(self, reply: AssistantReply, screen: ReplyScreen) -> None:
        screen.finish(reply)
        text = combine(screen.blocks, reply.text)
        if text and not self._terminal:
            print(text, flush=True)
        for path in save_media(reply.media, OUTPUT):
            _tell(f"saved {path}")
        for problem in (*reply.omissions, reply.problem):
            if problem:
                error_lines("chat", problem)
        self._failed = self._failed or bool(reply.problem)


def _tell(text: str) -> None:
    aside(harmless(text), sys.stdout)


def _tell_last(exchange: list[Saved]) -> None:
    """The last exchange, so that one knows where one was."""
    asked = next((typed_text(one.message) for one in exchange if one.message.role == "user"), "")
    answered = [typed_text(one.message) for one in exchange if one.message.role == "assistant"]
    _tell("")
    for mark, text in (("> ", asked), ("", next(reversed(answered), ""))):
        if text.strip():
            _tell(mark + _shortened(text.strip()))
    _tell("")


def _meant(message: str) -> str:
    """The command that was mistyped; a space before it sends it as it stands."""
    for word in _LEAVING:
        if sorted(message.rstrip().lower()) == sorted(word):
            return word
    word = message.split(maxsplit=1)[0] if message.startswith("/") else ""
    if word in (*COMMANDS, "/exit"):
        return ""
    return next(iter(get_close_matches(word, COMMANDS, n=1, cutoff=0.7)), "")


def _path(text: str) -> Path:
    """A path as it was typed, or as terminals write one that is dropped on them."""
    path = typed_path(text)
    if path.exists():
        return path
    with suppress(ValueError):
        words = shlex.split(text)
        if len(words) == 1:
            return typed_path(words[0])
    return path


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[:_LONGEST_SHOWN]}… ({len(text) - _LONGEST_SHOWN} more characters)"
