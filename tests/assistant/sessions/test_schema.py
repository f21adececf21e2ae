from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from clawkit.assistant.sessions import database
from clawkit.assistant.sessions.store import SessionStore
from clawkit.errors import StoreError
from tests.assistant.sessions.turns import all_texts, opened, say


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def version(file: Path) -> int:
    connection = sqlite3.connect(file)
    try:
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()


def add_step(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    last, usual = database.SCHEMA_VERSION, database._migration
    steps = {last + 1: step}
    monkeypatch.setattr(database, "_migration", lambda number: steps.get(number) or usual(number))
    monkeypatch.setattr(database, "SCHEMA_VERSION", last + 1)


async def test_an_older_store_climbs_the_ladder_and_keeps_what_was_said(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", "before")
    assert version(file) == database.SCHEMA_VERSION
    add_step(monkeypatch, "CREATE TABLE more (x); INSERT INTO more VALUES (';');")
    async with opened(file) as sessions:
        await say(sessions, "k", "after")
        assert await all_texts(sessions, "k") == ["before", "after"]
    assert version(file) == database.SCHEMA_VERSION
    assert SessionStore(file).check() == []


async def test_a_store_of_the_first_version_gets_what_the_later_ones_have(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(database, "SCHEMA_VERSION", 1)
        async with opened(file) as sessions:
            await say(sessions, "k", "before")
    assert version(file) == 1
    assert SessionStore(file).delete("k")
    assert version(file) == database.SCHEMA_VERSION


async def test_a_step_that_fails_leaves_the_store_as_it_was(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", "before")
    with monkeypatch.context() as patched:
        add_step(patched, "CREATE TABLE more (x); INSERT INTO nowhere VALUES (1);")
        with pytest.raises(StoreError, match="no such table: nowhere"):
            SessionStore(file).list_sessions()
    assert version(file) == database.SCHEMA_VERSION
    async with opened(file) as sessions:
        assert await all_texts(sessions, "k") == ["before"]
    assert SessionStore(file).check() == []
