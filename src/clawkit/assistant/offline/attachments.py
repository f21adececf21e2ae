"""What the offline model can say of attachments: the size of a picture, a sentence of a text."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from html import unescape

from msgspec import Struct

from clawkit.assistant.offline.sentences import Question
from clawkit.assistant.offline.words import content, hints, sentences
from clawkit.models.protocol import Image, Message, Text


class Attached(Struct, frozen=True):
    """Something that came as a file, as far as it is text; `note` says what it is if it is not."""

    name: str
    mime_type: str
    size: str = ""
    duration: str = ""
    text: str = ""
    note: str = ""

    @property
    def described(self) -> str:
        """`notes.txt (text/plain, 1.2 KB, 12 lines, 345 characters)`."""
        about = [self.mime_type, self.size, self.duration]
        if self.note:
            about.append(self.note)
        else:
            lines = len(self.text.splitlines())
            plural = "" if lines == 1 else "s"
            about += [f"{lines:,} line{plural}", f"{len(self.text):,} characters"]
        return f"{self.name} ({', '.join(filter(None, about))})"


class Received(Struct, frozen=True):
    """A message of a person: what they wrote, and what they sent with it."""

    text: str
    files: tuple[Attached, ...] = ()
    images: tuple[Image, ...] = ()


# The frame that assistant/media/parts.py puts around everything that is not a picture.
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
_SEARCHED = 2_000_000
"""Characters of a file in which answers are looked for."""


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
    note = missing[1] if missing else "" if words else f"{pages[1]} without text"
    return Attached(*about, text=words, note=note)


def best_sentence(attached: Attached, question: Question) -> str:
    """The sentence of a text that has the words of a question, quoted; or nothing."""
    needed = question.needed
    if not needed:
        return ""
    best, most = "", 0
    for sentence in _candidates(attached.text, hints(needed)):
        shared = len(needed & content(sentence))
        if shared > most:
            best, most = sentence, shared
    # A single word in common is no answer to a question that has three.
    if most * 3 < len(needed) * 2:
        return ""
    quote = best if len(best) <= 400 else best[:400].rstrip() + " …"
    return f"{attached.name} says: “{quote}”"


def _candidates(text: str, pieces: Sequence[str]) -> Iterator[str]:
    """The sentences of the lines that can have one of the words."""
    for line in text[:_SEARCHED].splitlines():
        low = line.lower()
        if not line.isascii() or any(piece in low for piece in pieces):
            yield from sentences(line, most=len(line))


def describe_image(image: Image) -> str:
    """`cat.png (image/png, 12,345 bytes, 640 × 480 pixels)`."""
    size = dimensions(image.data)
    pixels = f", {size[0]} × {size[1]} pixels" if size else ""
    return f"{image.name} ({image.mime_type}, {len(image.data):,} bytes{pixels})"


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height from the head of a PNG, GIF, WebP or JPEG; None where it is none of them."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", data[16:24])
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return struct.unpack("<HH", data[6:10])
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
    except struct.error:
        return None
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
        case b"VP8X":
            if len(data) < 30:
                return None
            width, height = data[24:27], data[27:30]
            return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
        case _:
            return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Walk the segments to the frame header, which every kind of JPEG has."""
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in (0x01, *range(0xD0, 0xD9)):
            at += 2
            continue
        (length,) = struct.unpack(">H", data[at + 2 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        if length < 2 or marker == 0xDA:
            return None
        at += 2 + length
    return None
