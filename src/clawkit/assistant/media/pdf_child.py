"""Runs as a process of its own and reads one PDF: it may hang or burst without harm to anybody.

python -m clawkit.assistant.media.pdf_child FILE LIMITS-AS-JSON
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.assistant.media.pdf_events import (
    Event,
    PdfDone,
    PdfFailed,
    PdfLimits,
    PdfOpened,
    PdfPage,
    PdfPicture,
    encode,
)
from clawkit.assistant.media.png import write_png
from clawkit.assistant.media.supervisor import end_with_parent

if TYPE_CHECKING:
    from pypdf import PdfReader

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
        sys.stdout.buffer.write(encode(event) + b"\n")
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


def _clean(text: str) -> str:
    """Text that can be written as UTF-8, as what is in a PDF need not be."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}" if str(error) else type(error).__name__


if __name__ == "__main__":
    main(sys.argv[1], msgspec.json.decode(sys.argv[2], type=PdfLimits))
