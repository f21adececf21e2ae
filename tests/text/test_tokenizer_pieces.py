"""Messages in pieces: nothing is left out, and what belongs together stays together."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.text.tokenizer import LONGEST, pieces, sentences


@pytest.mark.parametrize(
    "one",
    [
        "Am 11. November um 8.30 Uhr kommt Hr. Müller.",
        "He met Dr. Shah at 3 p.m. on the 4th.",
        "Das ist z. B. so.",
        "calle Mayor núm. 3 es mi casa",
        "It costs 2.50 now.",
        "J. R. Hartley wrote it.",
    ],
)
def test_an_abbreviation_or_a_number_ends_no_sentence(one: str) -> None:
    assert sentences(one) == [one]


def test_sentences_end_where_people_end_them() -> None:
    text = "First one! Second? third… Fourth.\n- fifth\n* sixth"
    found = sentences(text)
    assert found == ["First one!", "Second?", "third…", "Fourth.", "fifth", "sixth"]
    assert sentences("昨日は雨。「行く」と言った。") == ["昨日は雨。", "「行く」と言った。"]


def test_a_short_message_is_one_piece() -> None:
    assert pieces("Dr Shah rang. It goes up to 100.") == ["Dr Shah rang. It goes up to 100."]


def test_who_is_meant_stays_with_the_pronoun() -> None:
    long = f"Gemma has a new job at the aquarium, {'and so on, ' * 19}she says."
    found = pieces(f"{long} She feeds the rays. {'Nothing else happened today. ' * 9}")
    assert found[0].endswith("she says. She feeds the rays.")


@given(st.text(alphabet="aB1 .!?。\n-*é日", max_size=3000))
def test_no_letter_is_lost_and_no_piece_is_too_long(text: str) -> None:
    found = pieces(text)
    kept = re.sub(r"[\s*•#・-]", "", " ".join(found))
    assert kept == re.sub(r"[\s*•#・-]", "", text)
    assert all(0 < len(piece) <= 2 * LONGEST for piece in found)
