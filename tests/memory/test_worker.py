"""The thread behind the Beings outlives whatever happens to it."""

from __future__ import annotations

import threading

import pytest

from clawkit.memory import worker as working
from clawkit.memory.keeper import Keeper
from clawkit.memory.memory import Memory
from clawkit.memory.store import jobs
from clawkit.memory.worker import PATROL
from tests.memory.http.being_store import Clock
from tests.processes import PATIENCE


def test_the_worker_outlives_a_fault_of_the_store(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, failed, done = jobs.claim, threading.Event(), threading.Event()

    def broken(*_: object) -> None:
        failed.set()
        raise ValueError("a fault")

    monkeypatch.setattr(working, "_LOOK_EVERY", 0.01)
    monkeypatch.setattr(jobs, "claim", broken)
    monkeypatch.setattr(Memory, "patrol_due", lambda _: done.set())
    keeper.worker.start()
    assert failed.wait(PATIENCE)
    monkeypatch.setattr(jobs, "claim", whole)
    keeper.want(keeper.create("Ada"), PATROL)
    assert done.wait(PATIENCE)


def test_a_job_that_always_fails_keeps_nobody_else_waiting(
    keeper: Keeper, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned, other = keeper.create("Ada"), keeper.create("Ben")
    done: list[str] = []

    def patrol(memory: Memory) -> None:
        if memory.being.n == poisoned.n:
            raise ValueError("nul \0 in it")
        done.append(memory.being.name)

    monkeypatch.setattr(Memory, "patrol_due", patrol)
    for _ in range(4):
        keeper.want(poisoned, PATROL)
        keeper.want(other, PATROL)
        keeper.worker.work_off()
        clock.now += 400
    assert done == ["Ben"] * 4
    (job,) = keeper.open(poisoned).figures()["jobs"]
    assert (job["kind"], job["tries"]) == (PATROL, 4)
    assert job["problem"].startswith("ValueError: nul")
