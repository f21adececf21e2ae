"""Turns attachments into parts of a prompt: each of them once, in order.

A picture is a picture. Everything else is a text in a frame that names it, and lies in the inbox of
the call as well, where tools can open it:

    <attachment name="a.csv" type="text/csv" size="1.2 KB" path="…" path-lasts="this answer">
    …
    </attachment>
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from clawkit.assistant.media.accepted_types import readable
from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.media.containers import duration, readable_duration
from clawkit.assistant.media.detection import read_text
from clawkit.assistant.media.file_names import UniqueNames, safe_name
from clawkit.errors import MediaError
from clawkit.models.protocol import Image, Part, Text

if TYPE_CHECKING:
    from clawkit.assistant.media.inbound import Attachment
    from clawkit.assistant.media.transcription import Transcriber

NOT_TRANSCRIBED = (
    "accepted, not transcribed: no transcription provider is configured (`[transcription]`)"
)
MAX_TRANSCRIPT = 500_000
"""Characters."""


async def to_parts(
    attachments: Sequence[Attachment], folder: CallFolder, transcriber: Transcriber | None
) -> tuple[Part, ...]:
    """The attachments for the model; what takes long is done for all of them at once."""
    if not attachments:
        return ()
    # Made here and not in the thread, which a cancellation would leave running.
    inbox = folder.inbox if any(each.kind != "image" for each in attachments) else Path()
    files = await asyncio.to_thread(_write_all, attachments, inbox)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_parts(attachment, file, transcriber))
            for attachment, file in zip(attachments, files, strict=True)
        ]
    return tuple(part for task in tasks for part in task.result())


def _write_all(attachments: Sequence[Attachment], inbox: Path) -> list[Path]:
    names = UniqueNames()
    return [
        inbox if attachment.kind == "image" else _write(attachment, inbox, names)
        for attachment in attachments
    ]


def _write(attachment: Attachment, inbox: Path, names: UniqueNames) -> Path:
    path = inbox / names.give(safe_name(attachment.name))
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(attachment.data)
    except OSError as error:
        problem = f"cannot be written to the temporary folder: {error.strerror or error}"
        raise MediaError(attachment.label, problem) from None
    return path


async def _parts(attachment: Attachment, file: Path, transcriber: Transcriber | None) -> list[Part]:
    match attachment.kind:
        case "image":
            return [Image(attachment.data, attachment.mime_type, attachment.name)]
        case "text":
            text = await asyncio.to_thread(read_text, attachment.data, attachment.charset)
            return _framed(attachment, file, [Text(text)])
        case "pdf":
            from clawkit.assistant.media.pdf import read_pdf

            return _framed(attachment, file, await read_pdf(file, attachment.name))
        case "audio":
            said = await _transcript(attachment, file, transcriber)
            return _framed(attachment, file, [Text(said)])
        case "video":
            return _framed(attachment, file, [Text("[a video; tools can open it at its path]")])
        case "archive":
            note = "[an archive, not unpacked; tools can open it at its path]"
            return _framed(attachment, file, [Text(note)])


async def _transcript(attachment: Attachment, file: Path, transcriber: Transcriber | None) -> str:
    if transcriber is None:
        return f"[{NOT_TRANSCRIBED}]"
    try:
        said = await transcriber.transcribe(file, attachment.mime_type)
    except MediaError as error:
        return f"[accepted, not transcribed: {error.problem}]"
    if not said.strip():
        return f"[transcribed by {transcriber.name}: no words were heard]"
    left_out = len(said) - MAX_TRANSCRIPT
    rest = f"\n[{left_out:,} more characters were left out]" if left_out > 0 else ""
    return f"[transcribed by {transcriber.name}]\n{said[:MAX_TRANSCRIPT]}{rest}"


def _framed(attachment: Attachment, file: Path, parts: Sequence[Text | Image]) -> list[Part]:
    """The parts between two lines that nothing in them can be taken for."""
    inner = [part.text if isinstance(part, Text) else "" for part in parts]
    tag = _tag("\n".join(inner))
    attributes = {
        "name": attachment.name,
        "type": attachment.mime_type,
        "size": readable(len(attachment.data)),
        **_duration(attachment),
        "path": str(file),
        "path-lasts": "this answer",
    }
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    whole: list[Part] = [Text(f"<{tag}{written}>\n"), *parts, Text(f"</{tag}>")]
    return _joined(whole)


def _duration(attachment: Attachment) -> dict[str, str]:
    if attachment.kind not in ("audio", "video"):
        return {}
    seconds = duration(attachment.data)
    return {} if seconds is None else {"duration": readable_duration(seconds)}


def _joined(parts: Sequence[Part]) -> list[Part]:
    """Texts that follow each other as one, the next one on a line of its own."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(last, Text):
            end = "" if last.text.endswith("\n") else "\n"
            joined[-1] = Text(f"{last.text}{end}{part.text}")
        else:
            joined.append(part)
    return joined


def _tag(text: str) -> str:
    """The name of the frame: one that the text does not close, as none knows its own digest."""
    if "</attachment" not in text.lower():
        return "attachment"
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    return f"attachment-{int.from_bytes(digest[:8])}"
