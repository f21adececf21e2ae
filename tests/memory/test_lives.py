"""The lives that memory is measured by are what they say, and one of them is told again here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.lives.life import DATA, Life, is_told, read
from benchmarks.lives.quality import measured

UNSEEN = DATA.parent / "unseen"
FILES = sorted((*DATA.glob("*.json"), *UNSEEN.glob("*.json")))
LEAST = {"now": 14, "fact": 16, "language": 5, "time": 6, "steps": 4, "untold": 12}


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def life(request: pytest.FixtureRequest) -> Life:
    return read(request.param)


def test_a_life_has_about_300_inputs_in_order_and_60_questions_of_six_kinds(life: Life) -> None:
    assert 295 <= len(life.inputs) <= 305
    assert [one.at for one in life.inputs] == sorted(one.at for one in life.inputs)
    assert len(life.questions) == 60
    assert Counter(one.kind for one in life.questions) >= Counter(LEAST)
    assert len(life.important) == 5


def test_every_answer_was_told_and_what_is_outdated_too(life: Life) -> None:
    texts = [one.text for one in life.inputs]
    for question in life.questions:
        if question.kind == "untold":
            continue
        assert any(is_told(text, question.accept) for text in texts), question
        if question.kind == "now":
            assert any(is_told(text, question.outdated) for text in texts), question


@pytest.mark.slow
def test_a_team_of_four_is_told_better_than_by_keeping_all_and_telling_the_nearest() -> None:
    found = measured(read(Path(DATA / "practice.json")))
    assert found.told >= 0.75
    assert found.told > found.naive
    assert found.without_ids > found.naive
