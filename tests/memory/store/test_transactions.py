from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from clawkit.errors import StoreError
from clawkit.memory import people
from clawkit.memory.store import nodes
from clawkit.store import open_store
from clawkit.store.database import Database
from tests.memory.store.records import MODEL, being, place, remember, vectors
from tests.processes import PATIENCE


class Interruption(Exception):
    pass


def test_an_exception_in_the_middle_leaves_nothing(database: Database) -> None:
    ada = being(database)

    def write_half() -> None:
        with database.write(ada.n) as unit:
            place(unit, remember(unit, ["half done"]), vectors(1, 1))
            raise Interruption

    with pytest.raises(Interruption):
        write_half()
    with database.read(ada.n) as unit:
        assert (nodes.top(unit), nodes.fetch(unit, [1]), unit.vectors.counts()) == (0, {}, {})
        assert nodes.word_frequencies(unit, ["half"]) == {}
        assert people.known(unit).names == frozenset()
    with database.write(ada.n) as unit:
        assert remember(unit, ["whole"])[0].seq == 1


def test_an_exception_in_the_registry_leaves_nothing(database: Database) -> None:
    def create_half() -> None:
        with database.registry(write=True) as connection:
            connection.run("INSERT INTO beings (id, name, created) VALUES ('x', 'X', 1)")
            raise Interruption

    with pytest.raises(Interruption):
        create_half()
    with database.registry() as connection:
        assert connection.rows("SELECT count(*) FROM beings") == [(0,)]


def test_a_failed_statement_is_a_store_error_and_the_store_goes_on(database: Database) -> None:
    ada = being(database)

    def add_twice() -> None:
        with database.write(ada.n) as unit:
            nodes.add(unit, remember(unit, ["once"]))

    with pytest.raises(StoreError, match="the store of memories: the database failed"):
        add_twice()
    with database.write(ada.n) as unit:
        assert remember(unit, ["again"])[0].seq == 1


def test_a_read_sees_one_moment(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        remember(unit, ["before"])
    with database.read(ada.n) as reader:
        assert nodes.top(reader) == 1
        with database.write(ada.n) as writer:
            remember(writer, ["meanwhile"])
        assert nodes.top(reader) == 1
        assert list(nodes.fetch(reader, [1, 2])) == [1]
    with database.read(ada.n) as reader:
        assert nodes.top(reader) == 2


def test_a_read_cannot_write(database: Database) -> None:
    ada = being(database)
    with pytest.raises(StoreError, match="read-only"), database.read(ada.n) as unit:
        unit.set_mark("a", "b")
    with database.write(ada.n) as unit:
        assert unit.mark("a") is None
        unit.set_mark("a", "c")


def test_writers_of_one_being_take_turns(database: Database) -> None:
    ada = being(database)
    start = threading.Barrier(6)

    def work(at: int) -> None:
        start.wait(PATIENCE)
        for turn in range(10):
            with database.write(ada.n) as unit:
                unit.set_mark("count", str(int(unit.mark("count") or 0) + 1))
                place(unit, remember(unit, [f"writer{at} turn{turn}"]), vectors(1, at))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    with database.read(ada.n) as unit:
        assert unit.mark("count") == "60"
        assert sorted(nodes.fetch(unit, range(100))) == list(range(1, 61))
        assert unit.vectors.counts() == {MODEL: 60}
        assert nodes.word_frequencies(unit, ["writer3"]) == {"writer3": 10}


def test_what_was_written_is_there_when_the_store_is_opened_again(
    database: Database, address: str
) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        made = remember(unit, ["kept"])
    again = open_store(address)
    try:
        with again.read(ada.n) as unit:
            assert nodes.fetch(unit, [1]) == {1: made[0]}
    finally:
        again.close()


def test_a_unit_refuses_a_statement_that_names_no_being(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        for attempt in (
            lambda: unit.rows("SELECT seq FROM nodes"),
            lambda: unit.row("SELECT seq FROM nodes WHERE being = ?", 2),
            lambda: unit.run("DELETE FROM nodes"),
            lambda: unit.many("DELETE FROM nodes WHERE seq = ?", [(1,)]),
            lambda: unit.among("SELECT seq FROM nodes WHERE seq IN (??)", [1]),
        ):
            with pytest.raises(AssertionError, match="names no Being"):
                attempt()


def test_the_address_is_shown_without_what_is_secret(database: Database, address: str) -> None:
    assert database.address == address.replace("postgres@", "")
