"""Who is meant by a name, and where it stands in a text."""

from __future__ import annotations

import pytest

from clawkit.errors import BeingError
from clawkit.memory.erasure.redaction import Editor, PersonMatcher, person


def matcher(name: str, *also: str) -> PersonMatcher:
    return PersonMatcher(person(name, also).forms)


@pytest.mark.parametrize(
    "text",
    [
        "Ben Whitaker is ill",
        "ben whitaker is ill",
        "Ben\nWhitaker is ill",
        "Mr. Ben Whitaker called",
        "Ben Whitaker's car",
        "Ben Whitakers Auto",
        "ben.whitaker@example.com",
        "chat_with_ben_whitaker_2026",
        "BEN WHITAKER!",
    ],
)
def test_a_person_is_found_by_the_name_as_it_was_given(text: str) -> None:
    assert matcher("Ben Whitaker").mentions(text)


@pytest.mark.parametrize(
    ("text", "maybe"),
    [
        ("I met Ben.", ["Ben"]),
        ("Mr Whitaker called", ["Mr Whitaker"]),
        ("I met Ben. Whitaker came.", ["Ben", "Whitaker"]),
        ("Ben Miller and Kim Whitaker", ["Ben Miller", "Kim Whitaker"]),
        ("Ben Whitaker-Jones", ["Ben Whitaker-Jones"]),
        ("Benjamin sat on a bench with Reuben in his bens", []),
    ],
)
def test_a_part_of_the_name_only_may_be_the_person(text: str, maybe: list[str]) -> None:
    assert not matcher("Ben Whitaker").mentions(text)
    assert matcher("Ben Whitaker").maybe(text) == maybe


@pytest.mark.parametrize(
    "text",
    ["I met Ben.", "ben's car", "Bens Auto", "Mr. Ben", "BEN!", "Call Ben", "Benさんは元気です"],
)
def test_one_word_is_a_name_where_no_longer_one_has_it(text: str) -> None:
    assert matcher("Ben").mentions(text)
    assert not matcher("Ben").maybe(text)


@pytest.mark.parametrize(
    "text", ["Ben Miller", "Anna-Ben", "Ben-Luca", "Uli Ben", "ben.miller", "Bens"]
)
def test_a_longer_name_may_be_somebody_else(text: str) -> None:
    assert not matcher("Ben").mentions(text)
    assert matcher("Ben").maybe(f"Yesterday: {text}") == [text]


def test_a_name_that_is_a_word_too_has_a_capital_letter() -> None:
    assert not matcher("Will").mentions("it will be young again")
    assert matcher("Will").mentions("Will came")
    assert not matcher("Will Young").maybe("it will be young again")


def test_names_without_spaces_between_words_are_found_anywhere() -> None:
    assert matcher("田中").mentions("昨日田中さんに会った")


@pytest.mark.parametrize("text", ["Frau Albrecht", "frau albrecht", "Frau Dr. Albrecht"])
def test_a_title_that_was_given_belongs_to_the_name(text: str) -> None:
    assert matcher("Frau Albrecht").is_name(text)
    assert not matcher("Herr Albrecht").mentions(text)
    assert matcher("Albrecht").is_name(text)


def test_a_whole_name_needs_no_title() -> None:
    assert matcher("Dr. Kim Nguyen").mentions("Kim Nguyen called")
    assert matcher("Dr. Nguyen").mentions("Dr Nguyen called")


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("Zoë Müller", "zoe mueller", True),
        ("zoe mueller", "Zoe\u0308 Mu\u0308ller", True),
        ("Müller", "Muller", True),
        ("Jørgen", "Joergen", True),
        ("Weiß", "Weiss", True),
        ("Michael", "Michal", False),
        ("O'Brien", "OBrien", True),
        ("Zoe", "Zo", False),
    ],
)
def test_letters_can_be_written_in_several_ways(name: str, text: str, found: bool) -> None:
    assert matcher(name).is_name(text) is found


@pytest.mark.parametrize("name", [" - ", "", "my", "Dr.", "I", "Frau"])
def test_what_is_nobodys_name_is_refused(name: str) -> None:
    with pytest.raises(BeingError, match="say whose"):
        person(name)
    with pytest.raises(BeingError, match="say whose"):
        person("Ben", (name,))


def test_the_name_of_somebody_else_with_the_same_word_in_it_stays() -> None:
    assert matcher("Ben").without("Ben Miller met Ben") == "Ben Miller met [erased person]"


def test_sentences_with_the_name_go_and_those_that_go_on_about_it() -> None:
    editor = Editor(person("Ben"), ("Ben", "Anna"))
    text = "I like tea. Ben is ill. He sleeps a lot. Ben met Anna. Tea helps."
    assert editor.edited(text) == "I like tea. [erased] Tea helps."
    assert editor.edited("Ben is ill. He sleeps.") is None
    assert editor.edited("It rains.") == "It rains."
    assert editor.edited("- one\n- Ben\n- two\n") == "- one\n[erased]\n- two"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "Carl came by. Anna baked a cake. He left his hat.",
            "[erased] Anna baked a cake. [erased]",
        ),
        ("Carl came by. The cake was good. Then he left.", "[erased] The cake was good. [erased]"),
        ("Carl kam. Anna hat gebacken. Er ging früh.", "[erased] Anna hat gebacken. [erased]"),
        ("Carl came by. Anna baked. Tea was hot. Rain fell. He left.", None),
        (
            "Anna baked a cake. She likes it. Carl came by.",
            "Anna baked a cake. She likes it. [erased]",
        ),
        (
            "Carl came by. Anna baked a cake. It was good.",
            "[erased] Anna baked a cake. It was good.",
        ),
    ],
)
def test_a_sentence_about_another_does_not_end_what_goes_on_about_a_person(
    text: str, left: str | None
) -> None:
    found = Editor(person("Carl"), ("Carl", "Anna")).edited(text)
    assert found == (left or text.replace("Carl came by.", "[erased]"))
