"""The threads behind the Beings outlive whatever happens to them, and keep nobody waiting."""

from __future__ import annotations

import threading

import pytest

from clawkit.memory import job_worker as working
from clawkit.memory.being_store import BeingStore
from clawkit.memory.job_worker import EMBED, PATROL, JobWorker
from clawkit.memory.memory import Memory
from clawkit.memory.store import jobs
from tests.memory.http.being_store import Clock
from tests.processes import PATIENCE


def test_the_worker_outlives_a_fault_of_the_store(
    keeper: BeingStore, monkeypatch: pytest.MonkeyPatch
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
    keeper: BeingStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
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


def test_a_slow_patrol_of_one_being_delays_no_other(
    keeper: BeingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = keeper.create("Ada"), keeper.create("Ben")
    at_it, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def patrol(memory: Memory) -> None:
        if memory.being.n == slow.n:
            at_it.set()
            assert go_on.wait(PATIENCE)
        else:
            done.set()

    monkeypatch.setattr(Memory, "patrol_due", patrol)
    keeper.worker.start()
    keeper.want(slow, PATROL)
    assert at_it.wait(PATIENCE)
    keeper.want(quick, PATROL)
    assert done.wait(PATIENCE)
    go_on.set()
    keeper.worker.stop()
    assert keeper.open(slow).figures()["jobs"] == []


def test_a_being_has_one_job_at_a_time_and_a_process_a_bounded_number(
    keeper: BeingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    beings = [keeper.create(f"being {n}") for n in range(6)]
    guard = threading.Condition()
    working: list[int] = []
    most: list[int] = []
    ended: list[int] = []

    def job(memory: Memory) -> None:
        n = memory.being.n
        with guard:
            assert n not in working
            working.append(n)
            most.append(len(working))
            guard.notify_all()
            # Each waits for another beside it, as long as there may be one.
            assert guard.wait_for(lambda: max(most) == 3, PATIENCE)
            working.remove(n)
            ended.append(n)
            guard.notify_all()

    monkeypatch.setattr(Memory, "patrol_due", job)
    monkeypatch.setattr(Memory, "embed_due", job)
    for being in beings:
        keeper.want(being, PATROL)
        keeper.want(being, EMBED)
    worker = JobWorker(keeper, at_once=3)
    worker.start()
    with guard:
        assert guard.wait_for(lambda: len(ended) == 12, PATIENCE)
    worker.stop()
    assert max(most) == 3


def test_a_job_that_outlasts_the_end_of_its_process_is_given_back(
    keeper: BeingStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    being = keeper.create("Ada")
    at_it, go_on = threading.Event(), threading.Event()

    def slow(_: Memory) -> None:
        at_it.set()
        assert go_on.wait(PATIENCE)

    monkeypatch.setattr(Memory, "patrol_due", slow)
    keeper.want(being, PATROL)
    keeper.worker.start()
    assert at_it.wait(PATIENCE)
    keeper.worker.stop(patience=0.01)
    with keeper.database.registry(write=True) as connection:
        claimed = jobs.claim(connection, "another", clock.now, clock.now + 60)
    assert claimed is not None
    go_on.set()


def test_how_long_a_job_waits_is_not_forgotten_when_it_is_wanted_again(
    keeper: BeingStore, clock: Clock
) -> None:
    being = keeper.create("Ada")
    keeper.want(being, PATROL)
    clock.now += 100
    keeper.want(being, PATROL)
    clock.now += 20
    with keeper.database.registry() as connection:
        (waiting,) = jobs.by_kind(connection, clock.now)
    assert (waiting.jobs, waiting.failed, waiting.longest_wait) == (1, 0, 120)


def test_how_jobs_ended_is_kept(keeper: BeingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    being = keeper.create("Ada")
    for job in (PATROL, EMBED):
        keeper.want(being, job)
    keeper.worker.work_off()

    def fails(*_: object, **__: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr("clawkit.memory.patrol.run.remember_waiting", fails)
    keeper.want(being, PATROL)
    keeper.worker.work_off()
    with keeper.database.registry() as connection:
        found = {(run.kind, run.outcome): run.times for run in jobs.runs(connection)}
    assert found == {("patrol", "ok"): 1, ("embed", "ok"): 1, ("patrol", "failed"): 1}
