"""Reads back what `parts` wrote: which words of a message are the person's, which a file's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

from msgspec import Struct

from clawkit.models.protocol import Image, Message, Text


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
            about += [_counted(lines, "line"), _counted(len(self.text.split()), "word")]
        elif not self.note and not self.pages:
            about.append("empty")
        return f"{self.name} ({', '.join(filter(None, about))})"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}" if count else ""


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
