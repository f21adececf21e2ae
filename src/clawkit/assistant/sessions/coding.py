"""Messages as they lie in the database: parts as JSON, the bytes of a picture by their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawkit.assistant import tokens
from clawkit.assistant.sessions.words import indexed
from clawkit.models.protocol import Image, Message, Part, Text, ToolCall, ToolOutcome


class StoredImage(Struct, frozen=True, tag="image"):
    """A picture without its bytes."""

    digest: str
    size: int
    mime_type: str
    name: str


class StoredOutcome(Struct, frozen=True, tag="outcome"):
    """What came of a call, pictures without their bytes."""

    call_id: str
    parts: tuple[Text | StoredImage, ...]
    is_error: bool = False


StoredPart = Text | StoredImage | ToolCall | StoredOutcome
Showing = Callable[[StoredImage], Text | Image]

_decoder = msgspec.json.Decoder(tuple[StoredPart, ...])
_TITLE = 200


class Encoded(Struct, frozen=True):
    """A message ready to be written."""

    role: str
    parts: bytes
    tokens: int
    words: str
    images: dict[str, bytes]
    title: str


def encode(message: Message) -> Encoded:
    try:
        return _encode(message)
    except UnicodeEncodeError:
        # Half of a surrogate pair is no character: nothing can carry it to a model either.
        plain = msgspec.to_builtins(message, builtin_types=(bytes,))
        return _encode(msgspec.convert(_mended(plain), Message))


def _encode(message: Message) -> Encoded:
    images: dict[str, bytes] = {}
    parts = tuple(_stored(part, images) for part in message.parts)
    texts = _texts(message)
    first = next((text for text in texts if text.strip()), "") if message.role == "user" else ""
    return Encoded(
        message.role,
        msgspec.json.encode(parts),
        tokens.of_message(message),
        indexed("\n".join(texts)),
        images,
        " ".join(first[: 4 * _TITLE].split())[:_TITLE],
    )


def decode_parts(data: bytes) -> tuple[StoredPart, ...]:
    return _decoder.decode(data)


def shown(parts: tuple[StoredPart, ...], showing: Showing) -> tuple[Part, ...]:
    """The parts of a message, with what `showing` makes of each picture, the last one first."""
    found: list[Part] = []
    for part in reversed(parts):
        if isinstance(part, StoredImage):
            found.append(showing(part))
        elif isinstance(part, StoredOutcome):
            inner = [
                showing(one) if isinstance(one, StoredImage) else one for one in part.parts[::-1]
            ]
            found.append(ToolOutcome(part.call_id, tuple(inner[::-1]), part.is_error))
        else:
            found.append(part)
    return tuple(found[::-1])


def _stored(part: Part, images: dict[str, bytes]) -> StoredPart:
    if isinstance(part, Image):
        return _without_bytes(part, images)
    if isinstance(part, ToolOutcome):
        inner = (
            _without_bytes(one, images) if isinstance(one, Image) else one for one in part.parts
        )
        return StoredOutcome(part.call_id, tuple(inner), part.is_error)
    return part


def _without_bytes(image: Image, images: dict[str, bytes]) -> StoredImage:
    digest = hashlib.sha256(image.data).hexdigest()
    images[digest] = image.data
    return StoredImage(digest, len(image.data), image.mime_type, image.name)


def _texts(message: Message) -> list[str]:
    """What can be found: words, and what tools gave; not how they were called."""
    found: list[str] = []
    for part in message.parts:
        if isinstance(part, Text):
            found.append(part.text)
        elif isinstance(part, ToolOutcome):
            found += (one.text for one in part.parts if isinstance(one, Text))
    return found


def _mended(value: Any) -> Any:
    """The same with lone surrogates replaced, and pairs of them made one character."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {_mended(key): _mended(item) for key, item in pairs}
        case list() | tuple():
            return [_mended(item) for item in cast("list[Any]", value)]
        case _:
            return value
