"""Who is meant by a name, and where it stands in a text."""

from __future__ import annotations

import pytest

from clawkit.errors import BeingError
from clawkit.memory.erasure.naming import Matcher, person
from clawkit.memory.erasure.texts import Editor


def matcher(name: str, *known: str, also: tuple[str, ...] = ()) -> Matcher:
    return Matcher(person(name, also, known).forms)


@pytest.mark.parametrize(
    "text",
    [
        "Ben Whitaker is ill",
        "ben whitaker is ill",
        "I met Ben.",
        "ben's car",
        "Bens Auto",
        "Mr Whitaker called",
        "ben.whitaker@example.com",
        "chat_with_ben_2026",
        "BEN!",
        "Benさんは元気です",
    ],
)
def test_a_person_is_found_by_the_whole_name_and_its_parts(text: str) -> None:
    assert matcher("Ben Whitaker").mentions(text)


@pytest.mark.parametrize("text", ["Benjamin is ill", "a bench", "Reuben", "bens", "Whitakers"])
def test_a_part_of_a_word_is_no_name(text: str) -> None:
    found = matcher("Ben Whitaker").mentions(text)
    assert found is (text == "Whitakers")


def test_a_name_that_is_a_word_too_has_a_capital_letter() -> None:
    assert not matcher("Will Young").mentions("it will be young again")
    assert matcher("Will Young").mentions("Will came")


def test_names_without_spaces_between_words_are_found_anywhere() -> None:
    assert matcher("田中").mentions("昨日田中さんに会った")


def test_a_first_name_that_somebody_else_has_is_not_looked_for() -> None:
    found = person("Ben Whitaker", (), ("Ben Miller", "Ben", "Sara Whitaker"))
    assert found.parts == ()
    assert found.shared == {"Ben": ("Ben Miller",), "Whitaker": ("Sara Whitaker",)}
    assert "Ben" in person("Ben Whitaker", ("Ben",), ("Ben Miller",)).forms


def test_a_first_name_alone_means_the_only_one_who_has_it() -> None:
    assert person("Ben", (), ("Ben Whitaker", "Anna")).name == "Ben Whitaker"
    with pytest.raises(BeingError, match="several people are called Ben: say whom: Ben Miller"):
        person("Ben", (), ("Ben Whitaker", "Ben Miller"))
    with pytest.raises(BeingError, match="say whose"):
        person(" - ", (), ())


def test_the_name_of_somebody_else_with_the_same_word_in_it_stays() -> None:
    who = person("Ben Whitaker", ("Ben",), ("Ben Miller",))
    editor = Editor(who, ("Ben Whitaker", "Ben Miller"), whole=False)
    assert editor.without("Ben Miller met Ben") == "Ben Miller met [erased person]"


def test_sentences_about_others_lose_the_name_and_sentences_about_nobody_else_go() -> None:
    editor = Editor(person("Ben", (), ()), ("Ben", "Anna"), whole=False)
    text = "I like tea. Ben is ill. He sleeps a lot. Ben met Anna. It rains."
    assert editor.edited(text) == "I like tea. [erased] [erased person] met Anna. It rains."
    assert editor.edited("Ben is ill. He sleeps.") is None
    assert editor.edited("It rains.") == "It rains."
    whole = Editor(person("Ben", (), ()), ("Ben", "Anna"), whole=True)
    assert whole.edited("I like tea. Ben met Anna.") == "I like tea. [erased]"
