"""A server that falls and rises again loses nothing acknowledged, and does nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

from clawkit.errors import StoreError
from clawkit.memory.store import nodes
from clawkit.store.postgres import PostgresDatabase
from tests.memory.postgres import Server
from tests.memory.store.records import MODEL, being, place, remember, vectors
from tests.processes import PATIENCE


@pytest.fixture
def address(postgres_server: Server) -> Iterator[str]:
    with postgres_server.database() as found:
        yield found


@pytest.fixture
def database(address: str) -> Iterator[PostgresDatabase]:
    found = PostgresDatabase(address)
    yield found
    found.close()


def _cut(address: str) -> None:
    """End every other connection to the database."""
    with psycopg.connect(address, autocommit=True) as raw:
        raw.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_connection_that_was_cut_between_two_uses_is_not_noticed(
    database: PostgresDatabase, address: str
) -> None:
    ada = being(database)
    _cut(address)
    with database.write(ada.n) as unit:
        remember(unit, ["after"])
    _cut(address)
    with database.read(ada.n) as unit:
        assert nodes.top(unit) == 1


def test_a_write_that_was_cut_in_the_middle_is_done_once(
    database: PostgresDatabase, address: str
) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        place(unit, remember(unit, ["first"]), vectors(1, 1))
        _cut(address)
        place(unit, remember(unit, ["second"]), vectors(1, 2))
        _cut(address)
        unit.set_mark("third", "3")
    with database.read(ada.n) as unit:
        assert [nodes.top(unit), unit.vectors.counts()] == [2, {MODEL: 2}]
        _cut(address)
        assert nodes.word_frequencies(unit, ["first", "second"]) == {"first": 1, "second": 1}
        assert unit.mark("third") == "3"


def test_a_write_that_was_overtaken_while_it_was_cut_changes_nothing(
    database: PostgresDatabase, address: str
) -> None:
    ada = being(database)

    def write() -> None:
        with database.write(ada.n) as unit:
            remember(unit, ["slow"])
            _cut(address)
            with database.write(ada.n) as other:
                remember(other, ["quick"])
            remember(unit, ["slow again"])

    with pytest.raises(StoreError, match="has changed since; nothing was written: try again"):
        write()
    with database.read(ada.n) as unit:
        assert [node.scene.action for node in nodes.fetch(unit, [1, 2, 3]).values()] == ["quick"]


def test_a_large_write_that_was_cut_is_not_kept_in_memory_to_be_repeated(
    database: PostgresDatabase, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawkit.store.postgres.REPEATED", 100)
    ada = being(database)

    def write() -> None:
        with database.write(ada.n) as unit:
            remember(unit, [f"thing {at}" for at in range(200)])
            _cut(address)
            remember(unit, ["another"])

    with pytest.raises(StoreError, match="in the middle of a large transaction; nothing was"):
        write()
    with database.read(ada.n) as unit:
        assert nodes.top(unit) == 0


def test_a_commit_of_which_nobody_knows_is_told_and_not_repeated(
    database: PostgresDatabase, address: str
) -> None:
    ada = being(database)

    def write() -> None:
        with database.write(ada.n) as unit:
            remember(unit, ["perhaps"])
            _cut(address)

    with pytest.raises(StoreError, match="not known whether it was made: look before"):
        write()
    with database.read(ada.n) as unit:
        assert nodes.top(unit) == 0


def test_a_server_that_stays_away_is_told_after_some_patience(
    postgres_server: Server, address: str
) -> None:
    database = PostgresDatabase(address, patience=3)
    ada = being(database)
    postgres_server.stop()
    try:
        words = "the server cannot be reached"
        with pytest.raises(StoreError, match=words), database.read(ada.n):
            pass
    finally:
        postgres_server.start()
    with database.write(ada.n) as unit:
        remember(unit, ["here again"])
    database.close()


def test_restarts_under_load_lose_no_acknowledged_write(
    postgres_server: Server, database: PostgresDatabase
) -> None:
    everyone = [being(database, f"B{at}").n for at in range(6)]
    kept: dict[int, list[int]] = {n: [] for n in everyone}
    unsure: dict[int, int] = dict.fromkeys(everyone, 0)
    problems: list[str] = []
    over = threading.Event()

    def work(n: int) -> None:
        while not over.is_set():
            try:
                with database.write(n) as unit:
                    (made,) = remember(unit, ["common"])
                    place(unit, [made], vectors(1, made.seq))
                kept[n].append(made.seq)
                with database.read(n) as unit:
                    assert nodes.top(unit) >= made.seq
            except StoreError as error:
                unsure[n] += 1
                if "not known whether it was made" not in str(error):
                    problems.append(str(error))

    threads = [threading.Thread(target=work, args=(n,)) for n in everyone]
    for thread in threads:
        thread.start()
    for _ in range(2):
        before = sum(map(len, kept.values()))
        while sum(map(len, kept.values())) < before + 60:
            over.wait(0.02)
        postgres_server.restart()
    before = sum(map(len, kept.values()))
    while sum(map(len, kept.values())) < before + 60:
        over.wait(0.02)
    over.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert problems == []
    for n in everyone:
        with database.read(n) as unit:
            top = nodes.top(unit)
            assert sorted(nodes.fetch(unit, range(top + 1))) == list(range(1, top + 1))
            assert nodes.having_all(unit, ["common"]).tolist() == list(range(1, top + 1))
            assert unit.vectors.counts() == {MODEL: top}
        assert set(kept[n]) <= set(range(1, top + 1))
        assert len(kept[n]) <= top <= len(kept[n]) + unsure[n]
