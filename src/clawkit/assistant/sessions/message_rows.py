"""Message rows: encoded as JSON, and written as a turn goes, so that a crash loses little.

Parts are JSON; the bytes of a picture are stored once, by their digest. The message is there before
the model is asked, each call before its tool runs, each outcome when it comes. A turn that was left
without an end gets one from whoever finds it.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawkit.assistant import token_estimate
from clawkit.assistant.sessions import text_index
from clawkit.assistant.sessions.text_index import indexed
from clawkit.models.message_history import unanswered, unknown_outcome
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


class EncodedMessage(Struct, frozen=True):
    """A message ready to be written."""

    role: str
    parts: bytes
    tokens: int
    words: str
    images: dict[str, bytes]
    title: str


def encode(message: Message) -> EncodedMessage:
    try:
        return _encode(message)
    except UnicodeEncodeError:
        # Half of a surrogate pair is no character: nothing can carry it to a model either.
        plain = msgspec.to_builtins(message, builtin_types=(bytes,))
        return _encode(msgspec.convert(_mended(plain), Message))


def _encode(message: Message) -> EncodedMessage:
    images: dict[str, bytes] = {}
    parts = tuple(_stored(part, images) for part in message.parts)
    texts = _texts(message)
    first = next((text for text in texts if text.strip()), "") if message.role == "user" else ""
    return EncodedMessage(
        message.role,
        msgspec.json.encode(parts),
        token_estimate.of_message(message),
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


_INTERRUPTED = "[interrupted here: the program ended before the answer was complete]"


def add(
    connection: sqlite3.Connection, session: int, turn: int, messages: Sequence[EncodedMessage]
) -> int:
    """Add what was said in a turn; gives the number of its first message, 0 if there is none."""
    title = next((message.title for message in messages if message.title), "")
    if title:
        connection.execute(
            "UPDATE sessions SET title = ? WHERE id = ? AND title = ''", (title, session)
        )
    epoch = connection.execute("SELECT epoch FROM sessions WHERE id = ?", (session,)).fetchone()[0]
    now = time.time()
    added = [_add(connection, session, turn, epoch, now, message) for message in messages]
    return added[0] if added else 0


def discard(connection: sqlite3.Connection, session: int, turn: int) -> None:
    """Take back what a turn has written: nothing came of it."""
    connection.execute(
        "DELETE FROM said WHERE rowid IN (SELECT id FROM messages WHERE turn = ?)", (turn,)
    )
    connection.execute("DELETE FROM messages WHERE turn = ?", (turn,))
    connection.execute(
        "UPDATE sessions SET title = '' WHERE id = ? AND NOT EXISTS"
        " (SELECT 1 FROM messages WHERE session = sessions.id AND epoch = sessions.epoch)",
        (session,),
    )


def close(connection: sqlite3.Connection, turn: int) -> bool:
    """End what a turn has written where nobody else did; whether it had written anything."""
    rows = connection.execute(
        "SELECT session, role, parts FROM messages WHERE turn = ? ORDER BY id", (turn,)
    ).fetchall()
    if not rows:
        return False
    messages = [
        Message(role, shown(decode_parts(parts), lambda image: Text(image.name)))
        for _, role, parts in rows
    ]
    unknown = [Message("tool", (unknown_outcome(call.id),)) for call in unanswered(messages)]
    end = [*unknown, Message("assistant", (Text(_INTERRUPTED),))]
    add(connection, rows[0][0], turn, [encode(message) for message in end])
    return True


def _add(
    connection: sqlite3.Connection,
    session: int,
    turn: int,
    epoch: int,
    now: float,
    message: EncodedMessage,
) -> int:
    added = connection.execute(
        "INSERT INTO messages (session, turn, epoch, created, tokens, role, parts)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (session, turn, epoch, now, message.tokens, message.role, message.parts),
    )
    id_ = added.lastrowid or 0
    for digest, data in message.images.items():
        connection.execute(
            "INSERT INTO images (digest, data) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (digest, data),
        )
        connection.execute(
            "INSERT INTO image_uses SELECT ?, id FROM images WHERE digest = ?", (id_, digest)
        )
    text_index.add(connection, id_, text_index.place(session, epoch), message.words)
    return id_
