"""Message rows: encoded, written as a turn goes so that a crash loses little, and found by words.

Parts are JSON; the bytes of a picture are stored once, by their digest. The message is there before
the model is asked, each call before its tool runs, each outcome when it comes. A turn that was left
without an end gets one from whoever finds it.

Full-text search is within one conversation, ranked by BM25. Case and accents do not matter. Scripts
that put no spaces between words are cut into pairs of characters, and single ones beside them so
that one character can be looked for. An emoji is a word. No word contains anything that means
something in a match expression.

Every word in the index begins with the conversation it was said in, so no other is ever looked at,
slows the search down, or crowds anything out. For each word no more than a few hundred messages
are considered, the newest: a word that is in more of them says little about any, and fewer are for
one that is everywhere. Whatever holds a rare word is found however long ago it was said.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from clawkit.assistant.sessions.records import LAST, Saved
from clawkit.models.json_fields import joined
from clawkit.models.messages import shown_earlier, unanswered, unknown_outcome
from clawkit.models.protocol import (
    File,
    Image,
    Message,
    Part,
    Text,
    ToolCall,
    ToolOutcome,
    message_tokens,
)
from clawkit.text.tokenizer import folded, pairs, split


class _WithoutBytes(Struct, frozen=True):
    digest: str
    size: int
    mime_type: str
    name: str


class StoredImage(_WithoutBytes, frozen=True, tag="image"):
    """A picture without its bytes."""


class StoredFile(_WithoutBytes, frozen=True, tag="file"):
    """A file that came or went with a message, without its bytes; no part of what a model reads."""


class StoredOutcome(Struct, frozen=True, tag="outcome"):
    """What came of a call, pictures without their bytes."""

    call_id: str
    parts: tuple[Text | StoredImage, ...]
    is_error: bool = False


StoredPart = Text | StoredImage | ToolCall | StoredOutcome | StoredFile
Showing = Callable[[StoredImage], Text | Image]
Stored = TypeVar("Stored", StoredImage, StoredFile)

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
        return _encode(msgspec.convert(_without_surrogates(plain), Message))


def _encode(message: Message) -> EncodedMessage:
    images: dict[str, bytes] = {}
    parts = (
        *(_stored(part, images) for part in message.parts),
        *(_without_bytes(file, StoredFile, images) for file in message.files),
    )
    texts = _texts(message)
    first = next((text for text in texts if text.strip()), "") if message.role == "user" else ""
    return EncodedMessage(
        message.role,
        msgspec.json.encode(parts),
        message_tokens(message),
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
        elif not isinstance(part, StoredFile):
            found.append(part)
    return tuple(found[::-1])


def _stored(part: Part, images: dict[str, bytes]) -> StoredPart:
    if isinstance(part, Image):
        return _without_bytes(part, StoredImage, images)
    if isinstance(part, ToolOutcome):
        inner = (
            _without_bytes(one, StoredImage, images) if isinstance(one, Image) else one
            for one in part.parts
        )
        return StoredOutcome(part.call_id, tuple(inner), part.is_error)
    return part


def _without_bytes(item: Image | File, kind: type[Stored], images: dict[str, bytes]) -> Stored:
    digest = hashlib.sha256(item.data).hexdigest()
    images[digest] = item.data
    return kind(digest, len(item.data), item.mime_type, item.name)


def _texts(message: Message) -> list[str]:
    """What can be found: words, and what tools gave; not how they were called."""
    found: list[str] = []
    for part in message.parts:
        if isinstance(part, Text):
            found.append(part.text)
        elif isinstance(part, ToolOutcome):
            found += (one.text for one in part.parts if isinstance(one, Text))
    return found


def _without_surrogates(value: Any) -> Any:
    """The same with lone surrogates replaced, and pairs of them made one character."""
    match value:
        case str():
            return joined(value)
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {_without_surrogates(key): _without_surrogates(item) for key, item in pairs}
        case list() | tuple():
            return [_without_surrogates(item) for item in cast("list[Any]", value)]
        case _:
            return value


COLUMNS = "id, turn, epoch, created, tokens, role, parts"
Row = tuple[int, int, int, float, int, Any, bytes]


def named(image: StoredImage) -> Text:
    return shown_earlier(image.name)


def image_data(connection: sqlite3.Connection, image: StoredImage | StoredFile) -> bytes | None:
    row = connection.execute("SELECT data FROM images WHERE digest = ?", (image.digest,)).fetchone()
    return None if row is None else row[0]


def saved(row: Row, showing: Showing) -> Saved:
    id_, turn, epoch, created, tokens, role, parts = row
    message = Message(role, shown(decode_parts(parts), showing))
    return Saved(id_, message, created, tokens, turn, epoch)


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
    index(connection, id_, place(session, epoch), message.words)
    return id_


LONGEST_INDEXED = 200_000
"""Characters of one message that can be found; what lies behind is in the message all the same."""

_MOST_ASKED = 24
_LONGEST_WORD = 64


def indexed(text: str) -> str:
    """The words of what was said, with spaces between them."""
    found: list[str] = []
    for word, unspaced in list(split(folded(text[:LONGEST_INDEXED]))):
        found += (*word, *pairs(word)) if unspaced else (word[:_LONGEST_WORD],)
    return " ".join(found)


def asked(text: str) -> tuple[str, ...]:
    """The words of what is looked for, each once; of a very long text, the first ones."""
    found: dict[str, None] = {}
    for word, unspaced in split(folded(text[:LONGEST_INDEXED])):
        found |= dict.fromkeys((pairs(word) or [word]) if unspaced else [word[:_LONGEST_WORD]])
        if len(found) >= _MOST_ASKED:
            break
    return tuple(found)[:_MOST_ASKED]


_CONSIDERED = 200
_COMMON = 10
"""A word in every tenth message or more, as `the` and `is` are, says next to nothing of any."""
_OF_COMMON = 100
"""Messages that are considered for such a word, and how often it must have been said to be one:
a name that comes up again and again for a while is none yet."""
_WEIGHED = 12
_READ = 20_000
_SATURATION = 1.2
_LENGTH = 0.5


class _Match(Struct, frozen=True):
    """Messages that have a word, and how much it says about them."""

    messages: set[int]
    weight: float


Matches = dict[str, _Match]


def place(session: int, epoch: int) -> str:
    """How the words of this conversation begin, and those of no other.

    No vowel, because the index cuts off English endings and counts syllables for that.
    """
    return f"{session}z{epoch}z"


def index(connection: sqlite3.Connection, message: int, where: str, words: str) -> None:
    """Let a message be found by its words."""
    if words:
        placed = where + words.replace(" ", f" {where}")
        connection.execute("INSERT INTO said (rowid, words) VALUES (?, ?)", (message, placed))


def best(
    connection: sqlite3.Connection, where: str, text: str, limit: int, outside: int | None
) -> list[int]:
    """The messages that have most to do with a text, the best first."""
    if limit < 1:
        return []
    matches = _matches(connection, [where + word for word in asked(text)], outside)
    rough: dict[int, float] = {}
    for match in matches.values():
        weight = match.weight
        for message in match.messages:
            rough[message] = rough.get(message, 0) + weight
    first = sorted(rough, key=lambda message: (rough[message], message), reverse=True)
    return _weighed(connection, matches, first[: max(limit, _WEIGHED)])[:limit]


def _matches(connection: sqlite3.Connection, words: list[str], outside: int | None) -> Matches:
    """The words that are in any message."""
    every = {word: _match(connection, word, outside) for word in words}
    return {word: match for word, match in every.items() if match.messages}


def _match(connection: sqlite3.Connection, word: str, outside: int | None) -> _Match:
    rows = connection.execute(
        "SELECT rowid FROM said WHERE said MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?",
        (f'"{word}"', LAST if outside is None else outside, _CONSIDERED),
    )
    newest: list[int] = [message for (message,) in rows.fetchmany(_OF_COMMON)]
    if len(newest) == _OF_COMMON and newest[0] - newest[-1] < _COMMON * _OF_COMMON:
        rows.close()
        return _Match(set(newest), _weight(_CONSIDERED))
    newest += [message for (message,) in rows]
    return _Match(set(newest), _weight(len(newest)))


def _weight(count: int) -> float:
    """What a word says that so many messages have: the rarer, the more."""
    return math.log(1 + _CONSIDERED / max(1, count))


def _weighed(connection: sqlite3.Connection, matches: Matches, messages: list[int]) -> list[int]:
    """The messages in order of how often and among how many others they have the words (BM25)."""
    marks = ", ".join("?" * len(messages))
    rows: list[tuple[int, str]] = connection.execute(
        f"SELECT rowid, substr(words, 1, {_READ}) FROM said WHERE rowid IN ({marks})", messages
    ).fetchall()
    counts = {message: Counter(words.split(" ")) for message, words in rows}
    usual = sum(count.total() for count in counts.values()) / max(1, len(counts))

    def score(message: int) -> float:
        count = counts[message]
        damping = _SATURATION * (1 - _LENGTH + _LENGTH * count.total() / usual)
        total = 0.0
        for word, match in matches.items():
            # Another form of the word counts once.
            times = count[word] or (message in match.messages)
            if times:
                total += match.weight * times / (times + damping)
        return total

    return sorted(counts, key=lambda message: (score(message), message), reverse=True)
