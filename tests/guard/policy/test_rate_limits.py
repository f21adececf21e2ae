from __future__ import annotations

import threading

from clawkit.guard.judge import RateLimiter
from tests.guard.policy.decisions import policy

TWICE = policy('action = "allow"\ntool = "a"\nrate = "2/minute"').rules[0]
FREE = policy('action = "allow"\ntool = "a"').rules[0]


def test_no_more_calls_than_the_rate_pass_in_any_window() -> None:
    rates = RateLimiter()
    assert [rates.allow(TWICE, now) for now in (0, 30, 59)] == [True, True, False]
    assert [rates.allow(TWICE, now) for now in (60, 89, 90)] == [True, False, True]


def test_refused_calls_do_not_count() -> None:
    rates = RateLimiter()
    assert [rates.allow(TWICE, now) for now in (0, 0, 1, 2, 3)] == [True, True, False, False, False]
    assert rates.allow(TWICE, 60)


def test_a_rule_without_a_rate_always_passes() -> None:
    rates = RateLimiter()
    assert all(rates.allow(FREE, 0) for _ in range(1000))


def test_each_rule_has_its_own_window() -> None:
    rates = RateLimiter()
    other = policy(*['action = "allow"\ntool = "a"\nrate = "2/minute"'] * 2).rules[1]
    assert [rates.allow(TWICE, 0) for _ in range(3)] == [True, True, False]
    assert rates.allow(other, 0)


def test_a_rule_that_is_read_again_keeps_its_count() -> None:
    rates = RateLimiter()
    again = policy('action = "allow"\ntool = "a"\nrate = "2/minute"').rules[0]
    assert [rates.allow(rule, 0) for rule in (TWICE, TWICE, again)] == [True, True, False]


def test_a_clock_that_is_set_back_does_not_keep_the_window_full() -> None:
    rates = RateLimiter()
    assert [rates.allow(TWICE, 1_000_000) for _ in range(2)] == [True, True]
    assert rates.allow(TWICE, 5)


def test_threads_together_get_no_more_than_the_rate() -> None:
    rates, passed = RateLimiter(), []
    many = policy('action = "allow"\ntool = "a"\nrate = "100/day"').rules[0]

    def call() -> None:
        passed.extend(1 for _ in range(100) if rates.allow(many, 0))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(passed) == 100
