"""Beings, tokens and jobs: what belongs to no single Being."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from clawkit.errors import BeingError
from clawkit.memory import tokens
from clawkit.memory.records import Token
from clawkit.memory.store import beings, jobs, ledger, nodes
from clawkit.store import open_store
from clawkit.store.database import Database
from tests.memory.store.records import MODEL, NOW, being, place, remember, vectors
from tests.memory.store.together import run_together
from tests.processes import PATIENCE


def test_beings_are_listed_and_have_their_own_key(database: Database) -> None:
    ada, bob = being(database, "Ada"), being(database, "Bob")
    with database.registry(write=True) as connection:
        beings.set_key(connection, ada.n, b"\x00sealed\xff")
    with database.registry() as connection:
        assert [one.name for one in beings.every(connection)] == ["Ada", "Bob"]
        assert beings.by_id(connection, bob.id) == bob
        assert beings.by_number(connection, bob.n) == bob
        assert beings.by_id(connection, "nobody") is None
        assert beings.key(connection, ada.n) == b"\x00sealed\xff"
        assert beings.key(connection, bob.n) is None


def test_a_deleted_being_takes_everything_along_and_its_number_never_returns(
    database: Database,
) -> None:
    ada, bob = being(database, "Ada"), being(database, "Bob")
    for one in (ada, bob):
        with database.write(one.n) as unit:
            place(unit, remember(unit, ["a", "b"]), vectors(2, one.n))
            ledger.add(unit, NOW, "k", "", "", [])
    with database.registry(write=True) as connection:
        beings.delete(connection, bob.n)
    with database.read(bob.n) as unit:
        assert (nodes.fetch(unit, [1, 2]), unit.vectors.counts()) == ({}, {})
        assert ledger.latest(unit) == []
    with pytest.raises(BeingError, match="no Being number"), database.write(bob.n):
        pass
    assert being(database, "Cem").n > bob.n
    with database.read(ada.n) as unit:
        assert unit.vectors.counts() == {MODEL: 2}
        assert (unit.vectors.count(MODEL), unit.vectors.count("another")) == (2, 0)


def test_tokens_are_known_by_their_hash_and_end(database: Database) -> None:
    ada = being(database)
    token = Token("t1", ada.n, "brt", "read-only", "phone", NOW, NOW + 60)
    with database.registry(write=True) as connection:
        tokens.insert(connection, token, "hash1")
        tokens.insert(connection, Token("t2", ada.n, "bto", "full", "", NOW + 1), "hash2")
        assert tokens.by_hash(connection, "hash1") == ("hash1", token, ada)
        assert tokens.by_hash(connection, "hash") is None
        tokens.set_used(connection, "t1", NOW + 5)
        assert tokens.revoke(connection, "t1", NOW + 6)
        assert not tokens.revoke(connection, "t1", NOW + 7)
        assert not tokens.revoke(connection, "none", NOW + 7)
    with database.registry() as connection:
        first, second = tokens.of_being(connection, ada.n)
        assert (first.id, first.used, first.revoked) == ("t1", NOW + 5, NOW + 6)
        assert (second.id, second.revoked) == ("t2", None)


def test_a_job_goes_from_wanted_over_failed_to_done(database: Database) -> None:
    ada, bob = being(database, "Ada"), being(database, "Bob")
    with database.registry(write=True) as connection:
        jobs.want(connection, bob.n, "patrol", 10.0)
        jobs.want(connection, ada.n, "embed", 20.0)
        assert jobs.claim(connection, "w1", 30.0, 60.0) == (bob.n, "patrol", 10.0, 1)
        assert jobs.claim(connection, "w2", 30.0, 60.0) == (ada.n, "embed", 20.0, 1)
        assert jobs.claim(connection, "w3", 30.0, 60.0) is None
        assert jobs.extend(connection, bob.n, "patrol", "w1", 90.0)
        assert not jobs.extend(connection, bob.n, "patrol", "w2", 90.0)
        jobs.failed(connection, bob.n, "patrol", "w1", "no model", 100.0)
        assert jobs.waiting(connection, bob.n) == [("patrol", 1, "no model")]
        assert jobs.claim(connection, "w1", 99.0, 120.0) == (ada.n, "embed", 20.0, 2)
        assert jobs.claim(connection, "w1", 101.0, 120.0) == (bob.n, "patrol", 10.0, 2)
        jobs.done(connection, bob.n, "patrol", "w1", 10.0)
        assert jobs.waiting(connection, bob.n) == []


@pytest.mark.parametrize("again", [50.0, 5.0])
def test_a_job_wanted_again_while_it_ran_stays_on_any_clock(
    database: Database, again: float
) -> None:
    ada = being(database)
    with database.registry(write=True) as connection:
        jobs.want(connection, ada.n, "patrol", 10.0)
        assert jobs.claim(connection, "w1", 30.0, 60.0)
        jobs.want(connection, ada.n, "patrol", again)
        jobs.done(connection, ada.n, "patrol", "w1", 10.0)
        assert jobs.claim(connection, "w2", 61.0, 90.0) == (ada.n, "patrol", again, 1)


def test_a_claim_that_ran_out_is_claimed_again(database: Database) -> None:
    ada = being(database)
    with database.registry(write=True) as connection:
        jobs.want(connection, ada.n, "patrol", 10.0)
        assert jobs.claim(connection, "dead", 30.0, 60.0)
    with database.registry(write=True) as connection:
        assert jobs.claim(connection, "w2", 60.0, 90.0) is None
        assert jobs.claim(connection, "w2", 60.5, 90.0) == (ada.n, "patrol", 10.0, 2)
        assert not jobs.extend(connection, ada.n, "patrol", "dead", 99.0)
        jobs.done(connection, ada.n, "patrol", "dead", 10.0)
        assert jobs.waiting(connection, ada.n) == [("patrol", 2, "")]


def test_a_claim_from_a_clock_that_went_back_keeps_nobody_waiting(database: Database) -> None:
    ada = being(database)
    with database.registry(write=True) as connection:
        jobs.want(connection, ada.n, "patrol", NOW)
        assert jobs.claim(connection, "w1", NOW, NOW + 60)
        yesterday = NOW - 86_400
        assert jobs.claim(connection, "w2", yesterday, yesterday + 60)
        assert jobs.claim(connection, "w3", yesterday, yesterday + 60) is None


def _claim_all(database: Database, owner: str) -> list[int]:
    mine: list[int] = []
    while True:
        with database.registry(write=True) as connection:
            claimed = jobs.claim(connection, owner, NOW, NOW + 60)
        if claimed is None:
            return mine
        mine.append(claimed[0])


def test_eight_threads_claim_each_job_once(database: Database) -> None:
    numbers = [being(database, f"B{at}").n for at in range(40)]
    with database.registry(write=True) as connection:
        for n in numbers:
            jobs.want(connection, n, "patrol", 1.0)
    start = threading.Barrier(8)

    def work(at: int) -> list[int]:
        start.wait(PATIENCE)
        return _claim_all(database, f"w{at}")

    with ThreadPoolExecutor(8) as threads:
        claimed = [n for mine in threads.map(work, range(8)) for n in mine]
    assert sorted(claimed) == numbers


def claim_in_a_process(address: str, owner: str) -> list[int]:
    database = open_store(address)
    try:
        return _claim_all(database, owner)
    finally:
        database.close()


def test_four_processes_claim_each_job_once(database: Database, address: str) -> None:
    numbers = [being(database, f"B{at}").n for at in range(40)]
    with database.registry(write=True) as connection:
        for n in numbers:
            jobs.want(connection, n, "patrol", 1.0)
    found = run_together(f"{__name__}:claim_in_a_process", [(address, f"p{at}") for at in range(4)])
    assert sorted(n for mine in found for n in mine) == numbers
