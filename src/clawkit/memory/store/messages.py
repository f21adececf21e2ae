"""Past conversations of one Being, message by message."""

from __future__ import annotations

from collections.abc import Sequence

from clawkit.memory.records import HistoryMessage
from clawkit.store.database import Unit, contains, key

ERASED = "erased"
"""In the place of a role, where nothing is left of a message but that it was heard."""

_SITTING = 3600.0
"""Seconds after which somebody begins anew."""

_SELECT = (
    "SELECT id, at, role, content, conversation FROM messages "
    f"WHERE being = $being AND role <> '{ERASED}'"
)


def add(unit: Unit, messages: Sequence[HistoryMessage], token: str) -> int:
    """Keep messages; one that is there already stays as it is. Gives how many were new."""
    new = 0
    for said in messages:
        new += unit.run(
            "INSERT INTO messages (being, id, at, role, content, conversation, token) "
            "VALUES ($being, ?, ?, ?, ?, ?, ?) ON CONFLICT (being, id) DO NOTHING",
            key(said.id),
            said.at,
            said.role,
            said.text,
            said.conversation,
            token,
        )
    return new


def last_before(unit: Unit, said: HistoryMessage, conversation: str, token: str) -> str:
    """What was said last in a conversation before this, if that was not long ago.

    Where nobody names the conversation, it is whatever came through the same token.
    """
    row = unit.row(
        "SELECT content FROM messages WHERE being = $being AND conversation = ? AND at < ? "
        "AND at > ? AND (conversation <> '' OR token = ?) ORDER BY at DESC, id DESC LIMIT 1",
        conversation,
        said.at,
        said.at - _SITTING,
        token,
    )
    return row[0] if row else ""


def last_said(unit: Unit, conversation: str, token: str, role: str, now: float) -> str:
    """What somebody of this role said last in a conversation, if that was not long ago."""
    row = unit.row(
        "SELECT content FROM messages WHERE being = $being AND conversation = ? AND role = ? "
        "AND at > ? AND (conversation <> '' OR token = ?) ORDER BY at DESC, id DESC LIMIT 1",
        conversation,
        role,
        now - _SITTING,
        token,
    )
    return row[0] if row else ""


def search(
    unit: Unit,
    text: str = "",
    *,
    since: float | None = None,
    until: float | None = None,
    conversation: str | None = None,
    limit: int = 10,
) -> list[HistoryMessage]:
    """Messages that contain a text, in a stretch of time, the newest first."""
    sql, values = _SELECT, list[object]()
    if text:
        sql += f" AND {contains('content', text)}"
        values.append(text.lower())
    if since is not None:
        sql += " AND at >= ?"
        values.append(since)
    if until is not None:
        sql += " AND at < ?"
        values.append(until)
    if conversation is not None:
        sql += " AND conversation = ?"
        values.append(conversation)
    rows = unit.rows(f"{sql} ORDER BY at DESC, id DESC LIMIT ?", *values, limit)
    return [HistoryMessage(*row) for row in rows]
