from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from clawkit.memory.store import nodes
from clawkit.store.database import Database
from tests.memory.store.records import being, remember

ACTIONS = ["red boat", "red red house", "blue boat on blue water", "nothing else"]


def _bm25(actions: list[str], words: dict[str, float]) -> list[float]:
    """The formula, node by node."""
    counts = [Counter(action.split()) for action in actions]
    usual = sum(map(Counter.total, counts)) / len(counts)
    scores = [0.0]
    for mine in counts:
        score = 0.0
        for word, weight in words.items():
            having = sum(word in other for other in counts)
            if having:
                rarity = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
                damping = 1.2 * (0.25 + 0.75 * mine.total() / usual)
                score += weight * rarity * mine[word] * 2.2 / (mine[word] + damping)
        scores.append(score)
    return scores


def test_scores_are_bm25_of_this_being(database: Database) -> None:
    ada = being(database)
    words = {"red": 1.0, "boat": 0.5, "blue": 2.0, "unknown": 1.0}
    with database.write(ada.n) as unit:
        remember(unit, ACTIONS[:2])
        remember(unit, ACTIONS[2:])
    with database.read(ada.n) as unit:
        assert nodes.by_words(unit, words).scores == pytest.approx(_bm25(ACTIONS, words), rel=1e-5)
        assert nodes.by_words(unit, {}).scores.tolist() == [0.0] * 5


def test_those_that_have_a_term_can_be_left_out_as_if_they_were_not_there(
    database: Database,
) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        remember(unit, ACTIONS)
        every = nodes.by_words(unit, {"boat": 1.0})
        found = nodes.by_words(unit, {"boat": 1.0}, "red")
    assert found.absent == [1, 2]
    assert [seqs.tolist() for seqs in found.having.values()] == [[3]]
    rarer = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5)) / math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    assert found.scores == pytest.approx([0, 0, 0, every.scores[3] * rarer, 0])


def test_all_words_means_every_one_of_them(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        remember(unit, ACTIONS)
        assert nodes.having_all(unit, ["boat"]).tolist() == [1, 3]
        assert nodes.having_all(unit, ["boat", "red"]).tolist() == [1]
        assert nodes.having_all(unit, ["boat", "unknown"]).tolist() == []
        assert nodes.having_all(unit, []).tolist() == []
        assert nodes.word_frequencies(unit, ["boat", "red", "unknown"]) == {"boat": 2, "red": 2}


def test_blocks_that_are_full_go_on_in_the_next(database: Database) -> None:
    ada = being(database)
    with database.write(ada.n) as unit:
        for start in range(0, 1600, 400):
            remember(unit, [f"common only{start + at}" for at in range(400)])
    with database.read(ada.n) as unit:
        assert nodes.having_all(unit, ["common"]).tolist() == list(range(1, 1601))
        assert nodes.word_frequencies(unit, ["common", "only1599"]) == {
            "common": 1600,
            "only1599": 1,
        }
        assert np.argmax(nodes.by_words(unit, {"common": 1.0, "only777": 1.0}).scores) == 778


def test_a_store_without_nodes_has_no_scores(database: Database) -> None:
    ada = being(database)
    with database.read(ada.n) as unit:
        assert nodes.top(unit) == 0
        assert nodes.by_words(unit, {"word": 1.0}).scores.tolist() == [0.0]
