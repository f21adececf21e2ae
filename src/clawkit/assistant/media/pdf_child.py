"""Reads one PDF in a separate process, so that a hang or a crash harms nothing else.

It says what it reads as events, one line of JSON for each; pages without text as PNG.

python -m clawkit.assistant.media.pdf_child FILE LIMITS-AS-JSON
"""

from __future__ import annotations

import logging
import os
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from clawkit.assistant.media.helper_process import end_with_parent

if TYPE_CHECKING:
    from pypdf import PdfReader

Trouble = Literal["encrypted", "broken", "too much"]


class PdfLimits(Struct, frozen=True):
    """How much is taken from one PDF. What is left out is said."""

    seconds: float = 30.0
    characters: int = 500_000
    pictures: int = 10
    memory: int = 2 * 1024**3


class PdfOpened(Struct, frozen=True, tag="opened"):
    """It can be read, and has this many pages."""

    pages: int


class PdfPage(Struct, frozen=True, tag="page"):
    """The text of a page; `problem` says why there is none."""

    number: int
    text: str = ""
    problem: str = ""


class PdfPicture(Struct, frozen=True, tag="picture"):
    """A page without text, as a PNG."""

    number: int
    data: bytes


class PdfFailed(Struct, frozen=True, tag="failed"):
    """Nothing more can be read."""

    trouble: Trouble
    detail: str = ""


class PdfDone(Struct, frozen=True, tag="done"):
    """Everything has been said; `left_out` is the first page for which there was no room."""

    left_out: int = 0


Event = PdfOpened | PdfPage | PdfPicture | PdfFailed | PdfDone

decode = msgspec.json.Decoder(Event).decode

NO_RENDERER = "it has no text, and no renderer is installed (pip install 'clawkit[scans]')"
NO_MORE_PICTURES = "it has no text, and enough pages are shown as pictures already"
BLANK = "it is blank"
_LONGEST_SIDE = 1568
"""Pixels: models make pictures smaller than this anyway."""
_LARGEST_PICTURE = 2 * 1024 * 1024
_SMALLER = 0.7


def main(file: str, limits: PdfLimits) -> None:
    end_with_parent(lambda: os._exit(1))
    logging.disable(logging.CRITICAL)
    _limit_memory(limits.memory)
    for event in _whole(file, limits):
        sys.stdout.buffer.write(msgspec.json.encode(event) + b"\n")
        sys.stdout.buffer.flush()


def _limit_memory(most: int) -> None:
    if sys.platform != "win32":
        import resource

        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _whole(file: str, limits: PdfLimits) -> Iterator[Event]:
    try:
        yield from _read(file, limits)
    except (MemoryError, RecursionError):
        yield PdfFailed("too much", "it needs too much memory")
    except Exception as error:  # noqa: BLE001 - a PDF can go wrong in any way
        yield PdfFailed("broken", _short(error))


def _read(file: str, limits: PdfLimits) -> Iterator[Event]:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    try:
        reader = PdfReader(file)
        pages = len(reader.pages)
    except FileNotDecryptedError:
        yield PdfFailed("encrypted")
        return
    except DependencyError as error:
        yield PdfFailed("encrypted", _short(error))
        return
    if not pages:
        yield PdfFailed("broken", "it has no pages")
        return
    yield PdfOpened(pages)
    yield from _pages(reader, _Renderer(file, limits.pictures), limits)


def _pages(reader: PdfReader, renderer: _Renderer, limits: PdfLimits) -> Iterator[Event]:
    room = limits.characters
    for index, page in enumerate(reader.pages):
        try:
            text, problem = _clean(page.extract_text()), ""
        except (MemoryError, RecursionError):
            text, problem = "", "reading it needs too much memory"
        except Exception as error:  # noqa: BLE001 - the next page may be a good one
            text, problem = "", f"its text cannot be read: {_short(error)}"
        if len(text) > room:
            yield PdfPage(
                index + 1, text[:room], f"its text is cut here, after {room:,} characters"
            )
            yield PdfDone(left_out=index + 2 if index + 1 < len(reader.pages) else 0)
            return
        room -= len(text)
        if any(map(str.isalnum, text)):
            yield PdfPage(index + 1, text)
        else:
            yield renderer.show(index, problem)
    yield PdfDone()


