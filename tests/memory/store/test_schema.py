"""A store of version 1 becomes one of today when it is opened, and loses nothing by it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from clawkit.errors import BeingError
from clawkit.memory import store_recovery, tokens
from clawkit.memory.being_store import BeingStore
from clawkit.memory.store import notes
from clawkit.memory.tokens import Caller
from clawkit.store import open_store
from clawkit.store.schema import SQLITE_STEPS
from tests.memory.http.served_beings import served
from tests.memory.postgres import Server
from tests.memory.store.records import MODEL, vectors
from tests.memory.store.together import run_together
from tests.memory.store.version_one import (
    ASKED,
    KNOWN,
    WAITS,
    Old,
    fill,
    make_postgres,
    make_sqlite,
)
from tests.together.official import MODES
from tests.together.test_being_clients import connected


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Old]]:
    """The address of a store of version 1, and what is in it."""
    if request.param == "sqlite":
        today, file = tmp_path / "today.db", tmp_path / "beings.db"
        found = fill(f"sqlite:{today}")
        make_sqlite(today, file)
        yield f"sqlite:{file}", found
        return
    server: Server = request.getfixturevalue("postgres_server")
    with server.database() as today, server.empty_database() as address:
        found = fill(today)
        make_postgres(today, address)
        yield address, found


def version(address: str) -> int:
    if address.startswith("sqlite:"):
        with closing(sqlite3.connect(address.removeprefix("sqlite:"))) as raw:
            return raw.execute("PRAGMA user_version").fetchone()[0]
    with psycopg.connect(address) as raw:
        row = raw.execute(b"SELECT version FROM clawkit_memory").fetchone()
        return row[0] if row else 0


def test_what_an_old_store_has_stays_and_new_things_are_written(old: tuple[str, Old]) -> None:
    address, had = old
    assert version(address) == 1
    store = BeingStore(open_store(address), "none")
    assert version(address) == len(SQLITE_STEPS)
    full = tokens.check(store, had.full, had.being).caller
    reader = tokens.check(store, had.reader, had.being).caller
    assert (full.scope, full.owner, full.person) == ("full", True, "")
    assert (reader.scope, reader.owner) == ("read-only", True)
    being = store.by_id(had.being)
    assert being is not None
    memory = store.open(being)
    assert [hit.node.scene.action for hit in memory.recall(ASKED, Caller()).hits] == [KNOWN]
    with store.database.read(being.n) as unit:
        assert [note.scene.action for note in notes.waiting(unit, "scene") if note.scene] == [WAITS]
        assert unit.vectors.nearest(MODEL, vectors(1, 7)[0], 1)[0] == [1]
    assert memory.patrol(full).nodes_created == 1
    memory.remember("Clara plays the cello", full)
    assert len(memory.search("cello umbrella peanuts").hits) == 3
    secret, _ = tokens.issue(store, being, person="Ben")
    assert tokens.check(store, secret, being.id).caller.owner is False
    memory.undo(1, full)
    store.close()


@pytest.mark.parametrize("mode", MODES)
async def test_an_old_token_serves_the_official_client_after_the_climb(
    old: tuple[str, Old], mode: str
) -> None:
    address, had = old
    with served(BeingStore(open_store(address), "none")) as server:
        url = f"{server.url}/mcp/{had.being}"
        async with connected(url, had.full, mode) as client:
            recalled = await client.call_tool("recall", {"user_message": ASKED})
            rule = {"target": "partner_rules", "action": "append", "content": "Be kind"}
            ruled = await client.call_tool("update_memory", rule)
            noted = await client.call_tool("update_notes", {"notes": ["call the dentist"]})
            context = await client.call_tool("get_context", {})
    assert "peanuts" in str(recalled.content)
    assert not ruled.is_error
    assert not noted.is_error
    assert "Be kind" in str(context.content)
    assert "dentist" in str(context.content)


def climb_and_write(address: str, being_id: str, text: str) -> str:
    """Open a store that others open at the same time, and remember something."""
    store = BeingStore(open_store(address), "none")
    being = store.by_id(being_id)
    assert being is not None
    store.open(being).remember(text, Caller())
    found = store.open(being).recall(ASKED, Caller()).text
    store.close()
    return found


def test_several_processes_that_open_an_old_store_at_once_climb_it_once(
    old: tuple[str, Old],
) -> None:
    address, had = old
    texts = ["Clara plays the cello", "Dora collects stamps", "Emil breeds rabbits"]
    work = f"{__name__}:climb_and_write"
    found = run_together(work, [(address, had.being, text) for text in texts])
    assert all("peanuts" in text for text in found)
    assert version(address) == len(SQLITE_STEPS)
    store = BeingStore(open_store(address), "none")
    being = store.by_id(had.being)
    assert being is not None
    hits = store.open(being).search("cello stamps rabbits peanuts").hits
    assert {hit.node.scene.action for hit in hits} == {*texts, KNOWN}
    store.close()


def execute(address: str, sql: str) -> None:
    if address.startswith("sqlite:"):
        with closing(sqlite3.connect(address.removeprefix("sqlite:"))) as raw, raw:
            raw.execute(sql)
        return
    with psycopg.connect(address, autocommit=True) as raw:
        raw.execute(sql.encode())


def test_beings_of_one_name_get_names_of_their_own_and_their_tokens_stay(
    old: tuple[str, Old],
) -> None:
    address, had = old
    again = "INSERT INTO beings (id, name, created) SELECT '{}', name, created FROM beings"
    execute(address, again.format("second") + " WHERE name = 'Ida'")
    execute(address, again.format("third") + f" WHERE id = '{had.being}'")
    store = BeingStore(open_store(address), "none")
    assert [one.name for one in store.every()] == ["Ida", "Ida second", "Ida third"]
    assert store.find("Ida").id == had.being
    assert tokens.check(store, had.full, "Ida").being.id == had.being
    with pytest.raises(BeingError, match="called 'Ida' already"):
        store.create("Ida")
    store.close()


def create_team(address: str) -> str:
    """Make a Being that others make at the same time; its id, or why not."""
    store = BeingStore(open_store(address), "none")
    try:
        return store.create("team").id
    except BeingError as error:
        return str(error)
    finally:
        store.close()


def find_team(address: str) -> str:
    """Find or make a Being that others want at the same time."""
    store = BeingStore(open_store(address), "none")
    try:
        return store.called("team").id
    finally:
        store.close()


def test_of_processes_that_make_the_same_being_at_once_one_does(old: tuple[str, Old]) -> None:
    address, _ = old
    told = run_together(f"{__name__}:create_team", [(address,)] * 4)
    store = BeingStore(open_store(address), "none")
    (made,) = [one.id for one in store.every() if one.name == "team"]
    store.close()
    assert sorted(told, key=len) == [made, *[_taken(made)] * 3]


def _taken(being_id: str) -> str:
    return f"there is a Being called 'team' already ({being_id}): take another name"


def test_processes_that_want_the_same_being_at_once_get_the_same_one(
    old: tuple[str, Old],
) -> None:
    address, _ = old
    assert len(set(run_together(f"{__name__}:find_team", [(address,)] * 4))) == 1


def test_of_a_damaged_store_with_one_name_twice_both_beings_are_saved(tmp_path: Path) -> None:
    today, damaged = tmp_path / "today.db", tmp_path / "beings.db"
    had = fill(f"sqlite:{today}")
    make_sqlite(today, damaged)
    again = "INSERT INTO beings (id, name, created) VALUES ('second', 'Ida', 1)"
    execute(f"sqlite:{damaged}", again)
    fresh = tmp_path / "fresh.db"
    store_recovery.make(fresh)
    store_recovery.fill(damaged, fresh)
    store = BeingStore(open_store(f"sqlite:{fresh}"), "none")
    assert {one.id: one.name for one in store.every()} == {
        had.being: "Ida",
        "second": "Ida second",
    }
    with pytest.raises(BeingError, match="called 'Ida' already"):
        store.create("Ida")
    store.close()


def test_a_damaged_store_of_version_one_is_salvaged_into_one_of_today(tmp_path: Path) -> None:
    today, damaged = tmp_path / "today.db", tmp_path / "beings.db"
    had = fill(f"sqlite:{today}")
    make_sqlite(today, damaged)
    with closing(sqlite3.connect(damaged)) as raw:
        raw.executescript("DROP TABLE postings; DROP TABLE clusters")
    fresh = tmp_path / "fresh.db"
    store_recovery.make(fresh)
    saved = store_recovery.fill(damaged, fresh)
    assert (saved.rows["beings"], saved.rows["nodes"]) == (1, 1)
    assert saved.lost == {"clusters"}
    store = BeingStore(open_store(f"sqlite:{fresh}"), "none")
    caller = tokens.check(store, had.full, had.being).caller
    assert (caller.owner, caller.person) == (True, "")
    being = store.by_id(had.being)
    assert being is not None
    memory = store.open(being)
    assert "peanuts" in memory.recall(ASKED, caller).text
    assert memory.patrol(caller).nodes_created == 1
    store.close()
