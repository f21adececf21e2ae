"""A word that few memories have brings them, however near others are in meaning."""

from __future__ import annotations

import pytest

from clawkit.memory import open_being

pytestmark = pytest.mark.usefixtures("home")

WORDS = [
    "bisoprolol",
    "apixaban",
    "ramipril",
    "metformin",
    "zopiclone",
    "kubernetes",
    "nomad",
    "wireguard",
    "postgres",
    "Aberdovey",
    "Ludlow",
    "greenhouse",
    "umbrella",
]
MUM = (
    "Mum is on the sofa, she is better today.",
    "Mum was on the phone for an hour.",
    "Mum is on holiday in Wales next week.",
    "What is Mum on about?",
    "Mum went on the bus to town.",
    "Mum's dose of fresh air was a walk on the beach.",
    "Mum takes her dose of warfarin in the evening.",
    "Mum has a new doctor, she likes her.",
)


@pytest.mark.parametrize("asked", ["{}", "{}?", "What about {}?"])
def test_a_bare_word_brings_the_memory_that_has_it(asked: str) -> None:
    with open_being("ada") as being:
        for number, word in enumerate(WORDS):
            told = f"Note number {number}: {word} is on the list for Frank."
            being.hear(told, person="J", conversation=str(number))
        silent = [word for word in WORDS if word not in being.recall(asked.format(word))]
    assert silent == []


def test_a_rare_word_in_a_question_is_among_what_is_told() -> None:
    with open_being("ada") as being:
        for number, told in enumerate(MUM * 3):
            being.hear(f"{told} ({number})", person="J", conversation=str(number))
        being.hear("The box says bisoprolol 1.25, not 2.5.", person="J", conversation="box")
        assert "1.25" in being.recall("What dose of bisoprolol is Mum on?", person="J")
        found = [words for _, words in being.search("What dose of bisoprolol is Mum on?", 3)]
        assert any("bisoprolol" in words for words in found)


def test_thanks_and_greetings_bring_nothing_to_mind_also_where_they_were_told() -> None:
    with open_being("ada") as being:
        being.hear("I said thanks to the nurse, hello and goodbye.", person="J")
        assert [
            word for word in ("Thanks!", "Hello", "thank you", "Danke") if being.recall(word)
        ] == []
