"""What is wrong with a server or an address is said in words, never with the password."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from clawkit.errors import BeingError, StoreError
from clawkit.memory.store import nodes
from clawkit.store import open_store
from clawkit.store.postgres import PostgresDatabase, explained
from clawkit.store.schema import POSTGRES_STEPS
from clawkit.system.addresses import shown_address
from tests.memory import postgres
from tests.memory.postgres import PASSWORD, Server
from tests.memory.store.records import being, remember
from tests.processes import PATIENCE


@pytest.fixture
def place(postgres_server: Server) -> Iterator[str]:
    with postgres_server.database() as address:
        yield address


@pytest.fixture
def empty(postgres_server: Server) -> Iterator[str]:
    with postgres_server.empty_database() as address:
        yield address


def _refused(address: str) -> str:
    with pytest.raises(StoreError) as caught:
        PostgresDatabase(address, patience=0.3)
    assert PASSWORD not in str(caught.value)
    assert "secret" not in str(caught.value)
    return str(caught.value)


def test_no_server_is_told_with_what_to_do() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = _refused(f"postgresql://ada:secret@127.0.0.1:{port}/memory")
    assert said.startswith(f"postgresql://127.0.0.1:{port}/memory: the store of memories")
    assert "cannot be reached" in said
    assert "start the server, or correct the host and port" in said
    assert "cannot be reached" in _refused("postgresql://ada:secret@%2Fno%2Fsuch%2Fplace/memory")


def test_a_wrong_password_is_told_without_it(postgres_server: Server, place: str) -> None:
    name = place.rpartition("/")[2]
    quoted = PASSWORD.replace("'", "''")
    postgres_server.run(f"CREATE ROLE guest LOGIN PASSWORD '{quoted}'")
    try:
        said = _refused(postgres_server.address(name, "guest", f"{PASSWORD}secret"))
        assert "the user or the password is wrong" in said
        assert "a password is wanted" in _refused(postgres_server.address(name, "guest"))
        said = _refused(postgres_server.address(name, "guest", PASSWORD))
        assert "give the user all rights" in said
    finally:
        postgres_server.run("DROP ROLE guest")


def test_a_user_or_a_database_that_is_not_there_is_told(postgres_server: Server) -> None:
    assert "there is no such database" in _refused(postgres_server.address("nothing"))
    said = _refused(postgres_server.address("postgres", "stranger"))
    assert "the server does not know the user" in said


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:secret@host:x/db",
        "postgresql://ada:sec%ret@host/db",
        "postgresql://ada:pass/secret@host/db",
        "postgresql://ada:12/secret@host/db",
        "postgresql://host/db?password=secret&nonsense=1",
    ],
)
def test_an_address_that_cannot_be_read_is_told_without_its_secrets(address: str) -> None:
    said = _refused(address)
    assert "this is no address of a database" in said
    assert "sec%ret" not in said
    assert "pass/" not in said


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("postgresql://ada:secret@host:5432/db?sslmode=require", "postgresql://host:5432/db"),
        ("postgresql://host/db?password=secret", "postgresql://host/db"),
        ("postgresql://ada:se@cret@host/db", "postgresql://host/db"),
        ("postgresql://ada:se?cr@host/db", "postgresql://…"),
        ("postgresql://host/db?password=se@cret", "postgresql://…"),
        ("sqlite:/a/b.db", "sqlite:/a/b.db"),
    ],
)
def test_an_address_is_shown_without_its_secrets(address: str, public: str) -> None:
    assert shown_address(address) == public


@pytest.mark.parametrize(
    "statement",
    ["CREATE EXTENSION vector VERSION '99'", "CREATE TABLE vectors (data halfvec)"],
)
def test_a_missing_or_old_extension_is_told(empty: str, statement: str) -> None:
    with psycopg.connect(empty) as raw, pytest.raises(psycopg.Error) as caught:
        raw.execute(statement.encode())
    said = str(explained("postgresql://host/db", "", caught.value))
    assert "pgvector is missing or too old" in said
    assert "CREATE EXTENSION vector" in said


def test_tables_of_something_else_are_left_alone(empty: str) -> None:
    with psycopg.connect(empty) as raw:
        raw.execute("CREATE TABLE nodes (cats TEXT)")
    assert "there are other tables of these names" in _refused(empty)
    with psycopg.connect(empty) as raw:
        found = raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert found.fetchall() == [("nodes",)]


def test_a_newer_version_is_left_alone(place: str) -> None:
    newer = len(POSTGRES_STEPS) + 1
    with psycopg.connect(place) as raw:
        raw.execute("UPDATE clawkit_memory SET version = %s", (newer,))
    assert f"has version {newer}, and this program knows only version {newer - 1}" in _refused(
        place
    )


def test_many_who_open_a_new_store_at_once_make_its_tables_once(empty: str) -> None:
    problems: list[Exception] = []

    def work() -> None:
        try:
            PostgresDatabase(empty).close()
        except StoreError as error:
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert problems == []
    with psycopg.connect(empty) as raw:
        found = raw.execute("SELECT version FROM clawkit_memory").fetchall()
    assert found == [(len(POSTGRES_STEPS),)]


def test_a_being_that_another_process_keeps_locked_is_told_and_others_go_on(place: str) -> None:
    database = PostgresDatabase(place, patience=3)
    ada, bob = being(database, "Ada"), being(database, "Bob")
    with psycopg.connect(place) as other:
        other.execute("SELECT n FROM beings WHERE n = %s FOR UPDATE", (ada.n,))
        words = "another process has kept it locked"
        with pytest.raises(StoreError, match=words), database.write(ada.n):
            pass
        with database.read(ada.n) as unit:
            assert nodes.top(unit) == 0
        with database.write(bob.n) as unit:
            remember(unit, ["not waiting"])
    database.close()


def test_a_disk_that_takes_no_more_is_told_and_nothing_is_half_written() -> None:
    limit = 18 * 1024 * 1024  # larger than a segment of the log, which must stay writable

    def write(database: PostgresDatabase, n: int) -> None:
        with database.write(n) as unit:
            remember(unit, [random.randbytes(500_000).hex() for _ in range(30)])

    with postgres.server(limit) as server, server.database() as address:
        database = PostgresDatabase(address)
        ada = being(database)
        with pytest.raises(StoreError, match="disk"):
            write(database, ada.n)
        with database.write(ada.n) as unit:
            assert (nodes.top(unit), nodes.fetch(unit, range(40))) == (0, {})
            remember(unit, ["goes on"])
        database.close()


def test_a_full_disk_is_told_with_what_to_do() -> None:
    error = psycopg.errors.DiskFull("could not extend file: No space left on device")
    said = str(explained("postgresql://host/db", "", error))
    assert "its disk is full" in said
    assert "free space on the server's disk" in said


def test_more_threads_than_connections_wait_for_their_turn(place: str) -> None:
    database = PostgresDatabase(place)
    everyone = [being(database, f"B{at}").n for at in range(5)]
    problems: list[Exception] = []

    def work(at: int) -> None:
        try:
            with database.write(everyone[at % 5]) as unit:
                time.sleep(0.01)
                unit.set_mark(f"m{at}", "here")
        except StoreError as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert problems == []
    found = 0
    for n in everyone:
        with database.read(n) as unit:
            found += sum(unit.mark(f"m{at}") is not None for at in range(100))
    assert found == 100
    database.close()


def test_failures_use_no_connection_up(place: str) -> None:
    database = PostgresDatabase(place, patience=PATIENCE)
    ada = being(database)
    for _ in range(50):
        with pytest.raises(BeingError), database.write(999):
            pass
        with pytest.raises(StoreError), database.read(ada.n) as unit:
            unit.rows("SELECT nonsense FROM nodes WHERE being = $being")
    with database.write(ada.n) as unit:
        remember(unit, ["goes on"])
    database.close()


def test_a_store_of_either_kind_is_opened_by_its_address(place: str) -> None:
    database = open_store(place)
    assert isinstance(database, PostgresDatabase)
    database.close()
