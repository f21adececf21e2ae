"""`claw chat`: a conversation with the assistant in the terminal, or line by line in a pipe."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from clawkit.assistant.callbacks import AssistantReply
    from clawkit.assistant.config import Config
    from clawkit.assistant.media.inbound import Attachment
    from clawkit.assistant.reply import Assistant
    from clawkit.assistant.sessions.records import Saved
    from clawkit.cli.chat.event_loop import BackgroundLoop
    from clawkit.cli.chat.input import Input
    from clawkit.cli.reply_screen import ReplyScreen

_LOCAL_HELP = """/image PATH       show a picture with the next message
/file PATH        send a file with the next message
/quit             leave, as Ctrl-D does
A line that ends in \\ goes on in the next one. Ctrl-C stops an answer."""
_LONGEST_SHOWN = 600
_LAST = 60
"""Messages that the last exchange has at most, with those of its tools."""


def chat(
    session: Annotated[
        str, typer.Option("--session", metavar="KEY", help="Which conversation to go on with.")
    ] = "main",
    model: Annotated[
        str, typer.Option(metavar="PROVIDER/MODEL", help="Talk to this model, not the usual one.")
    ] = "",
) -> None:
    """Talk with the assistant. In a pipe: one message a line, plain answers."""
    from clawkit.assistant.config import read_config
    from clawkit.cli.ask import warnings_as_lines
    from clawkit.cli.reply_screen import error_lines
    from clawkit.errors import ClawError

    warnings_as_lines("chat")
    try:
        code = _chat(read_config(), session, model)
    except ClawError as error:
        error_lines("chat", _redacted(str(error)))
        code = 1
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 1
    raise typer.Exit(code)


def _chat(config: Config, session: str, model: str) -> int:
    from clawkit.assistant.sessions.records import check_key
    from clawkit.cli.chat.event_loop import BackgroundLoop, ended_by_signals
    from clawkit.cli.chat.input import HISTORY, Piped, Typed

    check_key(session)
    terminal = os.isatty(0) and os.isatty(1)
    source = Typed(config.places.data / HISTORY) if terminal else Piped()
    with ended_by_signals(), BackgroundLoop() as background:
        return _Chat(config, session, model, source, background, terminal=terminal).run()


class _Chat:
    """One conversation."""

    def __init__(
        self,
        config: Config,
        session: str,
        model: str,
        source: Input,
        background: BackgroundLoop,
        *,
        terminal: bool,
    ) -> None:
        self._config = config
        self._session = session
        self._model = model
        self._source = source
        self._background = background
        self._terminal = terminal
        self._images: list[Path] = []
        self._files: list[Path] = []
        self._failed = False

    def run(self) -> int:
        from clawkit.assistant.reply import Assistant

        assistant = Assistant(self._config)
        try:
            if self._model:
                self._must_open(assistant)
            if self._terminal:
                self._greet(assistant)
            while (message := self._next()) is not None:
                self._handle(assistant, message)
        finally:
            self._background.run(assistant.close())
        return int(self._failed and not self._terminal)

    def _must_open(self, assistant: Assistant) -> None:
        """A model that was asked for by name and cannot answer: better said now than later."""
        from clawkit.cli.status.assistant import check_model

        chosen = assistant.choice(self._model)[0]
        self._background.run(check_model(chosen, self._config, assistant.keys))

    def _next(self) -> str | None:
        while True:
            try:
                return self._source.read()
            except KeyboardInterrupt:
                if not self._terminal:
                    raise
                print("\n(Ctrl-D leaves)")
            except EOFError:
                if self._terminal:
                    print()
                return None

    def _greet(self, assistant: Assistant) -> None:
        from clawkit.assistant.sessions.store import SessionStore
        from clawkit.errors import ClawError

        kept: list[Saved] = []
        model = ""
        with suppress(ClawError):  # a new conversation; what is damaged, the first message reports
            store = SessionStore(self._config.store_file)
            transcript = store.last(self._session, _LAST)
            kept = [one for one in transcript.messages if one.epoch == transcript.info.epoch]
            model = transcript.chosen_model
        chosen = assistant.choice(self._model or model)[0]
        self._tell(f"{chosen.name} answers ({chosen.why}). /help shows the commands.")
        if chosen.provider == "offline":
            self._tell("It is not a language model: `claw setup` chooses one.")
        self._show_last(kept)

    def _show_last(self, messages: list[Saved]) -> None:
        """The last exchange, so that one knows where one was."""
        from clawkit.assistant.prompt import said

        if not messages:
            return
        last = [one for one in messages if one.turn == messages[-1].turn]
        asked = next((said(one.message) for one in last if one.message.role == "user"), "")
        answered = [said(one.message) for one in last if one.message.role == "assistant"]
        self._tell("")
        for mark, text in (("> ", asked), ("", next(reversed(answered), ""))):
            if text.strip():
                self._tell(mark + _shortened(text.strip()))
        self._tell("")

    def _tell(self, text: str) -> None:
        from clawkit.cli.reply_screen import DIM, PLAIN, can_style, harmless

        styled = can_style(sys.stdout)
        for line in harmless(text).split("\n"):
            print(f"{DIM}{line}{PLAIN}" if styled and line else line)

    def _handle(self, assistant: Assistant, message: str) -> None:
        from clawkit.cli.reply_screen import begin_message, error_lines
        from clawkit.errors import ClawError

        begin_message()
        word, _, rest = message.strip().partition(" ")
        try:
            if word in ("/quit", "/exit") and not rest:
                raise SystemExit(int(self._failed and not self._terminal))
            if word in ("/image", "/file"):
                self._attach(rest.strip(), image=word == "/image")
            elif message.strip() or self._images or self._files:
                self._answer(assistant, message)
                if word == "/help" and self._terminal:
                    print(_LOCAL_HELP)
        except ClawError as error:
            self._failed = True
            error_lines("chat", _redacted(str(error), assistant))
            if word not in ("/image", "/file"):
                self._tell_attached()

    def _attach(self, path: str, *, image: bool) -> None:
        """Looked at now, while the path can still be corrected, and read when it is sent."""
        from clawkit.assistant.media.inbound import attachment_from_file
        from clawkit.errors import MediaError, SettingsError

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
            self._tell(
                f"{found.name} ({found.mime_type}, {kilobytes} KB) goes with what you say next"
            )

    def _answer(self, assistant: Assistant, message: str) -> None:
        from clawkit.assistant.callbacks import MessageContext
        from clawkit.assistant.chat_commands import parse_command
        from clawkit.cli.reply_screen import ReplyScreen

        command = parse_command(message)
        if command is not None and command.name == "model":
            self._model = ""  # what is chosen in the chat counts more than how it was started
        # Commands take no attachment; only what stands behind `/new` goes on to the model.
        to_model = command is None or (
            command.name in ("new", "reset") and bool(command.rest.strip())
        )
        attachments = self._attachments() if to_model else ()
        context = MessageContext(message, self._session, True, "chat", attachments, self._model)
        notes = sys.stdout if self._terminal else (sys.stderr if sys.stderr.isatty() else None)
        known = assistant.toolbox.problems  # as of the message before: they were told then
        screen = ReplyScreen("chat", sys.stdout if self._terminal else None, notes, known)
        screen.wait()
        try:
            reply = self._background.run(assistant.reply(context, screen))
        except KeyboardInterrupt:
            if not self._terminal:
                raise
            screen.note("stopped")
            self._tell_attached()
            return
        finally:
            screen.pause()
        if to_model:
            self._images, self._files = [], []
        self._print(reply, screen)

    def _tell_attached(self) -> None:
        """After a message that was not answered: what would have gone with it still waits."""
        from clawkit.cli.reply_screen import error_lines

        names = ", ".join(file.name for file in (*self._images, *self._files))
        text = f"still attached to what you say next: {names}"
        if names and self._terminal:
            self._tell(text)
        elif names:
            error_lines("chat", text)

    def _attachments(self) -> tuple[Attachment, ...]:
        from clawkit.assistant.media.inbound import attachments_from_files

        return attachments_from_files(self._images, self._files)

    def _print(self, reply: AssistantReply, screen: ReplyScreen) -> None:
        from clawkit.assistant.callbacks import combine
        from clawkit.cli.ask import OUTPUT, save_media
        from clawkit.cli.reply_screen import error_lines

        screen.finish(reply)
        text = combine(screen.blocks, reply.text)
        if text and not self._terminal:
            print(text, flush=True)
        for path in save_media(reply.media, OUTPUT):
            self._tell(f"saved {path}")
        for problem in (*reply.omissions, reply.problem):
            if problem:
                error_lines("chat", problem)
        self._failed = self._failed or bool(reply.problem)


def _path(text: str) -> Path:
    """A path as it was typed, or as terminals write one that is dropped on them."""
    from clawkit.cli.ask import typed_path

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


def _redacted(text: str, assistant: Assistant | None = None) -> str:
    from clawkit.assistant.redaction import redact

    return redact(text, assistant.keys if assistant else None)
