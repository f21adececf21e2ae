"""Attachments as parts of a prompt, and read back from there.

Each is there once, in order. A picture is a picture; everything else is a text in a frame that
names it, and lies in the inbox of the call as well, where tools can open it:

    <attachment name="a.csv" type="text/csv" size="1.2 KB" path="…" path-lasts="this answer">
    …
    </attachment>
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from hashlib import sha256
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clawkit.assistant.media.accepted_types import readable
from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.media.containers import duration, readable_duration
from clawkit.assistant.media.detection import read_text
from clawkit.assistant.media.file_names import UniqueNames, safe_name
from clawkit.errors import MediaError
from clawkit.models.protocol import Image, Message, Part, Text
from clawkit.text.counts import counted

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


class Attached(Struct, frozen=True):
    """Something that came as a file, as far as it is text; `note` says what it is if it is not."""

    name: str
    mime_type: str
    size: str = ""
    duration: str = ""
    text: str = ""
    note: str = ""
    pages: str = ""

    @property
    def described(self) -> str:
        """`notes.txt (text/plain, 1.2 KB, 12 lines, 345 words)`."""
        about = [self.mime_type, self.size, self.duration, self.pages, self.note]
        if self.text:
            lines = len(self.text.splitlines()) if not self.pages else 0
            about += [counted(lines, "line")] if lines else []
            words = len(self.text.split())
            about += [counted(words, "word")] if words else []
        elif not self.note and not self.pages:
            about.append("empty")
        return f"{self.name} ({', '.join(filter(None, about))})"


class Received(Struct, frozen=True):
    """A message of a person: what they wrote, and what they sent with it."""

    text: str
    files: tuple[Attached, ...] = ()
    images: tuple[Image, ...] = ()


_OPENING = re.compile(
    r'<(attachment(?:-\d+)?) name="([^"]*)" type="([^"]*)"(?: size="([^"]*)")?'
    r'(?: duration="([^"]*)")?[^>\n]*>\n'
)
_TEXTS = ("text/", "application/json")
# What it says of what is not text itself, and of words that were heard.
_NOTE = re.compile(r"\[(?:accepted, )?(not transcribed|[^:;\n]*)")
_TRANSCRIBED = re.compile(r"\[(transcribed by [^\n]*)\](?:\n|$)")
# What assistant/media/pdf.py writes around the text of a PDF: first how many pages it has, unless
# it cannot be read; a line before each page; and at the end what is missing.
_PAGES = re.compile(r"\[(\d+ pages?)\](?:\n|$)")
_PAGE = re.compile(r"\[page \d+(?:: [^\n]*| has no text; [^\n]*)?\]")
_MISSING = re.compile(
    r"\[((?:pages? \d+ (?:to \d+ )?w|it is |it was |reading it |the process )[^\n]*)\]"
)


class FrameOpening(Struct, frozen=True):
    """The line that a file's frame begins with: its name, the line that ends it, what follows."""

    name: str
    closing: str
    rest: str


def opening_of(text: str) -> FrameOpening | None:
    """The beginning of a frame, if a part of a message is one."""
    found = _OPENING.match(text)
    if found is None:
        return None
    return FrameOpening(unescape(found[2]), f"</{found[1]}>", text[found.end() :])


class TextFrame(Struct, frozen=True):
    """The text of a file between the lines that frame it."""

    name: str
    opening: str
    text: str
    closing: str


def frame_of(text: str) -> TextFrame | None:
    """The frame that a part of a message is, if it is the whole text of a file."""
    found = _OPENING.match(text)
    closing = f"</{found[1]}>" if found else ""
    if found is None or not text.endswith(closing):
        return None
    return TextFrame(
        unescape(found[2]), found[0], text[found.end() : -len(closing)].removesuffix("\n"), closing
    )


def receive(message: Message) -> Received:
    """Take a message apart into words, files and pictures."""
    own: list[str] = []
    files: list[Attached] = []
    images = tuple(part for part in message.parts if isinstance(part, Image))
    frame: re.Match[str] | None = None
    inside: list[str] = []
    for part in message.parts:
        if not isinstance(part, Text):
            continue
        text = part.text
        if frame is None:
            frame = _OPENING.match(text)
            if frame is None:
                own.append(text)
                continue
            text = text[frame.end() :]
        closing = f"</{frame[1]}>"
        inside.append(text.removesuffix(closing))
        if text.endswith(closing):
            files.append(_attached(frame, "\n".join(inside)))
            frame, inside = None, []
    return Received("\n".join(own), tuple(files), images)


def _attached(frame: re.Match[str], text: str) -> Attached:
    about = [unescape(value or "") for value in frame.group(2, 3, 4, 5)]
    text = text.removesuffix("\n")
    if about[1].startswith(_TEXTS):
        return Attached(*about, text=text)
    if about[1] == "application/pdf":
        return _pdf(about, text)
    if heard := _TRANSCRIBED.match(text):
        return Attached(*about, text=text[heard.end() :], note=heard[1])
    note = _NOTE.match(text)
    return Attached(*about, note=note[1].rstrip("]") if note else "")


def _pdf(about: Sequence[str], text: str) -> Attached:
    """The words of its pages, without ours about them."""
    pages = _PAGES.match(text)
    if pages is None:
        return Attached(*about, note=f"not read: {text.removeprefix('[').removesuffix(']')}")
    lines = text[pages.end() :].splitlines()
    missing = _MISSING.fullmatch(lines[-1]) if lines else None
    if missing:
        lines.pop()
    words = "\n".join(line for line in lines if not _PAGE.fullmatch(line)).strip()
    note = missing[1] if missing else "" if words else "without text"
    return Attached(*about, text=words, note=note, pages=pages[1])
