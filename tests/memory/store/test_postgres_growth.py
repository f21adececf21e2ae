"""The index that a large Being has to itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

from clawkit.store.postgres import PostgresDatabase
from clawkit.store.postgres_vectors import grow
from tests.memory.postgres import Server
from tests.memory.store.records import being, vectors

STRANGE = 'it\'s a "model"; DROP TABLE vectors; -- %s ?'


@pytest.fixture
def address(postgres_server: Server) -> Iterator[str]:
    with postgres_server.database() as found:
        yield found


@pytest.fixture
def database(address: str) -> Iterator[PostgresDatabase]:
    found = PostgresDatabase(address)
    yield found
    found.close()


def _grow(address: str) -> list[str]:
    """Grow from 1,000 vectors on; gives the indexes that are there then."""
    with psycopg.connect(address, autocommit=True) as raw:
        grow(raw, many=1000)
        rows = raw.execute(
            "SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'vectors_near_%' ORDER BY 1"
        ).fetchall()
    return [text for (text,) in rows]


def _put(database: PostgresDatabase, n: int, model: str, count: int, size: int = 32) -> None:
    with database.write(n) as unit:
        unit.vectors.put(model, range(1, count + 1), vectors(count, n, size))


def test_only_a_large_being_gets_an_index_and_it_answers_alike(
    database: PostgresDatabase, address: str
) -> None:
    large, small = being(database, "Large").n, being(database, "Small").n
    _put(database, large, STRANGE, 3000)
    _put(database, small, STRANGE, 900)
    asked = vectors(20, 99)
    excluded = range(1, 3001, 2)

    def answers(n: int) -> list[list[int]]:
        with database.read(n) as unit:
            return [
                unit.vectors.nearest(STRANGE, vector, 10, exclude)[0]
                for vector in asked
                for exclude in ((), excluded)
            ]

    before = {n: answers(n) for n in (large, small)}
    (index,) = _grow(address)
    assert f"being = {large}" in index
    assert _grow(address) == [index]
    assert answers(small) == before[small]
    found = answers(large)
    same = [len({*old} & {*new}) for old, new in zip(before[large], found, strict=True)]
    assert np.mean(same) > 9.8
    assert all(len(one) == 10 for one in found)
    assert not any(seq % 2 for one in found[1::2] for seq in one)


def test_a_search_by_index_reads_no_other_vectors(database: PostgresDatabase, address: str) -> None:
    large = being(database).n
    _put(database, large, STRANGE, 3000)
    _grow(address)
    plans: list[str] = []
    with database.read(large) as unit:
        ask = unit.rows

        def explain(sql: str, *values: object) -> list[tuple[object, ...]]:
            if "ORDER BY data" in sql:
                plans.extend(row[0] for row in ask(f"EXPLAIN {sql}", *values))
            return ask(sql, *values)

        unit.rows = explain
        unit.vectors.nearest(STRANGE, vectors(1, 5)[0], 10)
    assert any("Index Scan using vectors_near_" in line for line in plans), plans


def test_what_is_excluded_never_starves_a_search_by_index(
    database: PostgresDatabase, address: str
) -> None:
    large = being(database).n
    _put(database, large, STRANGE, 3000)
    _grow(address)
    with database.read(large) as unit:
        asked = vectors(1, 5)[0]
        everyone, _ = unit.vectors.nearest(STRANGE, asked, 3000)
        assert sorted(everyone) == list(range(1, 3001))
        seqs, cosines = unit.vectors.nearest(STRANGE, asked, 10, everyone[:2985])
        assert seqs == everyone[2985:2995]
        assert cosines == sorted(cosines, reverse=True)
        assert unit.vectors.nearest(STRANGE, asked, 10, everyone) == ([], [])


def test_new_vectors_are_found_at_once_and_another_size_takes_the_place(
    database: PostgresDatabase, address: str
) -> None:
    large = being(database).n
    _put(database, large, STRANGE, 1500)
    _grow(address)
    with database.write(large) as unit:
        unit.vectors.put(STRANGE, [5000], vectors(1, 1234))
        assert unit.vectors.nearest(STRANGE, vectors(1, 1234)[0], 1)[0] == [5000]
        unit.vectors.drop(STRANGE)
        unit.vectors.put(STRANGE, range(1, 1501), vectors(1500, 3, 16))
        assert unit.vectors.nearest(STRANGE, vectors(1500, 3, 16)[41], 1)[0] == [42]
    (index,) = _grow(address)
    assert "halfvec(16)" in index
    with database.write(large) as unit:
        assert unit.vectors.nearest(STRANGE, vectors(1500, 3, 16)[41], 1)[0] == [42]
        unit.vectors.drop(STRANGE)
    assert _grow(address) == []


def test_only_one_process_builds_at_a_time(database: PostgresDatabase, address: str) -> None:
    large = being(database).n
    _put(database, large, STRANGE, 1500)
    with psycopg.connect(address, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (int.from_bytes(b"Grow", "big"),))
        assert _grow(address) == []
    assert len(_grow(address)) == 1


def test_an_index_that_was_not_built_to_the_end_is_built_anew(
    database: PostgresDatabase, address: str
) -> None:
    large = being(database).n
    _put(database, large, STRANGE, 1500)
    before = _grow(address)
    with psycopg.connect(address, autocommit=True) as raw:
        raw.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid IN "
            "(SELECT oid FROM pg_class WHERE relname LIKE 'vectors_near_%')"
        )
    assert _grow(address) == before
    with psycopg.connect(address) as raw:
        assert raw.execute("SELECT count(*) FROM pg_index WHERE NOT indisvalid").fetchone() == (0,)
