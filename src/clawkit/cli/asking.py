"""What `claw ask` and `claw chat` share: paths as typed, the files of an answer, warnings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clawkit.assistant.media.outbound import Outgoing

OUTPUT = Path("claw-out")


def new_session_key() -> str:
    """A key that nobody else has, for one question."""
    import secrets
    import time

    return f"ask-{int(time.time() * 1000)}-{secrets.token_hex(8)}"


def warnings_as_lines(verb: str) -> None:
    """Warnings as lines on stderr. No traceback: what failed is told where it failed."""
    import logging

    from clawkit.assistant.redaction import RedactingFilter
    from clawkit.cli.chat_screen import error_lines

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
    from clawkit.assistant.media.names import safe_name
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
    from clawkit.assistant.media.names import split_suffix

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
