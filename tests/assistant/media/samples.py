"""Tiny real files of every kind, made here so that nothing has to be kept."""

from __future__ import annotations

import base64
import gzip
import io
import struct
import tarfile
import wave
import zipfile
import zlib
from typing import Any


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width: int = 2, height: int = 2) -> bytes:
    row = b"\0" + b"".join(bytes((x * 90 % 256, 10, 200)) for x in range(width))
    rows = row * height
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + _chunk(b"IDAT", zlib.compress(rows))
        + _chunk(b"IEND", b"")
    )


GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,"
    b"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9"
WEBP = (
    b"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00"
    b"/\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"
)


def wav(seconds: float = 0.01) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\0\1" * int(8000 * seconds))
    return file.getvalue()


def mp3(frames: int = 3) -> bytes:
    """MPEG 1 layer 3, 128 kbit/s at 44.1 kHz: frames of 417 bytes."""
    return (b"\xff\xfb\x90\x00" + bytes(413)) * frames


def mp3_with_tag() -> bytes:
    return b"ID3\x04\x00\x00\x00\x00\x00\x0a" + bytes(10) + mp3()


def aac(frames: int = 3) -> bytes:
    length = 20
    sizes = (0x80 | length >> 11, length >> 3 & 0xFF, (length & 7) << 5)
    head = bytes((0xFF, 0xF1, 0x50, *sizes, 0xFC))
    return (head + bytes(length - 7)) * frames


FLAC = b"fLaC\x80\x00\x00\x22" + bytes(34)


def ogg(packet: bytes = b"\x01vorbis") -> bytes:
    head = (
        b"OggS\x00\x02" + bytes(8) + b"\1\0\0\0" + bytes(8) + b"\x01" + bytes((len(packet) + 11,))
    )
    return head + packet + bytes(11)


OPUS = ogg(b"OpusHead")


def mp4(brand: bytes = b"isom", *compatible: bytes) -> bytes:
    brands = b"".join(compatible or (b"isom", b"mp41"))
    box = b"ftyp" + brand + b"\0\0\2\0" + brands
    return struct.pack(">I", len(box) + 4) + box + struct.pack(">I", 8) + b"mdat"


WEBM = b"\x1a\x45\xdf\xa3\x93\x42\x86\x81\x01\x42\xf7\x81\x01\x42\x82\x84webm" + bytes(20)
MATROSKA = WEBM.replace(b"\x84webm", b"\x88matroska")
AVI = b"RIFF\x10\x00\x00\x00AVI LIST" + bytes(8)


def zipped(name: str = "a.txt") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), "inside")
    return file.getvalue()


def tar(style: int = tarfile.USTAR_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=style) as archive:
        entry = tarfile.TarInfo("a.txt")
        entry.size = 6
        archive.addfile(entry, io.BytesIO(b"inside"))
    return file.getvalue()


def old_tar() -> bytes:
    """A tar from before `ustar`: the mark is not there, the checksum is."""
    head = bytearray(tar()[:512])
    head[257:265] = bytes(8)
    head[148:156] = b" " * 8
    head[148:156] = f"{sum(head):06o}\0 ".encode()
    return bytes(head) + tar()[512:]


TAR_GZ = gzip.compress(tar(), mtime=0)
GZIP = gzip.compress(b"just words, no tar", mtime=0)


def pdf(*contents: bytes, resources: bytes = b"", objects: tuple[bytes, ...] = ()) -> bytes:
    """A PDF with a page for each content stream, written by hand with its table."""
    pages = len(contents)
    kids = b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(pages))
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, pages),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, content in enumerate(contents):
        bodies += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> %s >> >>" % (5 + 2 * i, resources),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        ]
    return assemble([*bodies, *objects])


def assemble(bodies: list[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(bodies) + 1,
        start,
    )
    return bytes(out)


def words(text: str) -> bytes:
    return b"BT /F1 12 Tf 10 50 Td (%s) Tj ET" % text.encode("latin-1")


BOX = b"0.8 0.1 0.1 rg 20 20 100 50 re f"
"""Something to see and nothing to read: a page as a scanner makes it."""

IN_FILES: dict[str, bytes] = {
    "application/pdf": pdf(words("Hello")),
    "text/plain": b"plain",
    "text/markdown": b"# Title",
    "text/html": b"<p>hi</p>",
    "text/csv": b"a,b\n1,2\n",
    "application/json": b'{"a": 1}',
    "audio/mpeg": mp3(),
    "audio/wav": wav(),
    "audio/ogg": ogg(),
    "audio/mp4": mp4(b"M4A "),
    "audio/aac": aac(),
    "audio/flac": FLAC,
    "audio/opus": OPUS,
    "video/mp4": mp4(),
    "video/webm": WEBM,
    "video/quicktime": mp4(b"qt  "),
    "video/x-msvideo": AVI,
    "application/zip": zipped(),
    "application/gzip": GZIP,
    "application/x-tar": tar(),
    "application/x-compressed-tar": TAR_GZ,
}
IN_IMAGES = {"image/png": png(), "image/gif": GIF, "image/jpeg": JPEG, "image/webp": WEBP}


def item(data: bytes, mime_type: str, filename: str | None = None) -> dict[str, Any]:
    found = {"data": base64.b64encode(data).decode(), "mimeType": mime_type}
    return found if filename is None else {**found, "filename": filename}
