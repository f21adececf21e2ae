"""Past conversations of one Being, message by message."""

from __future__ import annotations

from collections.abc import Sequence

from clawkit.memory.records import USER, HistoryMessage
from clawkit.store.database import Unit, contains, key

ERASED = "erased"
"""In the place of a role, where nothing is left of a message but that it was heard."""

_SITTING = 3600.0
"""Seconds of silence after which a conversation counts as a new one."""

_SELECT = (
    "SELECT id, at, role, content, conversation FROM messages "
    f"WHERE being = $being AND role <> '{ERASED}'"
)


def add(unit: Unit, messages: Sequence[HistoryMessage], token: str) -> None:
    """Keep messages; one that is there already stays as it is."""
    unit.many(
        "INSERT INTO messages (being, id, at, role, content, conversation, token) "
        "VALUES ($being, ?, ?, ?, ?, ?, ?) ON CONFLICT (being, id) DO NOTHING",
        [(key(m.id), m.at, m.role, m.text, m.conversation, token) for m in messages],
    )


def last_before(unit: Unit, said: HistoryMessage, conversation: str, token: str) -> str:
    """What was said last before this, through the same token and in the same conversation if it
    has a name, if that was not long ago.
    """
    return _last(unit, "at < ?", said.at, conversation, token, said.at)


def last_said(unit: Unit, conversation: str, token: str, role: str, now: float) -> str:
    """What somebody of this role said last in a conversation, if that was not long ago."""
    return _last(unit, "role = ?", role, conversation, token, now)


def _last(
    unit: Unit, condition: str, value: str | float, conversation: str, token: str, now: float
) -> str:
    sql = (
        f"SELECT content FROM messages WHERE being = $being AND {condition} AND conversation = ? "
        "AND at > ? AND token = ? ORDER BY at DESC, id DESC LIMIT 1"
    )
    row = unit.row(sql, value, conversation, now - _SITTING, token)
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
    """Messages that contain a text, within a time range, the newest first."""
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


def speakers(unit: Unit, found: Sequence[HistoryMessage]) -> dict[str, str]:
    """Who sent each of these messages, by its id, where that has a name.

    That is who says "I" in the memories of it, else whose token it came through.
    """
    ids = [one.id for one in found if one.role == USER]
    through = unit.among(
        "SELECT m.id, t.person FROM messages m JOIN tokens t ON t.id = m.token "
        "WHERE m.being = $being AND t.being = $being AND m.id IN (??)",
        ids,
    )
    told = unit.among(
        "SELECT message, speaker FROM nodes WHERE being = $being AND message IN (??)", ids
    )
    return {one: name for one, name in (*through, *told) if name not in ("", USER)}
