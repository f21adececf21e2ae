"""`claw ask`: one question, one answer on stdout; `claw chat` shares its paths and files."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer
from msgspec import Struct

from clawkit.cli.commands import on_termination, print_json, with_options

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.assistant import Assistant
    from clawkit.assistant.callbacks import AssistantReply, MessageContext
    from clawkit.assistant.config import Config
    from clawkit.assistant.media.inbound import Attachment
    from clawkit.assistant.media.outbound import Outgoing
    from clawkit.cli.reply_screen import ReplyScreen

OUTPUT = Path("claw-out")


def warnings_as_lines(verb: str) -> None:
    """Warnings as lines on stderr. No traceback: what failed is told where it failed."""
    import logging

    from clawkit.assistant.redaction import RedactingFilter
    from clawkit.cli.reply_screen import error_lines

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with suppress(OSError):  # nobody reads stderr, which must not end the answer
                error_lines(verb, record.getMessage())

    handler = Lines(logging.WARNING)
    handler.addFilter(lambda record: not record.exc_info)
    handler.addFilter(RedactingFilter())
    logging.getLogger("clawkit").addHandler(handler)
    logging.getLogger("mcp").addHandler(logging.NullHandler())


def typed_path(text: str) -> Path:
    """A path as somebody typed it, with or without a shell that knows `~`."""
    from clawkit.errors import MediaError

    try:
        return Path(text).expanduser()
    except RuntimeError:
        user = Path(text).parts[0]
        raise MediaError(text, f"there is no user whose home {user} is") from None


def save_media(media: Sequence[Outgoing], directory: Path) -> list[Path]:
    """The files of an answer in a directory, which is made for them; no file is overwritten."""
    from clawkit.assistant.media.file_names import safe_name
    from clawkit.errors import MediaError

    saved: list[Path] = []
    for item in media:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            saved.append(_save(directory, safe_name(item.name), item.data))
        except OSError as error:
            raise MediaError(
                item.name, f"cannot be saved in {directory}: {error.strerror or error}"
            ) from None
    return saved


def _save(directory: Path, name: str, data: bytes) -> Path:
    from clawkit.assistant.media.file_names import split_suffix

    stem, suffix = split_suffix(name)
    number, path = 1, directory / name
    while True:
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError:
            number += 1
            path = directory / f"{stem}-{number}{suffix}"
        else:
            return path


_STDIN = "standard input"
_MOMENT = 3.0
"""Seconds to wait for piped input beside a message: a pipe may be left open and empty."""


class AskRequest(Struct, frozen=True):
    """What was said on the command line."""

    message: Annotated[
        str | None,
        typer.Argument(
            metavar="MESSAGE",
            help="What to ask; `-` reads it from standard input. "
            "What is piped in beside a message goes along as a file; `</dev/null` in loops.",
        ),
    ] = None
    session: Annotated[
        str | None, typer.Option("--session", metavar="KEY", help="Ask in this conversation.")
    ] = None
    go_on: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on with the last `claw ask`.")
    ] = False
    images: Annotated[
        list[Path] | None,
        typer.Option("--image", metavar="FILE", help="A picture to show; can be given again."),
    ] = None
    files: Annotated[
        list[Path] | None,
        typer.Option("--file", metavar="FILE", help="A file to send along; can be given again."),
    ] = None
    model: Annotated[
        str, typer.Option(metavar="PROVIDER/MODEL", help="Ask this model, not the usual one.")
    ] = ""
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="Where files of the answer are saved.")
    ] = OUTPUT
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False


@with_options("question", AskRequest)
def ask(question: AskRequest) -> None:
    """Ask the assistant one question."""
    if question.session is not None and question.go_on:
        raise typer.BadParameter("give --session KEY, or --continue")
    raise typer.Exit(_ask(question))


def _ask(question: AskRequest) -> int:
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.config import read_config
    from clawkit.assistant.redaction import redact
    from clawkit.cli.reply_screen import ReplyScreen, error_lines
    from clawkit.errors import ClawError

    warnings_as_lines("ask")
    streaming = sys.stdout.isatty() and not question.as_json
    screen = ReplyScreen("ask", sys.stdout if streaming else None, _notes())
    keys: Keys | None = None
    try:
        config = read_config()
        keys = Keys(config)
        return _answer(config, question, screen, streamed=streaming)
    except ClawError as error:
        problem = redact(str(error), keys)
        if question.as_json:
            _print_failure(question, problem, screen.notices)
        error_lines("ask", problem)
        return 1 + error.is_usage
    except KeyboardInterrupt:
        return 130


def _answer(config: Config, question: AskRequest, screen: ReplyScreen, *, streamed: bool) -> int:
    import asyncio

    from clawkit.cli.reply_screen import error_lines

    context = _context(config, question)
    screen.wait()

    def show(reply: AssistantReply) -> int:
        screen.pause()
        screen.finish(reply)
        return _print(question, reply, screen, streamed=streamed)

    try:
        return asyncio.run(_reply(config, context, screen, show))
    except (asyncio.CancelledError, KeyboardInterrupt):
        screen.pause()
        if screen.tools:
            names = ", ".join(screen.tools)
            error_lines("ask", f"stopped after tools were started: {names}; the session has it")
        raise KeyboardInterrupt from None
    finally:
        screen.pause()


def _notes() -> TextIO | None:
    return sys.stderr if sys.stderr.isatty() else None


async def _reply(
    config: Config,
    context: MessageContext,
    screen: ReplyScreen,
    show: Callable[[AssistantReply], int],
) -> int:
    """Ask and show. Ended by a signal as by Ctrl-C: the call is cancelled, and that is on record.

    What memory has to do is done after the answer is shown.
    """
    import asyncio

    from clawkit.assistant.assistant import Assistant

    task = asyncio.current_task()
    if task is not None:
        on_termination(asyncio.get_running_loop(), lambda _: task.cancel())
    async with Assistant(config) as assistant:
        looking = asyncio.ensure_future(model_suggestion(assistant))
        try:
            reply = await assistant.reply(context, screen)
            if reply.model == "offline" and (found := await looking):
                screen.notice(found)
            return show(reply)
        finally:
            looking.cancel()


async def model_suggestion(assistant: Assistant) -> str:
    """Suggests a model that was found and the command that uses it, if none is chosen."""
    from clawkit.assistant.model_choice import is_chosen

    if is_chosen(assistant.config):
        return ""
    from clawkit.assistant.model_discovery import suggestion

    return await suggestion(assistant.config, assistant.keys)


def _context(config: Config, question: AskRequest) -> MessageContext:
    from clawkit.assistant.callbacks import MessageContext
    from clawkit.assistant.sessions.turn_queue import check_key, new_session_key

    key, named = question.session, question.session is not None
    if key is not None:
        check_key(key)
    elif question.go_on:
        key, named = _last_asked(config)
    message, piped = _message(question)
    return MessageContext(
        message,
        key or new_session_key("ask"),
        named,
        "ask",
        _attachments(question, piped),
        question.model,
    )


def _message(question: AskRequest) -> tuple[str, bytes]:
    """What is asked, and what was piped in to go along with it."""
    from clawkit.errors import SettingsError

    message, attached = question.message, bool(question.images or question.files)
    if message == "-" or (message is None and not attached and _is_piped()):
        message, piped = _read_text(), b""
    else:
        goes_along = _is_piped() and not _is_read_by_another() and _begins()
        piped = sys.stdin.buffer.read(_most() + 1) if goes_along else b""
    if not (message or "").strip() and not attached:
        raise SettingsError(
            'there is no message: claw ask "…", or a text on standard input'
        ).of_usage()
    return message or "", piped


def _begins() -> bool:
    """Whether something comes through the pipe, or its end, within a moment."""
    import select

    if sys.platform == "win32" or select.select([0], [], [], _MOMENT)[0]:
        return True
    print(f"claw ask: nothing comes from {_STDIN}: asking without it", file=sys.stderr)
    return False


def _is_piped() -> bool:
    """Whether something is piped in; a device that happens to be there is not asked for text."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _is_read_by_another() -> bool:
    """Whether somebody has read a part of the file: `while read … done < file` goes on with it."""
    try:
        return os.lseek(0, 0, os.SEEK_CUR) > 0
    except OSError:  # a pipe has no place
        return False


