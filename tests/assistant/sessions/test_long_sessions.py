from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

import pytest

from clawkit.assistant.sessions import async_store, message_rows, turn_queue
from clawkit.assistant.sessions.database import SessionDatabase
from clawkit.assistant.sessions.message_rows import encode
from clawkit.assistant.sessions.turn_queue import TurnTicket
from clawkit.models.protocol import Usage
from tests.assistant.sessions.turns import assistant, texts, user


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionDatabase]:
    """A short session, and one of 10,000 messages."""
    opened = SessionDatabase(tmp_path_factory.mktemp("long") / "sessions.db")
    fill(opened, "short", 50)
    fill(opened, "long", 5000)
    yield opened
    opened.close()


def fill(database: SessionDatabase, key: str, turns: int) -> None:
    ticket = TurnTicket(key, "ask", named=True)
    turn_queue.take(database, ticket)
    messages = [
        encode(message)
        for number in range(turns)
        for message in (user(f"question {number} about the weather"), assistant(f"fine {number}"))
    ]

    def work(connection: sqlite3.Connection) -> None:
        message_rows.add(connection, ticket.session, ticket.id, messages)
        async_store.end(connection, ticket, usage=Usage(), model="m", reason="end")

    database.write(work)
    ticket.saved = True
    turn_queue.end(database, ticket, "")


def session(database: SessionDatabase, key: str) -> int:
    query = "SELECT id FROM sessions WHERE key = ?"
    return database.read(lambda connection: connection.execute(query, (key,)).fetchone()[0])


def steps(database: SessionDatabase, work: Callable[[sqlite3.Connection], object]) -> int:
    """How many instructions of SQLite's machine something takes: its work, whatever the load."""
    count = 0

    def tick() -> int:
        nonlocal count
        count += 1
        return 0

    def counted(connection: sqlite3.Connection) -> None:
        connection.set_progress_handler(tick, 1)
        try:
            work(connection)
        finally:
            connection.set_progress_handler(None, 1)

    database.read(counted)
    return count


def test_history_of_a_long_session_costs_what_it_costs_in_a_short_one(
    database: SessionDatabase,
) -> None:
    def cost(key: str) -> int:
        id_ = session(database, key)
        return steps(database, lambda connection: async_store.history(connection, id_, 300))

    assert cost("long") <= cost("short") * 1.1
    assert cost("long") < 2000


def test_the_newest_of_a_long_session_are_given(database: SessionDatabase) -> None:
    id_ = session(database, "long")
    history = database.read(lambda connection: async_store.history(connection, id_, 300))
    assert texts(history.messages)[-2:] == ["question 4999 about the weather", "fine 4999"]
    assert 10 < len(history.messages) < 40


def test_history_uses_the_index_and_sorts_nothing(database: SessionDatabase) -> None:
    query = f"SELECT {message_rows.COLUMNS} FROM messages WHERE session=1 AND id>0 ORDER BY id DESC"
    plan = database.read(
        lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
    )
    assert [row[3] for row in plan] == [
        "SEARCH messages USING INDEX messages_of_session (session=? AND id>?)"
    ]


def test_taking_and_ending_a_turn_costs_the_same_in_a_long_session(
    database: SessionDatabase,
) -> None:
    def turn(key: str) -> int:
        before = database.plainly(lambda connection: connection.total_changes)
        ticket = TurnTicket(key, "ask", named=True)
        turn_queue.take(database, ticket)
        turn_queue.end(database, ticket, "")
        return database.plainly(lambda connection: connection.total_changes) - before

    assert turn("long") == turn("short") == 3


def test_the_oldest_message_of_a_long_session_is_found(database: SessionDatabase) -> None:
    id_ = session(database, "long")
    hits = database.read(
        lambda connection: async_store.search(connection, id_, "question 0", 2, None)
    )
    assert "question 0 about the weather" in texts(hits)
