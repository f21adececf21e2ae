"""Several real processes on one store, and one that is killed while it writes."""

from __future__ import annotations

import itertools
import signal
import sys

from clawkit.memory.store import nodes
from clawkit.store import open_store
from clawkit.store.database import Database, Unit
from tests.memory.store.records import MODEL, being, place, remember, vectors
from tests.memory.store.together import run_together, running
from tests.processes import PATIENCE


def write_many(address: str, n: int, word: str, count: int) -> list[int]:
    """Nodes, ten at a time; gives their numbers."""
    database = open_store(address)
    seqs: list[int] = []
    try:
        for start in range(0, count, 10):
            with database.write(n) as unit:
                made = remember(unit, [f"common {word} {start + at}" for at in range(10)])
                place(unit, made, vectors(10, start))
            seqs += [one.seq for one in made]
    finally:
        database.close()
    return seqs


def write_for_ever(address: str, n: int) -> None:
    """Nodes, and a line for each ten that are kept."""
    database = open_store(address)
    for start in itertools.count(0, 10):
        with database.write(n) as unit:
            made = remember(unit, [f"common {start + at}" for at in range(10)])
            place(unit, made, vectors(10, start))
        sys.stdout.write(f"{made[-1].seq}\n")
        sys.stdout.flush()


def _assert_whole(unit: Unit) -> int:
    """Nodes, words and vectors are all of the same moment; gives how many nodes there are."""
    top = nodes.top(unit)
    everyone = list(range(1, top + 1))
    assert sorted(nodes.fetch(unit, range(1, top + 100))) == everyone
    assert nodes.having_all(unit, ["common"]).tolist() == everyone
    assert unit.vectors.counts() == {MODEL: top}
    assert unit.vectors.missing(MODEL, 10) == []
    return top


def test_two_processes_write_dense_numbers_that_nobody_shares(
    database: Database, address: str
) -> None:
    ada = being(database)
    first, second = run_together(
        f"{__name__}:write_many",
        [(address, ada.n, "first", 500), (address, ada.n, "second", 500)],
    )
    assert sorted([*first, *second]) == list(range(1, 1001))
    with database.read(ada.n) as unit:
        assert _assert_whole(unit) == 1000
        assert nodes.having_all(unit, ["second"]).tolist() == sorted(second)


def test_a_process_that_is_killed_while_it_writes_leaves_a_whole_store(
    database: Database, address: str
) -> None:
    ada = being(database)
    kept = 0
    for attempt in range(3):
        with running(f"{__name__}:write_for_ever", (address, ada.n)) as process:
            assert process.stdout is not None
            for _ in range(5 + attempt):
                kept = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)
            for line in process.stdout:
                kept = int(line) if line.endswith("\n") else kept
        with database.write(ada.n) as unit:
            top = _assert_whole(unit)
            assert top >= kept
            place(unit, remember(unit, ["common after"]), vectors(1, 1))
