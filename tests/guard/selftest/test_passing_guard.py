"""The attacks can fail: a guard that passes everything on holds against none of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clawkit.guard.selftest.bench import SelftestOptions
from clawkit.guard.selftest.runner import all_attacks, categories, run
from clawkit.guard.selftest.scratch import Scratch

pytestmark = pytest.mark.process

GUARDS = str(Path(__file__).with_name("guards.py"))


@pytest.mark.parametrize("row", categories().values(), ids=lambda row: row[:30])
def test_no_attack_is_held_by_a_guard_that_passes_everything(row: str, tmp_path: Path) -> None:
    attacks = [attack for attack in all_attacks() if attack.row == row]
    assert attacks
    options = SelftestOptions((sys.executable, GUARDS, "passes", "{server}"), patience=20)
    held = [o.attack for o in run(attacks, options, Scratch(tmp_path / "s")) if o.held]
    assert held == []


@pytest.mark.parametrize(
    ("kind", "result"),
    [("refuses", "unclear error"), ("silent", "hung"), ("dies", "crashed")],
)
def test_a_guard_that_serves_nothing_holds_nothing(kind: str, result: str, tmp_path: Path) -> None:
    attacks = [attack for attack in all_attacks() if attack.name == "path-dotdot"]
    patience = 1 if kind == "silent" else 20
    options = SelftestOptions((sys.executable, GUARDS, kind, "{server}"), patience)
    outcomes = list(run(attacks, options, Scratch(tmp_path / "s")))
    assert [outcome.result for outcome in outcomes] == [result]
    assert all(outcome.seen for outcome in outcomes)


def test_every_attack_says_what_must_be_true() -> None:
    for attack in all_attacks():
        assert attack.name
        assert attack.must
        assert attack.row in categories().values()
