"""How fast somebody may go."""

from __future__ import annotations

from clawkit.system.rate_limiter import TokenBucket, TokenBuckets
from tests.memory.http.being_store import Clock


def test_a_burst_is_free_and_then_there_is_a_pace() -> None:
    clock = Clock()
    pace = TokenBucket(2.0, 3, clock)
    assert [pace.take() for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now += 0.5
    assert [pace.take(), pace.take()] == [0, 0.5]
    clock.now += 100
    assert [pace.take() for _ in range(4)] == [0, 0, 0, 0.5]


def test_each_key_has_its_own_pace() -> None:
    paces = TokenBuckets(1.0, 1, Clock())
    assert [paces.take("a"), paces.take("b"), paces.take("a")] == [0, 0, 1.0]
    assert (paces.wait("a"), paces.wait("c")) == (1.0, 0)


def test_a_rate_of_nothing_sets_no_limit() -> None:
    paces = TokenBuckets(0.0, 1, Clock())
    assert not any(paces.take("a") for _ in range(1000))


def test_a_flood_of_keys_does_not_fill_memory() -> None:
    clock = Clock()
    paces = TokenBuckets(1.0, 2, clock)
    for key in range(2 * TokenBuckets.MOST):
        paces.take(key)
    assert paces.take(2 * TokenBuckets.MOST - 1) == 0
    assert paces.take(2 * TokenBuckets.MOST - 1) > 0
    assert len(paces) <= TokenBuckets.MOST
