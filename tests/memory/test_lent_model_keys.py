"""A model key that a caller lends serves one patrol, and is then nowhere."""

from __future__ import annotations

import threading

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.model_keys import KEPT_SECONDS, LentKeys
from clawkit.memory.records import Scene
from clawkit.memory.store import jobs
from clawkit.memory.tokens import Caller
from tests.memory.http.being_store import Clock
from tests.processes import PATIENCE

KEY = "sk-lent-0123456789"


def test_a_lent_key_is_forgotten_after_some_minutes() -> None:
    clock = Clock(0.0)
    lent = LentKeys(clock)
    lent.lend(1, KEY)
    assert KEY not in repr(lent.find(1))
    clock.now = KEPT_SECONDS
    lent.forget_old()
    assert (len(lent), lent.find(1)) == (0, None)


def test_a_key_that_is_lent_while_another_serves_stays_for_the_next_patrol() -> None:
    lent = LentKeys()
    lent.lend(1, KEY)
    serving = lent.find(1)
    assert serving is not None
    lent.lend(1, KEY)
    lent.forget(1, serving)
    assert lent.find(1) is not None


def test_the_key_of_the_notes_serves_their_patrol_and_is_then_forgotten(
    store: BeingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[str] = []
    done = threading.Event()
    whole = Memory.patrol_due

    def watched(memory: Memory) -> None:
        whole(memory)
        done.set()

    monkeypatch.setattr(Memory, "_llm", lambda _, caller: used.append(caller.llm_key))
    monkeypatch.setattr(Memory, "patrol_due", watched)
    memory = store.open(store.create("Ada"))
    store.worker.start()
    scenes = [Scene(f"thing {n}", ("Ada",), ("2026-01-02",)) for n in range(10)]
    memory.take_notes(Caller(llm_key=KEY), scenes=scenes)
    assert done.wait(PATIENCE)
    assert (used, len(store.lent)) == ([KEY], 0)


def test_a_key_is_not_kept_where_no_worker_runs(store: BeingStore) -> None:
    memory = store.open(store.create("Ada"))
    scenes = [Scene(f"thing {n}", ("Ada",), ("2026-01-02",)) for n in range(10)]
    memory.take_notes(Caller(llm_key=KEY), scenes=scenes)
    assert len(store.lent) == 0


def test_a_patrol_with_a_lent_key_is_left_to_the_process_that_has_it(
    store: BeingStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memory, "patrol_due", lambda _: None)
    being = store.create("Ada")
    with store.database.registry(write=True) as connection:
        jobs.want(connection, being.n, "patrol", clock.now, "here", clock.now + 30)
        assert jobs.claim(connection, "elsewhere", clock.now, clock.now + 60) is None
        assert jobs.claim(connection, "here", clock.now, clock.now + 60) is not None
        assert jobs.claim(connection, "here", clock.now, clock.now + 60) is None
        jobs.done(connection, being.n, "patrol", "here", clock.now)
        jobs.want(connection, being.n, "patrol", clock.now, "here", clock.now + 30)
        assert jobs.claim(connection, "elsewhere", clock.now + 31, clock.now + 60) is not None
