"""The media types that may come with a message, their kinds, and the size limits both ways.

The types are those of the document. Clients have other spellings for some of them; an alias is
taken for the type that it means, and only that type is seen from there on.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec
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


class TypeRow(Struct, frozen=True):
    """A type in `types.json`: what it is in words, and the bytes it begins with, in hexadecimal.

    With a `kind` it may come with a message; `suffix` is for files that nobody has named.
    """

    name: str
    words: str = ""
    kind: Kind | None = None
    suffix: str = ""
    aliases: tuple[str, ...] = ()
    magic: tuple[str, ...] = ()


class TypeTable(Struct, frozen=True):
    """All of `types.json`; `by_suffix` tells apart what bytes alone do not."""

    types: tuple[TypeRow, ...]
    by_suffix: dict[str, dict[str, str]]


TABLE = msgspec.json.decode(Path(__file__).with_name("types.json").read_bytes(), type=TypeTable)
KINDS: dict[str, Kind] = {row.name: row.kind for row in TABLE.types if row.kind is not None}
IMAGE_TYPES = tuple(name for name, kind in KINDS.items() if kind == "image")
TEXT_TYPES = tuple(name for name, kind in KINDS.items() if kind == "text")
FILE_TYPES = tuple(name for name in KINDS if name not in IMAGE_TYPES)
SUFFIXES = {row.name: row.suffix for row in TABLE.types if row.suffix}
_ALIASES = {alias: row.name for row in TABLE.types for alias in row.aliases}

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
    return MediaType(_ALIASES.get(name, name), charset)


def megabytes(size: int) -> str:
    """A size as people say it. Rounded up, so that too much never looks like just enough."""
    return f"{-(-size * 10 // MEGABYTE) / 10:.1f} MB"


def too_large(size: int, most: int) -> str:
    """What is wrong with one item that is larger than it may be."""
    return f"{megabytes(size)} is more than the {most / MEGABYTE:g} MB that one item may have"


def readable(size: int) -> str:
    """A size of any magnitude."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.1f} KB" if size < MEGABYTE else megabytes(size)
