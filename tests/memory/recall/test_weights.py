"""The numbers that ship fit the code that uses them, and the data that they were made from."""

from __future__ import annotations

from benchmarks.recall import japanese, synthetic
from clawkit.memory.recall.search import DIALOGUE, NOTES, WORDS_ONLY
from clawkit.memory.recall.signals import SIGNALS


def test_every_weight_is_that_of_a_signal_and_every_signal_has_one():
    for profile in (DIALOGUE, NOTES, WORDS_ONLY):
        assert profile.weights.keys() <= set(SIGNALS)
    assert DIALOGUE.weights.keys() | NOTES.weights.keys() == set(SIGNALS)


def test_the_gate_can_be_passed_and_can_be_closed():
    assert 0 < DIALOGUE.threshold < 1
    assert "bias" in DIALOGUE.gate


def test_what_words_mean_can_only_open_the_gate_further():
    assert NOTES.gate["answered"] > 0 > NOTES.gate["missing"]


def test_the_same_seed_makes_the_same_conversations():
    assert synthetic.pools("en", 2, 1) == synthetic.pools("en", 2, 1)
    assert synthetic.pools("en", 2, 1) != synthetic.pools("en", 2, 2)


def test_every_answer_of_the_made_conversations_is_there():
    for language in synthetic.NAMES:
        for pool in synthetic.pools(language, 2, 1):
            assert pool.questions
            for question in pool.questions:
                assert all(1 <= number <= len(pool.memories) for number in question.evidence)
                assert "{" not in question.text
            assert not any("{" in memory.text for memory in pool.memories)


def test_the_japanese_set_is_as_large_as_it_says():
    pool = japanese.pool()
    assert len(pool.memories) >= 300
    assert len(pool.questions) >= 120
