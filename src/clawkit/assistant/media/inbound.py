"""Attachments of a message: base64 decoded, checked, named; nothing is cut silently.

Base64 has the standard alphabet, with padding. Blanks and line breaks between the characters are
taken out, as RFC 2045 wraps its lines and the `base64` command does too. In front may stand
`data:image/png;base64,`.
"""

from __future__ import annotations

import binascii
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from clawkit.assistant.media import accepted_types, detection
from clawkit.assistant.media.accepted_types import (
    FILE_TYPES,
    IMAGE_TYPES,
    KINDS,
    MAX_ITEM,
    SUFFIXES,
    Kind,
    MediaType,
    too_large,
)
from clawkit.assistant.media.detection import NotTextError, check_json, read_text
from clawkit.assistant.media.file_names import UniqueNames, safe_name
from clawkit.errors import MediaError
from clawkit.text.normalization import visible

_BLANKS = " \t\r\n"
_DROP_BLANKS = str.maketrans("", "", _BLANKS)
_STRAY = re.compile(r"[^A-Za-z0-9+/]")
_LONGEST_PREFIX = 1000


class Base64Error(ValueError):
    """The text is not base64 that may be used; the message says why."""


class TooLargeError(Base64Error):
    """There are more bytes in the text than one item may have."""


class Base64Data(Struct, frozen=True):
    """Base64, and the type that its `data:` prefix states, if it has one."""

    text: str
    stated: str | None = None


def parse_base64(text: str) -> Base64Data:
    """Take a `data:` prefix off."""
    if text[:5].lower() != "data:":
        return Base64Data(text)
    head, comma, _ = text[:_LONGEST_PREFIX].partition(",")
    if not comma:
        raise Base64Error("it starts with `data:` but no comma ends that prefix")
    stated, _, coding = head[5:].rpartition(";")
    if coding.strip().lower() != "base64":
        raise Base64Error("its `data:` prefix does not say `;base64`, and only base64 is taken")
    return Base64Data(text[len(head) + 1 :], stated.strip())


def decode_base64(encoded: Base64Data, limit: int = MAX_ITEM) -> bytes:
    """The bytes; too many of them are refused before they are made."""
    text = encoded.text
    # What is several times too long is not even looked through: that many blanks nobody needs.
    giant = len(text) > 4 * limit + 1000
    blanks = 0 if giant else sum(map(text.count, _BLANKS))
    padding = 0 if giant else min(text.count("="), 2)
    size = (len(text) - blanks) // 4 * 3 - padding
    if size > limit:
        raise TooLargeError(too_large(size, limit))
    compact = text.translate(_DROP_BLANKS) if blanks else text
    if not compact:
        raise Base64Error("is empty")
    try:
        data = binascii.a2b_base64(compact, strict_mode=True)
    except ValueError as error:
        raise Base64Error(f"is not base64: {_decode_problem(compact) or error}") from None
    if len(compact) != (len(data) + 2) // 3 * 4:
        raise Base64Error(f"is not base64: {_decode_problem(compact)}")
    # The bits that padding leaves over must be zero, or two texts would mean the same bytes.
    rest = len(data) % 3
    if rest and binascii.b2a_base64(data[-rest:], newline=False).decode() != compact[-4:]:
        raise Base64Error(f"is not base64: its last group {compact[-4:]!r} has bits left over")
    return data


def _decode_problem(text: str) -> str:
    """What is wrong with a text that cannot be decoded, and where."""
    body = text.rstrip("=")
    stray = _STRAY.search(body)
    if stray is not None:
        hint = "; that is the URL-safe alphabet, use the standard one" if stray[0] in "-_" else ""
        return f"{stray[0]!r} at character {stray.start() + 1} does not belong there{hint}"
    padding = len(text) - len(body)
    if len(text) % 4 or padding > 2:
        return (
            f"{len(body)} characters and {padding} `=` make no groups of four;"
            " it was cut off, or its padding is wrong"
        )
    return ""


Group = Literal["images", "files"]

_FIELDS = ("data", "mimeType", "filename")
_SHOWN = 60
_WORDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    bool: "a boolean",
    type(None): "null",
}


class Attachment(Struct, frozen=True):
    """One thing that came with a message. `label` names it in errors: `images[0] (cat.png)`."""

    kind: Kind
    name: str
    mime_type: str
    data: bytes
    label: str
    charset: str = ""

    def __repr__(self) -> str:
        return f"Attachment({self.label}, {self.mime_type}, {len(self.data)} bytes)"


def receive(images: Any, files: Any) -> tuple[Attachment, ...]:
    """The attachments in the arguments of a call; raises MediaError that names the place."""
    names = UniqueNames()
    return (
        *_receive("images", images, accepted_types.MAX_IMAGES, names),
        *_receive("files", files, accepted_types.MAX_FILES, names),
    )


def attachment_from_file(path: Path, *, image: bool) -> Attachment:
    """A file of this person's as an attachment; what it is, its bytes say, then its suffix."""
    label = visible(str(path), 200)
    data = _read(path, label)
    mime_type = _type_of_file(path, data, label)
    wanted = "--image" if mime_type in IMAGE_TYPES else "--file"
    if image != (mime_type in IMAGE_TYPES):
        raise MediaError(label, f"it is {detection.describe(data)}: give it with {wanted}")
    name = safe_name(path.name, f"file{SUFFIXES[mime_type]}")
    return Attachment(KINDS[mime_type], name, mime_type, data, label)


