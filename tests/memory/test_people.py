# ruff: noqa: RUF001 - letters and marks of Cyrillic, Turkish and Chinese are meant.
"""Who says "I": names given in passing, by a token, or by most of the notes; names in texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.people import ParticipantNames, introduced, is_same, known, speaks_of_self
from clawkit.memory.records import Scene
from clawkit.memory.tokens import Caller
from clawkit.store import open_store


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    store = BeingStore(open_store(f"sqlite:{tmp_path / 'beings.db'}"))
    yield store.open(store.create("life"))
    store.close()


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Hello, I'm Margaret Holloway, 71, and retired.", "Margaret Holloway"),
        ("my name is Jo", "Jo"),
        ("Call me Al.", "Al"),
        ("ich heiße Jonas Reuter", "Jonas Reuter"),
        ("me llamo Inés", "Inés"),
        ("Je m'appelle Chloé Martin.", "Chloé Martin"),
        ("mi chiamo Luca", "Luca"),
        ("ik heet Fenna de Boer", "Fenna de Boer"),
        ("私は田中です。", "田中"),
        ("Merhaba, ben Mehmet Yıldız. Dükkanım var", "Mehmet Yıldız"),
        ("안녕, 나는 김서연이야", "김서연"),
        ("저는 서연이라고 합니다", "서연"),
        ("我是王伟，在华为上班", "王伟"),
        ("Привет! Я Анна Петрова, медсестра", "Анна Петрова"),
        ("Cześć, jestem Kasia Nowak, grafik", "Kasia Nowak"),
        ("Jag heter Elsa Lind", "Elsa Lind"),
        ("나는 학생이야", ""),
        ("我是高中生", ""),
        ("должна я Ивану Петрову двести", ""),
        ("ben İstanbul Üniversitesi'nde okuyorum", ""),
        ("Yesterday, Ben Harper Lee, our boss, left", ""),
        ("I'm Italian.", ""),
        ("ich bin Vegetarier", ""),
        ("I'm tired", ""),
        ("This is Great", ""),
    ],
)
def test_an_introduction_is_known_and_other_words_are_not(said: str, name: str) -> None:
    assert introduced(said) == name


def test_the_name_that_was_given_once_is_the_user(memory: Memory) -> None:
    memory.patrol(
        Caller(), [ConversationMessage("user", "Hi, I'm Margaret Holloway. My cat is called Ned.")]
    )
    memory.patrol(
        Caller(), [ConversationMessage("user", "I am allergic to penicillin, by the way.")]
    )
    for question in ("What is Margaret allergic to?", "What am I allergic to?"):
        told = memory.recall(question, Caller()).text
        assert "Margaret Holloway: " in told
        assert "I am allergic to penicillin" in told


def test_the_one_whom_most_notes_are_about_is_the_user(memory: Memory) -> None:
    notes = [Scene(f"Jonas did thing number {n}", ("Jonas Reuter",)) for n in range(8)]
    memory.take_notes(Caller(), scenes=[*notes, Scene("Tobias keeps bees", ("Tobias",))])
    with memory._database.read(memory.being.n) as unit:
        assert known(unit).own == {"Jonas Reuter"}


def test_in_a_shared_being_each_ones_i_is_their_own(memory: Memory) -> None:
    ben, anna = Caller(person="Ben Whitaker"), Caller(person="Anna Lopes")
    memory.patrol(ben, [ConversationMessage("user", "My dentist appointment is on 3 May at nine.")])
    memory.patrol(
        anna, [ConversationMessage("user", "My dentist appointment is on 9 June at four.")]
    )
    asked = "When is my dentist appointment?"
    for caller, day in ((ben, "3 May"), (anna, "9 June")):
        first = memory.recall(asked, caller).hits[0].node
        assert first.source.speaker == caller.person
        assert day in first.scene.action
    named = memory.recall("When is Ben's dentist appointment?", anna)
    assert named.hits[0].node.source.speaker == "Ben Whitaker"
    with memory._database.read(memory.being.n) as unit:
        assert known(unit).voices == {"Ben Whitaker", "Anna Lopes"}


@pytest.mark.parametrize(
    "text",
    [
        "where is my key",
        "wo wohne ich",
        "où j'habite",
        "我的车在哪",
        "나 어디 살아",
        "где нас ждут",
    ],
)
def test_first_persons_are_known(text: str) -> None:
    assert speaks_of_self(text)
    assert not speaks_of_self("Where does Ben live?")


@pytest.mark.parametrize("text", ["누나가 왔어", "내일 만나", "Ben Whitaker left"])
def test_a_part_of_a_word_is_no_first_person(text: str) -> None:
    assert not speaks_of_self(text)


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
