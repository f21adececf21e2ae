"""Every attack of the selftest, through the real proxy to a real server: all are held."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clawkit.guard.selftest.bench import SelftestOptions
from clawkit.guard.selftest.runner import Attack, all_attacks, categories, run
from clawkit.guard.selftest.scratch import OURS, Scratch
from tests.processes import PATIENCE

pytestmark = pytest.mark.process

WAITING = [attack for attack in all_attacks() if attack.name.startswith("server-hangs")]
"""A server that does not want to end is given time: these mostly wait, so they wait together."""


def failures(attacks: list[Attack], folder: Path) -> list[str]:
    outcomes = run(attacks, SelftestOptions(OURS, PATIENCE), Scratch(folder))
    return [f"{o.attack}: {o.result}: {o.seen}" for o in outcomes if not o.held]


@pytest.mark.parametrize("row", categories().values(), ids=lambda row: row[:30])
def test_the_guard_withstands(row: str, tmp_path: Path) -> None:
    attacks = [each for each in all_attacks() if each.row == row and each not in WAITING]
    assert attacks
    assert failures(attacks, tmp_path / "scratch") == []


def test_a_server_that_hangs_does_not_outlive_the_guard(tmp_path: Path) -> None:
    assert WAITING
    with ThreadPoolExecutor(len(WAITING)) as pool:
        found = pool.map(lambda each: failures([each], tmp_path / each.name), WAITING)
    assert [failure for each in found for failure in each] == []
