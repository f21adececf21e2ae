from __future__ import annotations

import pytest

from clawkit.memory.recall.index_text import ParticipantNames, is_same


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Caroline met Mel.", "I met Mel."),
        ("caroline's dog", "my dog"),
        ("Carolines", "Carolines"),
        ("健太さんの犬", "私の犬"),
        ("Did Anna Lee call? Anna did.", "Did I call? I did."),
        ("Will will go", "I will go"),
        ("nobody here", "nobody here"),
    ],
)
def test_names_are_masked_where_they_are_names(text: str, masked: str):
    assert ParticipantNames(["Caroline", "健太", "Anna Lee", "Will"]).masked(text) == masked


def test_a_first_name_stands_for_the_whole_name():
    assert ParticipantNames(["Anna Lee"]).named("When did Anna arrive?") == {"anna lee"}


def test_nobody_known_means_nothing_masked():
    assert ParticipantNames([]).masked("Caroline") == "Caroline"
    assert ParticipantNames([]).named("Caroline") == frozenset()


def test_what_everybody_is_called_is_no_name():
    assert (
        ParticipantNames(["user", "assistant", "I"]).named("What did the user say? I forgot.")
        == frozenset()
    )


def test_a_name_with_signs_is_taken_literally():
    assert ParticipantNames(["A.*+(B"]).masked("xx A.*+(B yy") == "xx I yy"


def test_two_people_with_the_same_first_name_are_both_meant_by_it():
    assert is_same({"anna"}, "Anna Lee")
    assert not is_same({"bob"}, "Anna Lee")
