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
    buckets = TokenBuckets(1.0, 1, Clock())
    assert [buckets.take("a"), buckets.take("b"), buckets.take("a")] == [0, 0, 1.0]
    assert (buckets.wait("a"), buckets.wait("c")) == (1.0, 0)


def test_a_rate_of_nothing_sets_no_limit() -> None:
    buckets = TokenBuckets(0.0, 1, Clock())
    assert not any(buckets.take("a") for _ in range(1000))


def test_a_flood_of_keys_does_not_fill_memory() -> None:
    clock = Clock()
    buckets = TokenBuckets(1.0, 2, clock)
    for key in range(2 * TokenBuckets.MAX_KEYS):
        buckets.take(key)
    assert buckets.take(2 * TokenBuckets.MAX_KEYS - 1) == 0
    assert buckets.take(2 * TokenBuckets.MAX_KEYS - 1) > 0
    assert len(buckets) <= TokenBuckets.MAX_KEYS
