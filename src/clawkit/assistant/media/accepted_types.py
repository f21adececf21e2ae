"""The media types that may come with a message, their kinds, and the size limits both ways.

The types are those of the document. Clients have other spellings for some of them; an alias is
taken for the type that it means, and only that type is seen from there on.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

Kind = Literal["image", "text", "pdf", "audio", "video", "archive"]

MEGABYTE = 1024 * 1024
MAX_ITEM = 15 * MEGABYTE
"""Of each attachment, as bytes after decoding."""
MAX_IMAGES = 10
MAX_FILES = 5
MAX_SENT_ITEM = 20 * MEGABYTE
"""Of each file in an answer, as bytes before encoding; base64 makes four out of three."""
MAX_SENT = 50 * MEGABYTE
"""Of all files in an answer together."""

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
TEXT_TYPES = ("text/plain", "text/markdown", "text/html", "text/csv", "application/json")
AUDIO_TYPES = (
    "audio/mpeg",
    "audio/wav",
    "audio/ogg",
    "audio/mp4",
    "audio/aac",
    "audio/flac",
    "audio/opus",
)
VIDEO_TYPES = ("video/mp4", "video/webm", "video/quicktime", "video/x-msvideo")
ARCHIVE_TYPES = (
    "application/zip",
    "application/gzip",
    "application/x-tar",
    "application/x-compressed-tar",
)
FILE_TYPES = ("application/pdf", *TEXT_TYPES, *AUDIO_TYPES, *VIDEO_TYPES, *ARCHIVE_TYPES)

KINDS: dict[str, Kind] = {
    **dict.fromkeys(IMAGE_TYPES, "image"),
    **dict.fromkeys(TEXT_TYPES, "text"),
    **dict.fromkeys(AUDIO_TYPES, "audio"),
    **dict.fromkeys(VIDEO_TYPES, "video"),
    **dict.fromkeys(ARCHIVE_TYPES, "archive"),
    "application/pdf": "pdf",
}

ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "text/x-markdown": "text/markdown",
    "application/csv": "text/csv",
    "text/json": "application/json",
    "application/x-pdf": "application/pdf",
    "audio/mp3": "audio/mpeg",
    "audio/x-mp3": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/m4a": "audio/mp4",
    "audio/x-m4a": "audio/mp4",
    "audio/x-aac": "audio/aac",
    "audio/x-flac": "audio/flac",
    "video/avi": "video/x-msvideo",
    "video/msvideo": "video/x-msvideo",
    "application/x-zip": "application/zip",
    "application/x-zip-compressed": "application/zip",
    "application/x-gzip": "application/gzip",
    "application/tar": "application/x-tar",
    "application/x-gtar": "application/x-tar",
    "application/x-tgz": "application/x-compressed-tar",
    "application/x-gtar-compressed": "application/x-compressed-tar",
}

SUFFIXES = {
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/html": ".html",
    "text/csv": ".csv",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/ogg": ".ogg",
    "audio/mp4": ".m4a",
    "audio/aac": ".aac",
    "audio/flac": ".flac",
    "audio/opus": ".opus",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
    "video/quicktime": ".mov",
    "video/x-msvideo": ".avi",
    "application/zip": ".zip",
    "application/gzip": ".gz",
    "application/x-tar": ".tar",
    "application/x-compressed-tar": ".tar.gz",
}
"""What a file of a type is called when nobody has named it."""

LONGEST_TYPE = 255
"""Characters, parameters included."""
_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_TYPE = re.compile(rf"\s*({_TOKEN}/{_TOKEN})\s*(;.*)?", re.DOTALL)
_PARAMETER = re.compile(rf';\s*({_TOKEN})\s*=\s*("[^"\\]*(?:\\.[^"\\]*)*"|[^";]*)')


class MediaType(Struct, frozen=True):
    """A type as the document writes it, and the charset that came with it."""

    name: str
    charset: str = ""


def read_type(text: str) -> MediaType | None:
    """A type in any case, with or without parameters, aliases resolved; None for what is none."""
    match = _TYPE.fullmatch(text) if len(text) <= LONGEST_TYPE else None
    if match is None:
        return None
    name = match[1].lower()
    parameters = {found[1].lower(): found[2] for found in _PARAMETER.finditer(match[2] or "")}
    charset = parameters.get("charset", "").strip().strip('"').strip().lower()
    return MediaType(ALIASES.get(name, name), charset)


def megabytes(size: int) -> str:
    """A size as people say it. Rounded up, so that too much never looks like just enough."""
    return f"{-(-size * 10 // MEGABYTE) / 10:.1f} MB"


def readable(size: int) -> str:
    """A size of any magnitude."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.1f} KB" if size < MEGABYTE else megabytes(size)