def attachments_from_files(images: Sequence[Path], files: Sequence[Path]) -> tuple[Attachment, ...]:
    """Files of this person's, within the same limits as those in a call."""
    _check_count("--image", len(images), accepted_types.MAX_IMAGES)
    _check_count("--file", len(files), accepted_types.MAX_FILES)
    names = UniqueNames()
    found = [attachment_from_file(path, image=True) for path in images]
    found += [attachment_from_file(path, image=False) for path in files]
    return tuple(replace(each, name=names.give(each.name)) for each in found)


def _receive(group: Group, value: Any, most: int, names: UniqueNames) -> list[Attachment]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise MediaError(group, f"must be a list, not {_shown(value)}")
    items = cast("list[Any]", value)
    _check_count(group, len(items), most)
    return [_receive_one(group, number, item, names) for number, item in enumerate(items)]


def _check_count(group: str, count: int, most: int) -> None:
    if count > most:
        raise MediaError(group, f"there are {count}, at most {most} may come with one message")


def _receive_one(group: Group, number: int, item: Any, names: UniqueNames) -> Attachment:
    place = f"{group}[{number}]"
    data, mime_type, filename = _fields(place, item)
    declared = _declared(place, group, mime_type)
    fallback = f"{group[:-1]}-{number + 1}{SUFFIXES[declared.name]}"
    name = safe_name(filename, fallback) if filename else fallback
    label = f"{place} ({name})" if filename else place
    decoded, charset = _decoded(place, label, declared, data)
    _check_content(label, declared.name, decoded, charset)
    return Attachment(
        KINDS[declared.name], names.give(name), declared.name, decoded, label, charset
    )


def _fields(place: str, item: Any) -> tuple[str, str, str]:
    if not isinstance(item, dict):
        raise MediaError(place, f"must be an object with data and mimeType, not {_shown(item)}")
    fields = cast("dict[str, Any]", item)
    for key in fields:
        if key not in _FIELDS:
            raise MediaError(place, f"has no field {_shown(key)}; there are {', '.join(_FIELDS)}")
    for key in ("data", "mimeType"):
        if not isinstance(fields.get(key), str):
            problem = f"must be a string, not {_shown(fields[key])}" if key in fields else "missing"
            raise MediaError(f"{place}.{key}", problem)
    filename = fields.get("filename")
    if filename is not None and not isinstance(filename, str):
        raise MediaError(f"{place}.filename", f"must be a string, not {_shown(filename)}")
    return fields["data"], fields["mimeType"], filename or ""


def _declared(place: str, group: Group, mime_type: str) -> MediaType:
    place = f"{place}.mimeType"
    if len(mime_type) > accepted_types.LONGEST_TYPE:
        problem = (
            f"has {len(mime_type)} characters, and at most {accepted_types.LONGEST_TYPE} may be"
        )
        raise MediaError(place, problem)
    found = accepted_types.read_type(mime_type)
    here, elsewhere = (IMAGE_TYPES, FILE_TYPES) if group == "images" else (FILE_TYPES, IMAGE_TYPES)
    if found is not None and found.name in here:
        return found
    if found is not None and found.name in elsewhere:
        other = "files" if group == "images" else "images"
        raise MediaError(place, f"{found.name} belongs into `{other}`, not into `{group}`")
    problem = f"{_shown(mime_type)} is not supported in `{group}`; there are {', '.join(here)}"
    raise MediaError(place, problem)


def _decoded(place: str, label: str, declared: MediaType, data: str) -> tuple[bytes, str]:
    try:
        encoded = parse_base64(data)
        decoded = decode_base64(encoded)
    except TooLargeError as error:
        raise MediaError(label, str(error)) from None
    except Base64Error as error:
        raise MediaError(f"{place}.data", str(error)) from None
    if not encoded.stated:
        return decoded, declared.charset
    stated = accepted_types.read_type(encoded.stated)
    if stated is None or stated.name != declared.name:
        raise MediaError(
            f"{place}.data",
            f"its prefix says {_shown(encoded.stated)}, but its mimeType is {declared.name}",
        )
    return decoded, declared.charset or stated.charset


def _check_content(label: str, mime_type: str, data: bytes, charset: str) -> None:
    if KINDS[mime_type] == "text":
        try:
            text = read_text(data, charset)
            if mime_type == "application/json":
                check_json(text)
        except NotTextError as error:
            raise MediaError(label, f"declared as {mime_type}, but it {error}") from None
    elif not detection.agrees(mime_type, data):
        raise MediaError(label, f"declared as {mime_type}, but it is {detection.describe(data)}")


def _read(path: Path, label: str) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise MediaError(label, "it is not a regular file")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(MAX_ITEM + 1)
    except OSError as error:
        raise MediaError(label, f"cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_ITEM:
        raise MediaError(label, too_large(max(size, len(data)), MAX_ITEM))
    if not data:
        raise MediaError(label, "is empty")
    return data


def _type_of_file(path: Path, data: bytes, label: str) -> str:
    found = [name for name in detection.sniff(data) if name in KINDS]
    named = next((name for name in found if SUFFIXES[name] == path.suffix.lower()), None)
    if found:
        return named or found[0]
    try:
        text = read_text(data)
    except NotTextError as error:
        what = detection.describe(data)
        problem = str(error) if what == "text" else f"{what} cannot be sent to the assistant"
        raise MediaError(label, problem) from None
    named = accepted_types.TABLE.by_suffix["text/plain"].get(path.suffix.lower(), "")
    if named == "application/json":
        try:
            check_json(text)
        except NotTextError:
            return "text/plain"
    return named if named in KINDS else "text/plain"


def _shown(value: object) -> str:
    """A value of the caller's in an error: its type, or a short text on one line."""
    if isinstance(value, str):
        return f"'{visible(value, _SHOWN)}'"
    return _WORDS.get(type(value), "a number")