class _Renderer:
    """Shows pages as pictures, as many as may be, if the package for that is there."""

    def __init__(self, file: str, most: int) -> None:
        self._file = file
        self._left = most
        self._document: Any = None

    def show(self, index: int, problem: str) -> Event:
        number = index + 1
        if not self._left:
            return PdfPage(number, problem=problem or NO_MORE_PICTURES)
        try:
            png = self._render(index)
        except ImportError:
            return PdfPage(number, problem=problem or NO_RENDERER)
        except MemoryError:
            return PdfPage(number, problem="showing it needs too much memory")
        except Exception as error:  # noqa: BLE001 - the next page may be a good one
            return PdfPage(number, problem=f"it cannot be shown: {_short(error)}")
        if png is None:
            return PdfPage(number, problem=problem or BLANK)
        self._left -= 1
        return PdfPicture(number, png)

    def _render(self, index: int) -> bytes | None:
        if self._document is None:
            self._document = import_module("pypdfium2").PdfDocument(self._file)
        page = self._document[index]
        try:
            width, height = page.get_size()
            scale = _LONGEST_SIDE / max(width, height, 1)
            while True:
                png = _png(page.render(scale=scale, rev_byteorder=True))
                if png is None or len(png) <= _LARGEST_PICTURE:
                    return png
                scale *= _SMALLER
        finally:
            page.close()


def _png(bitmap: Any) -> bytes | None:
    """The picture; none if all of it is one colour."""
    try:
        width, height, channels = bitmap.width, bitmap.height, bitmap.n_channels
        buffer = memoryview(bitmap.buffer).cast("B")
        used = width * channels
        starts = range(0, height * bitmap.stride, bitmap.stride)
        rows = [bytes(buffer[at : at + used]) for at in starts]
        buffer.release()
    finally:
        bitmap.close()
    first = rows[0][:channels] * width
    if all(row == first for row in rows):
        return None
    return write_png(width, height, channels, rows)


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOURS = {1: 0, 3: 2, 4: 6}
"""What PNG calls grey, RGB and RGBA, by the number of their channels."""
_NONE, _UP = b"\0", b"\2"


def write_png(width: int, height: int, channels: int, rows: list[bytes]) -> bytes:
    """A PNG of `height` rows, each with `width` pixels of `channels` bytes."""
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    plain = zlib.compress(b"".join(_NONE + row for row in rows), 6)
    # Drawings are smaller as they are, photographs as differences to the row above.
    differing = zlib.compress(b"".join(_UP + row for row in _differences(rows)), 6)
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", min(plain, differing, key=len)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _differences(rows: list[bytes]) -> list[bytes]:
    """Each row minus the one above, byte by byte modulo 256, a whole row in one subtraction."""
    size = len(rows[0])
    tops = int.from_bytes(b"\x80" * size, "little")
    rest = int.from_bytes(b"\x7f" * size, "little")
    above = 0
    found: list[bytes] = []
    for row in rows:
        here = int.from_bytes(row, "little")
        # With the top bit of each byte set no byte borrows from the next; it is put right after.
        difference = ((here | tops) - (above & rest)) ^ ((here ^ above ^ tops) & tops)
        found.append(difference.to_bytes(size, "little"))
        above = here
    return found


def _clean(text: str) -> str:
    """Text that can be written as UTF-8, as what is in a PDF need not be."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}" if str(error) else type(error).__name__


if __name__ == "__main__":
    main(sys.argv[1], msgspec.json.decode(sys.argv[2], type=PdfLimits))
