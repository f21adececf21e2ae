"""What the process that reads a PDF says, one line of JSON for each, and its limits."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

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

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Event).decode
