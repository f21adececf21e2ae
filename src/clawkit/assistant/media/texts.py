"""Text among the attachments: which letters its bytes are, and whether JSON is JSON."""

from __future__ import annotations

import codecs

import msgspec

from clawkit.assistant.media.sniffing import describe, is_pdf, sniff

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
