"""Attachments as they come with a message: checked, named, and never cut in silence."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from clawkit.assistant.media import kinds, sniffing
from clawkit.assistant.media.encoded import EncodedError, TooLargeError, decode, read_encoded
from clawkit.assistant.media.kinds import FILE_TYPES, IMAGE_TYPES, KINDS, SUFFIXES, Kind, MediaType
from clawkit.assistant.media.names import Names, safe_name
from clawkit.assistant.media.texts import NotTextError, check_json, read_text
from clawkit.errors import MediaError
from clawkit.text.hidden import visible

Group = Literal["images", "files"]

_FIELDS = ("data", "mimeType", "filename")
_SHOWN = 60
_WORDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    bool: "a boolean",
    type(None): "null",
}
_TEXT_SUFFIXES = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".htm": "text/html",
    ".html": "text/html",
    ".csv": "text/csv",
    ".json": "application/json",
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
    names = Names()
    return (
        *_receive("images", images, kinds.MAX_IMAGES, names),
        *_receive("files", files, kinds.MAX_FILES, names),
    )


def attachment_from_file(path: Path, *, image: bool) -> Attachment:
    """A file of this person's as an attachment; what it is, its bytes say, then its suffix."""
    label = visible(str(path), 200)
    data = _read(path, label)
    mime_type = _type_of_file(path, data, label)
    wanted = "--image" if mime_type in IMAGE_TYPES else "--file"
    if image != (mime_type in IMAGE_TYPES):
        raise MediaError(label, f"it is {sniffing.describe(data)}: give it with {wanted}")
    name = safe_name(path.name, f"file{SUFFIXES[mime_type]}")
    return Attachment(KINDS[mime_type], name, mime_type, data, label)


def attachments_from_files(images: Sequence[Path], files: Sequence[Path]) -> tuple[Attachment, ...]:
    """Files of this person's, within the same limits as those in a call."""
    _check_count("--image", len(images), kinds.MAX_IMAGES)
    _check_count("--file", len(files), kinds.MAX_FILES)
    names = Names()
    found = [attachment_from_file(path, image=True) for path in images]
    found += [attachment_from_file(path, image=False) for path in files]
    return tuple(replace(each, name=names.give(each.name)) for each in found)


def _receive(group: Group, value: Any, most: int, names: Names) -> list[Attachment]:
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


def _receive_one(group: Group, number: int, item: Any, names: Names) -> Attachment:
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
    if len(mime_type) > kinds.LONGEST_TYPE:
        problem = f"has {len(mime_type)} characters, and at most {kinds.LONGEST_TYPE} may be"
        raise MediaError(place, problem)
    found = kinds.read_type(mime_type)
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
        encoded = read_encoded(data)
        decoded = decode(encoded)
    except TooLargeError as error:
        raise MediaError(label, str(error)) from None
    except EncodedError as error:
        raise MediaError(f"{place}.data", str(error)) from None
    if not encoded.stated:
        return decoded, declared.charset
    stated = kinds.read_type(encoded.stated)
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
    elif not sniffing.agrees(mime_type, data):
        raise MediaError(label, f"declared as {mime_type}, but it is {sniffing.describe(data)}")


def _read(path: Path, label: str) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise MediaError(label, "it is not a regular file")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(kinds.MAX_ITEM + 1)
    except OSError as error:
        raise MediaError(label, f"cannot be read: {error.strerror or error}") from None
    if len(data) > kinds.MAX_ITEM:
        most = kinds.MAX_ITEM // kinds.MEGABYTE
        much = kinds.megabytes(max(size, len(data)))
        raise MediaError(label, f"{much} is more than the {most} MB that one item may have")
    if not data:
        raise MediaError(label, "is empty")
    return data


def _type_of_file(path: Path, data: bytes, label: str) -> str:
    found = [name for name in sniffing.sniff(data) if name in KINDS]
    named = next((name for name in found if SUFFIXES[name] == path.suffix.lower()), None)
    if found:
        return named or found[0]
    try:
        text = read_text(data)
    except NotTextError as error:
        what = sniffing.describe(data)
        problem = str(error) if what == "text" else f"{what} cannot be sent to the assistant"
        raise MediaError(label, problem) from None
    named = _TEXT_SUFFIXES.get(path.suffix.lower(), "text/plain")
    if named == "application/json":
        try:
            check_json(text)
        except NotTextError:
            return "text/plain"
    return named


def _shown(value: object) -> str:
    """A value of the caller's in an error: its type, or a short text on one line."""
    if isinstance(value, str):
        return f"'{visible(value, _SHOWN)}'"
    return _WORDS.get(type(value), "a number")