def _most() -> int:
    from clawkit.assistant.media.accepted_types import MAX_ITEM

    return MAX_ITEM


def _read_text() -> str:
    from clawkit.errors import MediaError

    data = sys.stdin.buffer.read(_most() + 1)
    if len(data) > _most():
        raise MediaError(_STDIN, f"is longer than {_most() // (1024 * 1024)} MB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise MediaError(_STDIN, "is not UTF-8 text: give a file with --file or --image") from None


def _attachments(question: AskRequest, piped: bytes) -> tuple[Attachment, ...]:
    """The files, and what was piped in as one more."""
    from clawkit.assistant.media.inbound import attachments_from_files

    images = [typed_path(str(path)) for path in question.images or ()]
    files = [typed_path(str(path)) for path in question.files or ()]
    if not piped:
        return attachments_from_files(images, files)
    import tempfile

    from clawkit.assistant.media.accepted_types import IMAGE_TYPES, SUFFIXES
    from clawkit.assistant.media.detection import sniff
    from clawkit.errors import MediaError

    with tempfile.TemporaryDirectory(prefix="claw-") as folder:
        found = next((kind for kind in sniff(piped) if kind in SUFFIXES), "text/plain")
        file = Path(folder) / f"stdin{SUFFIXES[found]}"
        file.write_bytes(piped)
        (images if found in IMAGE_TYPES else files).append(file)
        try:
            return attachments_from_files(images, files)
        except MediaError as error:
            item = _STDIN if folder in error.item else error.item
            raise MediaError(item, error.problem) from None


def _last_asked(config: Config) -> tuple[str, bool]:
    from clawkit.assistant.sessions.store import SessionStore
    from clawkit.errors import SessionError

    for info in SessionStore(config.store_file).list_sessions():
        if info.origin == "ask" and info.messages:
            return info.key, info.named
    raise SessionError("there is nothing to continue: nothing was asked yet")


def _print(
    question: AskRequest, reply: AssistantReply, screen: ReplyScreen, *, streamed: bool
) -> int:
    from clawkit.assistant.callbacks import combine
    from clawkit.cli.reply_screen import error_lines, harmless

    saved = save_media(reply.media, question.output)
    text = combine(screen.blocks, reply.text)
    if question.as_json:
        _print_json(reply, text, saved, screen.notices)
    elif text and not streamed:
        sys.stdout.buffer.write(f"{text}\n".encode(errors="replace"))
        sys.stdout.flush()
    if not question.as_json:
        for path in saved:
            print(f"saved {harmless(str(path))}", file=sys.stderr)
    for omission in reply.omissions:
        error_lines("ask", omission)
    if reply.problem:
        error_lines("ask", reply.problem)
    return int(bool(reply.problem))


def _print_json(
    reply: AssistantReply, text: str, saved: list[Path], notices: tuple[str, ...]
) -> None:
    print_json(
        {
            "text": text,
            "sessionKey": reply.session_key,
            "model": reply.model,
            "usage": reply.usage,
            "stopReason": reply.reason,
            "media": [
                {"path": str(path), "mimeType": item.mime_type, "bytes": len(item.data)}
                for path, item in zip(saved, reply.media, strict=True)
            ],
            "omissions": reply.omissions,
            "notices": notices,
            "problem": reply.problem or None,
        }
    )


def _print_failure(question: AskRequest, problem: str, notices: tuple[str, ...]) -> None:
    """The same fields for a program that reads them: there is no answer, and this is why."""
    unknown = dict.fromkeys(("model", "usage", "stopReason"))
    empty = dict.fromkeys(("media", "omissions"), ())
    key = question.session
    about = {"notices": notices, "problem": problem}
    print_json({"text": "", "sessionKey": key, **unknown, **empty, **about})
