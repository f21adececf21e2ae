"""Writes down what is said in a turn as it happens, so that a crash loses no more than the answer.

The message is there before the model is asked, each call before its tool runs, each outcome when it
comes. A turn that was left without an end gets one from whoever finds it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

from clawkit.assistant.sessions import searching
from clawkit.assistant.sessions.coding import Encoded, decode_parts, encode, shown
from clawkit.models.conversation import unanswered, unknown_outcome
from clawkit.models.protocol import Message, Text

_INTERRUPTED = "[interrupted here: the program ended before the answer was complete]"


def add(
    connection: sqlite3.Connection, session: int, turn: int, messages: Sequence[Encoded]
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
    message: Encoded,
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
    searching.add(connection, id_, searching.place(session, epoch), message.words)
    return id_
