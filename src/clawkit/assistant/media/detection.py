"""Detects a file's type by its bytes, then its suffix; decodes text and checks JSON."""

from __future__ import annotations

import codecs
import re

import msgspec

from clawkit.assistant.media import containers
from clawkit.assistant.media.accepted_types import KINDS, TABLE, TEXT_TYPES, read_type
from clawkit.assistant.media.file_names import split_suffix

_MAGIC = tuple((bytes.fromhex(start), row.name) for row in TABLE.types for start in row.magic)
_HEAD_OF_PDF = re.compile(rb"%PDF-\d\.\d")
_PDF_AT_MOST_AT = 1024
_WORDS = {row.name: row.words for row in TABLE.types if row.words}


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


_MARKS = (
    # UTF-32 first: its mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NO_CHARSETS = frozenset(("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"))


class NotTextError(ValueError):
    """The bytes are not the text that they should be; the message says why."""


def read_text(data: bytes, charset: str = "") -> str:
    """The characters, without the mark in front that says how they are encoded.

    A mark wins over the charset, which may be somebody's default; without either it is UTF-8.
    """
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    encoding = marked or _codec(charset) or "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        raise NotTextError(_undecodable(data, charset, error)) from None
    if "\0" in text:
        raise NotTextError(f"is not text: it has NUL characters; it is {_what(data)}")
    if is_pdf(data[:16]):
        raise NotTextError("is not text: it is a PDF document")
    return text


def check_json(text: str) -> None:
    """Raise for text that is not JSON."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        raise NotTextError(
            f"is not JSON: {error}; send it as text/plain if it is meant so"
        ) from None
    except RecursionError:
        # Nested more deeply than anybody reads: the model gets it as it is.
        return


def _codec(charset: str) -> str:
    if not charset:
        return ""
    try:
        found = codecs.lookup(charset)
        "".encode(found.name)  # refuses codecs that are not between text and bytes
    except (LookupError, ValueError):
        raise NotTextError(f"there is no charset '{charset[:40]}'; use utf-8") from None
    if found.name.replace("-", "_") in _NO_CHARSETS:
        raise NotTextError(f"'{charset}' is not a charset of files; use utf-8")
    return found.name


def _undecodable(data: bytes, charset: str, error: UnicodeError) -> str:
    if sniff(data):
        return f"is not text: it is {describe(data)}"
    where = f" (byte {error.start + 1})" if isinstance(error, UnicodeDecodeError) else ""
    if charset:
        return f"is not text in the charset {charset} that it is said to have{where}"
    return (
        f"is not UTF-8 text{where}; if it is in another charset, say which:"
        " `text/plain; charset=windows-1252`"
    )


def _what(data: bytes) -> str:
    return describe(data) if sniff(data) else "binary data"


_UNKNOWN = "application/octet-stream"


def type_of(name: str, data: bytes, stated: str = "") -> str:
    """The type of a file; one that is stated counts only where the bytes do not deny it."""
    suffix = split_suffix(name)[1].lower()
    declared = read_type(stated)
    claim = declared.name if declared else ""
    found = sniff(data)
    if found:
        like_it = TABLE.by_suffix.get(found[0], {})
        if claim in found or claim in like_it.values():
            return claim
        return like_it.get(suffix, found[0])
    if claim and claim != _UNKNOWN and not can_be_sniffed(claim):
        return claim
    try:
        read_text(data)
    except NotTextError:
        return TABLE.by_suffix[_UNKNOWN].get(suffix, _UNKNOWN)
    return TABLE.by_suffix["text/plain"].get(suffix, "text/plain")
