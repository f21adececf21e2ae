"""What bytes are, whatever they are called: told by how each format begins."""

from __future__ import annotations

import re

from clawkit.assistant.media import containers
from clawkit.assistant.media.kinds import KINDS, TEXT_TYPES

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"PK\x07\x08", "application/zip"),
    (b"fLaC", "audio/flac"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"BZh", "application/x-bzip2"),
    (b"\x7fELF", "application/x-elf"),
    (b"MZ", "application/vnd.microsoft.portable-executable"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"BM", "image/bmp"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"MThd", "audio/midi"),
)
_HEAD_OF_PDF = re.compile(rb"%PDF-\d\.\d")
_PDF_AT_MOST_AT = 1024
_WORDS = {
    "image/png": "a PNG image",
    "image/jpeg": "a JPEG image",
    "image/gif": "a GIF image",
    "image/webp": "a WebP image",
    "image/heic": "a HEIC image",
    "image/avif": "an AVIF image",
    "image/tiff": "a TIFF image",
    "image/bmp": "a BMP image",
    "application/pdf": "a PDF document",
    "audio/mpeg": "MP3 audio",
    "audio/wav": "WAV audio",
    "audio/ogg": "Ogg audio",
    "audio/opus": "Opus audio",
    "audio/mp4": "MP4 audio",
    "audio/aac": "AAC audio",
    "audio/flac": "FLAC audio",
    "audio/midi": "a MIDI file",
    "video/mp4": "an MP4 video",
    "video/webm": "a WebM video",
    "video/quicktime": "a QuickTime video",
    "video/x-msvideo": "an AVI video",
    "video/x-matroska": "a Matroska video",
    "video/ogg": "an Ogg video",
    "application/zip": "a ZIP archive",
    "application/gzip": "gzip data",
    "application/x-tar": "a tar archive",
    "application/x-compressed-tar": "a compressed tar archive",
    "application/vnd.rar": "a RAR archive",
    "application/x-7z-compressed": "a 7z archive",
    "application/x-xz": "xz data",
    "application/x-bzip2": "bzip2 data",
    "application/zstd": "Zstandard data",
    "application/x-elf": "a program",
    "application/vnd.microsoft.portable-executable": "a program",
    "application/x-ole-storage": "an old Office document",
    "application/vnd.sqlite3": "an SQLite database",
}


def sniff(data: bytes) -> tuple[str, ...]:
    """The types that the bytes can be, the likeliest first; none if no format is known by them."""
    if data[:2] == b"\x1f\x8b":
        tar = ("application/x-compressed-tar",) if containers.is_compressed_tar(data) else ()
        return (*tar, "application/gzip")
    for look in (containers.riff, containers.mp4, containers.ogg, containers.matroska):
        if found := look(data):
            return found
    if containers.is_tar(data):
        return ("application/x-tar",)
    for start, name in _MAGIC:
        # Letters alone are not a sign: a text may begin with them.
        if data.startswith(start) and _is_binary(data):
            return (name,)
    if is_pdf(data):
        return ("application/pdf",)
    return containers.mpeg_audio(data)


def is_pdf(data: bytes) -> bool:
    """Readers look for the mark in the first kilobyte, since some programs write in front of it."""
    head = data[: _PDF_AT_MOST_AT + 8]
    return bool(_HEAD_OF_PDF.match(head)) or (
        bool(_HEAD_OF_PDF.search(head)) and b"startxref" in data[-2048:]
    )


def agrees(name: str, data: bytes) -> bool:
    """Whether bytes can be of a type that is told by its bytes."""
    return name in sniff(data) or (name == "application/x-tar" and containers.is_empty_tar(data))


def describe(data: bytes) -> str:
    """What the bytes are, in words."""
    found = sniff(data)
    if found:
        return _WORDS.get(found[0], found[0])
    if not data:
        return "empty"
    return "data of no known format" if _is_binary(data) else "text"


def can_be_sniffed(name: str) -> bool:
    """Whether bytes of a type always say so."""
    return (name in KINDS or name in _WORDS) and name not in TEXT_TYPES


def _is_binary(data: bytes) -> bool:
    head = data[:65536]
    if b"\0" in head:
        return not head.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return len(head) == len(data) or error.start < len(head) - 3
    return False
