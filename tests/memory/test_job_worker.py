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
    store: BeingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, failed, done = jobs.claim, threading.Event(), threading.Event()

    def broken(*_: object) -> None:
        failed.set()
        raise ValueError("a fault")

    monkeypatch.setattr(working, "_LOOK_EVERY", 0.01)
    monkeypatch.setattr(jobs, "claim", broken)
    monkeypatch.setattr(Memory, "patrol_due", lambda _: done.set())
    store.worker.start()
    assert failed.wait(PATIENCE)
    monkeypatch.setattr(jobs, "claim", whole)
    store.want(store.create("Ada"), PATROL)
    assert done.wait(PATIENCE)


def test_a_job_that_always_fails_keeps_nobody_else_waiting(
    store: BeingStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned, other = store.create("Ada"), store.create("Ben")
    done: list[str] = []

    def patrol(memory: Memory) -> None:
        if memory.being.n == poisoned.n:
            raise ValueError("nul \0 in it")
        done.append(memory.being.name)

    monkeypatch.setattr(Memory, "patrol_due", patrol)
    for _ in range(4):
        store.want(poisoned, PATROL)
        store.want(other, PATROL)
        store.worker.work_off()
        clock.now += 400
    assert done == ["Ben"] * 4
    (job,) = store.open(poisoned).figures()["jobs"]
    assert (job["kind"], job["tries"]) == (PATROL, 4)
    assert job["problem"].startswith("ValueError: nul")


def test_a_slow_patrol_of_one_being_delays_no_other(
    store: BeingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = store.create("Ada"), store.create("Ben")
    at_it, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def patrol(memory: Memory) -> None:
        if memory.being.n == slow.n:
            at_it.set()
            assert go_on.wait(PATIENCE)
        else:
            done.set()

    monkeypatch.setattr(Memory, "patrol_due", patrol)
    store.worker.start()
    store.want(slow, PATROL)
    assert at_it.wait(PATIENCE)
    store.want(quick, PATROL)
    assert done.wait(PATIENCE)
    go_on.set()
    store.worker.stop()
    assert store.open(slow).figures()["jobs"] == []


def test_slow_patrols_of_many_beings_delay_no_other(
    store: BeingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = [store.create(f"slow {n}") for n in range(2)], store.create("quick")
    go_on, done = threading.Event(), threading.Event()

    def patrol(memory: Memory) -> None:
        if memory.being.n == quick.n:
            done.set()
        else:
            assert go_on.wait(PATIENCE)

    monkeypatch.setattr(Memory, "patrol_due", patrol)
    monkeypatch.setattr(working, "SLOW", 0.01)
    monkeypatch.setattr(working, "_LOOK_EVERY", 0.01)
    for being in (*slow, quick):
        store.want(being, PATROL)
    worker = JobWorker(store, at_once=2)
    worker.start()
    assert done.wait(PATIENCE)
    go_on.set()
    worker.stop()


def test_a_being_has_one_job_at_a_time_and_a_process_a_bounded_number(
    store: BeingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    beings = [store.create(f"being {n}") for n in range(6)]
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
        store.want(being, PATROL)
        store.want(being, EMBED)
    worker = JobWorker(store, at_once=3)
    worker.start()
    with guard:
        assert guard.wait_for(lambda: len(ended) == 12, PATIENCE)
    worker.stop()
    assert max(most) == 3


def test_a_job_that_outlasts_the_end_of_its_process_is_given_back(
    store: BeingStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    being = store.create("Ada")
    at_it, go_on = threading.Event(), threading.Event()

    def slow(_: Memory) -> None:
        at_it.set()
        assert go_on.wait(PATIENCE)

    monkeypatch.setattr(Memory, "patrol_due", slow)
    store.want(being, PATROL)
    store.worker.start()
    assert at_it.wait(PATIENCE)
    store.worker.stop(patience=0.01)
    with store.database.registry(write=True) as connection:
        claimed = jobs.claim(connection, "another", clock.now, clock.now + 60)
    assert claimed is not None
    go_on.set()


def test_how_long_a_job_waits_is_not_forgotten_when_it_is_wanted_again(
    store: BeingStore, clock: Clock
) -> None:
    being = store.create("Ada")
    store.want(being, PATROL)
    clock.now += 100
    store.want(being, PATROL)
    clock.now += 20
    with store.database.registry() as connection:
        (waiting,) = jobs.by_kind(connection, clock.now)
    assert (waiting.jobs, waiting.failed, waiting.longest_wait) == (1, 0, 120)


def test_how_jobs_ended_is_kept(store: BeingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    being = store.create("Ada")
    for job in (PATROL, EMBED):
        store.want(being, job)
    store.worker.work_off()

    def fails(*_: object, **__: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr("clawkit.memory.patrol.run.remember_waiting", fails)
    store.want(being, PATROL)
    store.worker.work_off()
    with store.database.registry() as connection:
        found = {(run.kind, run.outcome): run.times for run in jobs.runs(connection)}
    assert found == {("patrol", "ok"): 1, ("embed", "ok"): 1, ("patrol", "failed"): 1}
