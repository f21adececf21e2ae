"""What is known of sessions without reading what was said in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

from clawkit.assistant.sessions.records import SessionInfo

IsAlive = Callable[[str], bool]

_QUERY = """
SELECT key, origin, named, created, updated,
    (SELECT count(*) FROM messages WHERE session = s.id AND epoch >= :since),
    (SELECT count(DISTINCT turn) FROM messages WHERE session = s.id AND epoch >= :since),
    CASE last_model WHEN '' THEN chosen_model ELSE last_model END,
    (SELECT group_concat(DISTINCT owner) FROM turns WHERE session = s.id AND owner IS NOT NULL),
    (SELECT reason FROM turns WHERE session = s.id AND ended IS NOT NULL
        ORDER BY id DESC LIMIT 1),
    title, epoch
FROM sessions AS s
"""


def describe(connection: sqlite3.Connection, session: int, is_alive: IsAlive) -> SessionInfo | None:
    """One session; its messages and turns are counted since it last began anew."""
    epoch = connection.execute("SELECT epoch FROM sessions WHERE id = ?", (session,)).fetchone()
    if epoch is None:
        return None
    values = {"session": session, "since": epoch[0]}
    row = connection.execute(f"{_QUERY} WHERE s.id = :session", values).fetchone()
    return _info(row, is_alive)


def find(connection: sqlite3.Connection, key: str, is_alive: IsAlive) -> SessionInfo | None:
    values = {"key": key, "since": 0}
    row = connection.execute(f"{_QUERY} WHERE key = :key", values).fetchone()
    return None if row is None else _info(row, is_alive)


def every(
    connection: sqlite3.Connection, is_alive: IsAlive, since: float = 0
) -> tuple[SessionInfo, ...]:
    """All sessions that were used since then, the last used first."""
    values = {"active": since, "since": 0}
    rows = connection.execute(
        f"{_QUERY} WHERE updated >= :active ORDER BY updated DESC, s.id DESC", values
    )
    return tuple(_info(row, is_alive) for row in rows)


def _info(row: tuple[Any, ...], is_alive: IsAlive) -> SessionInfo:
    key, origin, named, created, updated, messages, turns, model, owners, reason, title, epoch = row
    running = any(is_alive(owner) for owner in str(owners or "").split(",") if owner)
    return SessionInfo(
        key,
        origin,
        bool(named),
        created,
        updated,
        messages,
        turns,
        model,
        running,
        reason or "",
        title,
        epoch,
    )
