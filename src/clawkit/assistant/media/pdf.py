"""A PDF as the model reads it: its text page by page, pages without any as pictures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from clawkit.assistant.media.helper_process import HelperProcess
from clawkit.assistant.media.pdf_child import (
    Event,
    PdfDone,
    PdfFailed,
    PdfLimits,
    PdfOpened,
    PdfPage,
    PdfPicture,
    Trouble,
    decode,
)
from clawkit.models.protocol import Image, Text

_MODULE = "clawkit.assistant.media.pdf_child"
_TROUBLES: dict[Trouble, str] = {
    "encrypted": "it is protected by a password, so its text cannot be read",
    "broken": "it is damaged, so its text cannot be read",
    "too much": "reading it takes more than is allowed",
}


async def read_pdf(file: Path, name: str, limits: PdfLimits | None = None) -> list[Text | Image]:
    """What a PDF says, in order. It always ends, and what is missing is said in it."""
    limits = limits or PdfLimits()
    events: list[Event] = []
    problem = ""
    try:
        async with asyncio.timeout(limits.seconds):
            await _read(file, limits, events.append)
    except TimeoutError:
        problem = f"reading it was stopped after {limits.seconds:g} s"
    except OSError as error:
        problem = f"it was not read, since no process can be started: {error.strerror or error}"
    if not problem and not (events and isinstance(events[-1], PdfDone | PdfFailed)):
        problem = "the process that reads it ended without a word; it may need too much memory"
    return _parts(events, name, problem)


async def _read(file: Path, limits: PdfLimits, take: Callable[[Event], None]) -> None:
    options = msgspec.json.encode(limits).decode()
    async with await HelperProcess.start(_MODULE, str(file), options, cwd=file.parent) as helper:
        assert helper.process.stdout is not None
        async for line in helper.process.stdout:
            take(decode(line))


def _parts(events: list[Event], name: str, problem: str) -> list[Text | Image]:
    parts: list[Text | Image] = []
    lines: list[str] = []
    pages = next((event.pages for event in events if isinstance(event, PdfOpened)), 0)
    last = 0
    for event in events:
        match event:
            case PdfOpened():
                lines.append(f"[{pages} page{'s' if pages > 1 else ''}]")
            case PdfPage(number, text, trouble):
                last = number
                lines += [f"[page {number}]", *([text] if text else [])]
                lines += [f"[page {number}: {trouble}]"] if trouble else []
            case PdfPicture(number, data):
                last = number
                lines.append(f"[page {number} has no text; this is what it looks like:]")
                parts += [Text("\n".join(lines)), Image(data, "image/png", f"{name} page {number}")]
                lines = []
            case PdfDone(first):
                lines += [f"[{_range(first, pages)} left out: there is too much text]"] * (
                    first > 0
                )
            case PdfFailed(trouble, detail):
                lines.append(f"[{_TROUBLES[trouble]}{f' ({detail})' if detail else ''}]")
    if problem:
        rest = f"; {_range(last + 1, pages)} left out" if 0 < last < pages else ""
        lines.append(f"[{problem}{rest}]")
    return [*parts, Text("\n".join(lines))] if lines else parts


def _range(first: int, last: int) -> str:
    return f"page {last} was" if first >= last else f"pages {first} to {last} were"
