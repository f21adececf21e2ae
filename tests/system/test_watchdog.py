"""Who is guarded, while the processes that would say so come and go."""

from __future__ import annotations

import os

from clawkit.system.watchdog import parents_of

GUARD = 7


def test_a_parent_that_goes_while_it_is_looked_at_does_not_hide_the_guard_above() -> None:
    """It is read as the parent, then it is gone, and the guard has adopted its child."""
    looks: list[int] = []

    def parent_of(pid: int) -> int | None:
        looks.append(pid)
        now = {30: 20 if looks.count(30) == 1 else GUARD, 20: None, GUARD: 1, 1: 0}
        return now[pid]

    assert parents_of(30, parent_of) == [GUARD, 1]


def test_parents_that_are_gone_at_each_look_are_unknown() -> None:
    assert parents_of(30, {30: 20}.get) is None


def test_the_parents_of_this_process_are_known() -> None:
    found = parents_of(os.getpid())
    assert found is not None
    assert found[0] == os.getppid()
