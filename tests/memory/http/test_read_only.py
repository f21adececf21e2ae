"""A stolen read-only token: whatever it tries to change is refused, and nothing has changed."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from clawkit.memory.tools import READ_TOOLS, WRITE_TOOLS
from tests.memory.http.served_beings import WRITES, Served, modern, text_of

READS: dict[str, dict[str, Any]] = {
    "recall": {"user_message": "the red bicycle"},
    "recall_memory": {},
    "search_memory": {"query": "bicycle"},
    "search_history": {"query": "bicycle"},
    "get_context": {},
    "get_current_time": {},
}
APART = ("tokens", "touches", "told", "sqlite_sequence")
"""What a reader leaves behind for the next patrol and for itself alone."""


@pytest.fixture
def remembering(server: Served) -> Served:
    token = server.token()
    scene = {"action": "Ada bought a red bicycle", "actors": ["Ada"], "when": ["2026-01-02"]}
    server.call(token, "update_notes", {"scenes": [scene]})
    server.call(token, "trigger_patrol", {"messages": []})
    assert "bicycle" in text_of(server.call(token, "search_memory", {"query": "bicycle"}))
    return server


def everything(folder: Path) -> dict[str, list[Any]]:
    """All rows of the store, but those that are kept apart."""
    with sqlite3.connect(folder / "beings.db") as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
        found = {
            table: connection.execute(f"SELECT * FROM {table}").fetchall()
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
            if table not in APART
        }
    connection.close()
    assert {"nodes", "notes", "entries"} <= set(tables)
    return found


def test_every_tool_is_known_to_these_tests() -> None:
    assert set(READS) == READ_TOOLS
    assert set(WRITES) == WRITE_TOOLS | {"act"}


def test_what_changes_something_is_forbidden_and_changes_nothing(
    remembering: Served, tmp_path: Path
) -> None:
    server, stolen = remembering, remembering.token(scope="read-only")
    before = everything(tmp_path)
    for tool, arguments in WRITES.items():
        message, headers = modern("tools/call", {"name": tool, "arguments": arguments})
        headers["authorization"] = f"Bearer {stolen}"
        for response in (
            server.call(stolen, tool, arguments),
            server.http.post(server.path, json=message, headers=headers),
        ):
            assert response.status_code == 403
            assert f"may not call {tool}" in response.json()["error"]["message"]
            challenge = response.headers["www-authenticate"]
            assert 'error="insufficient_scope"' in challenge
            assert 'scope="full"' in challenge
    assert everything(tmp_path) == before


def test_also_a_get_of_a_write_tool_is_forbidden(remembering: Served) -> None:
    stolen = remembering.token(scope="read-only")
    arguments = {"target": "knowledge", "action": "get"}
    assert remembering.call(stolen, "update_memory", arguments).status_code == 403


def test_a_call_without_an_id_changes_nothing_either(remembering: Served, tmp_path: Path) -> None:
    server, stolen = remembering, remembering.token(scope="read-only")
    before = everything(tmp_path)
    headers = {"authorization": f"Bearer {stolen}"}
    for tool, arguments in WRITES.items():
        params = {"name": tool, "arguments": arguments}
        notice = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
        assert server.http.post(server.path, json=notice, headers=headers).status_code == 403
        batch = [{"id": 1, **notice}]
        assert server.http.post(server.path, json=batch, headers=headers).status_code == 400
    assert everything(tmp_path) == before


def test_reading_is_permitted_and_leaves_nothing_that_others_see(
    remembering: Served, tmp_path: Path
) -> None:
    server, stolen, other = (
        remembering,
        remembering.token(scope="read-only"),
        remembering.token(scope="read-only", label="another"),
    )
    before = everything(tmp_path)
    seen = text_of(server.call(other, "recall_memory"))
    for _ in range(3):
        for tool, arguments in READS.items():
            response = server.call(stolen, tool, arguments)
            assert response.status_code == 200
            assert "isError" not in response.json()["result"]
    assert everything(tmp_path) == before
    assert text_of(server.call(other, "recall_memory")) == seen
