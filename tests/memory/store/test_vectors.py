from __future__ import annotations

import numpy as np
import pytest

from clawkit.errors import StoreError
from clawkit.store.database import Database
from clawkit.store.sqlite_vectors import widened
from tests.memory.store.records import MODEL, SIZE, being, place, remember, vectors


def test_the_nearest_of_few_are_exactly_the_nearest(database: Database) -> None:
    ada = being(database)
    where, asked = vectors(150, 1), vectors(5, 2)
    with database.write(ada.n) as unit:
        unit.vectors.put(MODEL, range(1, 151), where)
    with database.read(ada.n) as unit:
        for vector in asked:
            true = where.astype(np.float16).astype(np.float32) @ vector
            seqs, cosines = unit.vectors.nearest(MODEL, vector, 10)
            assert seqs == (np.argsort(-true)[:10] + 1).tolist()
            assert cosines == pytest.approx(sorted(true, reverse=True)[:10], abs=2e-3)


def test_the_nearest_of_many_is_found(database: Database) -> None:
    ada = being(database)
    where, noise = vectors(5000, 1, 256), vectors(5000, 2, 256)
    with database.write(ada.n) as unit:
        unit.vectors.put(MODEL, range(1, 5001), where)
    with database.read(ada.n) as unit:
        for at in range(0, 5000, 100):
            asked = where[at] + 0.8 * noise[at]
            seqs, _ = unit.vectors.nearest(MODEL, asked / np.linalg.norm(asked), 5)
            assert seqs[0] == at + 1


def test_what_is_excluded_leaves_its_place_to_others(database: Database) -> None:
    ada = being(database)
    where = vectors(2500, 3)
    with database.write(ada.n) as unit:
        unit.vectors.put(MODEL, range(1, 2501), where)
        order, _ = unit.vectors.nearest(MODEL, where[7], 40)
        assert order[0] == 8
        kept, _ = unit.vectors.nearest(MODEL, where[7], 20, exclude={*order[:20], 99_999})
        assert kept == order[20:]
        assert unit.vectors.nearest(MODEL, where[7], 5, exclude=range(1, 2501)) == ([], [])
        assert unit.vectors.nearest(MODEL, where[7], 5, exclude=range(1, 2500))[0] == [2500]


def test_cosines_and_vectors_of_some_nodes(database: Database) -> None:
    ada = being(database)
    where = vectors(4, 4)
    with database.write(ada.n) as unit:
        unit.vectors.put(MODEL, [1, 2, 3, 4], where)
        found = unit.vectors.cosines(MODEL, where[0], [1, 3, 9])
        assert found == pytest.approx({1: 1.0, 3: float(where[2] @ where[0])}, abs=2e-3)
        fetched = unit.vectors.fetch(MODEL, [2, 9])
        assert list(fetched) == [2]
        assert fetched[2] == pytest.approx(where[1], abs=1e-3)
        assert unit.vectors.cosines(MODEL, where[0], []) == {}


def test_models_are_never_mixed(database: Database) -> None:
    ada = being(database)
    strange = "openai:http://x/v1?a=b%20'c'#$being"
    with database.write(ada.n) as unit:
        made = remember(unit, ["a", "b", "c"])
        place(unit, made, vectors(3, 5))
        place(unit, made[:1], vectors(1, 6, 8), strange)
        assert unit.vectors.counts() == {MODEL: 3, strange: 1}
        assert unit.vectors.nearest(strange, vectors(1, 6, 8)[0], 9)[0] == [1]
        assert list(unit.vectors.fetch(strange, [1, 2, 3])) == [1]
        assert unit.vectors.missing(strange, 10) == [3, 2]
        assert unit.vectors.missing(MODEL, 10) == []
        assert unit.vectors.missing("new", 2) == [3, 2]
        unit.vectors.drop(MODEL)
        assert unit.vectors.counts() == {strange: 1}
        assert unit.vectors.nearest(MODEL, vectors(1, 5)[0], 3) == ([], [])
        place(unit, made, vectors(3, 5, 16))
        assert unit.vectors.counts() == {MODEL: 3, strange: 1}


def test_a_vector_is_replaced_and_counted_once(database: Database) -> None:
    ada = being(database)
    first, second = vectors(3, 7), vectors(3, 8)
    with database.write(ada.n) as unit:
        unit.vectors.put(MODEL, [1, 2, 3], first)
        unit.vectors.put(MODEL, [3, 4, 5], second)
        unit.vectors.put(MODEL, [], second[:0])
        assert unit.vectors.counts() == {MODEL: 5}
        seqs, cosines = unit.vectors.nearest(MODEL, second[0], 1)
        assert seqs == [3]
        assert cosines == pytest.approx([1.0], abs=2e-3)


def test_vectors_that_point_nowhere_or_down_are_there_too(database: Database) -> None:
    ada = being(database)
    odd = np.zeros((2, SIZE), dtype=np.float32)
    odd[1] = -1 / np.sqrt(SIZE)
    with database.write(ada.n) as unit:
        made = remember(unit, ["a", "b"])
        place(unit, made, odd)
        assert unit.vectors.counts() == {MODEL: 2}
        assert unit.vectors.missing(MODEL, 9) == []
        assert unit.vectors.nearest(MODEL, odd[1], 2)[0] == [2, 1]


@pytest.mark.parametrize("size", [SIZE - 1, SIZE * 2])
def test_another_dimension_is_an_error_that_says_so(database: Database, size: int) -> None:
    ada = being(database)
    other = vectors(1, 9, size)
    with database.write(ada.n) as unit:
        unit.vectors.put(MODEL, [1], vectors(1, 9))
    words = f"'{MODEL}' have {SIZE} dimensions here, not {size}: name the embedding model"
    with database.write(ada.n) as unit:
        with pytest.raises(StoreError, match=words):
            unit.vectors.put(MODEL, [5000], other)
        with pytest.raises(StoreError, match=words):
            unit.vectors.nearest(MODEL, other[0], 1)
        with pytest.raises(StoreError, match=words):
            unit.vectors.cosines(MODEL, other[0], [1])
        assert unit.vectors.counts() == {MODEL: 1}


def test_half_precision_numbers_are_widened_exactly() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view("<f2")
    finite = every[np.isfinite(every)]
    assert widened(finite.view("<i2")).tobytes() == finite.astype(np.float32).tobytes()
