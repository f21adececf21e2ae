from __future__ import annotations

import pytest

from clawkit.text.tokenizer import asked, content, telling_words, terms


def common(text: str, query: str) -> set[str]:
    """What a query finds in a text by words that carry something."""
    return {term for term, weight in asked(query).items() if weight > 0.1} & terms(text).keys()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("I went hiking", "go hike"),
        ("She bought two cars", "buying a car"),
        ("We were planning parties", "plan a party"),
        ("CAFÉ Zürich", "cafe zurich"),
        ("on the 7th of May", "7"),
        ("Joined on 2023-05-08", "2023"),
        ("\uff26\uff55\uff4c\uff4c width", "full"),
        ("That's Caroline's idea", "caroline"),
        ("so happy 🎉", "🎉"),
        ("猫を飼っている", "猫の名前"),
        ("リンゴを食べた", "りんご"),
        ("東京都に住む", "東京"),
        ("서울에서 살아요", "서울"),
        ("我喜欢喝咖啡", "咖啡"),
        ("ฉันชอบกาแฟ", "กาแฟ"),
    ],
)
def test_a_word_is_found_in_its_other_forms(text: str, query: str):
    assert common(text, query)


def test_words_that_only_ask_weigh_little():
    weights = asked("What did she do about the garden?")
    assert weights["garden"] == 1.0
    assert all(weight < 0.1 for word, weight in weights.items() if word != "garden")


def test_kanji_weigh_more_than_grammar():
    weights = asked("京都へ行きました")
    assert weights["京都"] == 1.0
    assert weights["まし"] < 0.1


def test_text_without_words_has_no_terms():
    assert not terms("")
    assert not terms(" \x00 … ()  ' ")
    assert not asked("'; -- \x00")


def test_hostile_text_is_only_words():
    assert set(terms('NEAR("a" OR b) * -c')) == {"near", "a", "or", "b", "c"}


def test_a_lone_surrogate_does_not_get_through():
    for term in terms("caf\ud800 x"):
        term.encode()


def test_a_very_long_question_is_cut():
    assert len(asked(" ".join(f"word{number}" for number in range(10_000)))) <= 64


def test_content_leaves_out_what_says_little():
    assert content("Where is the blue bicycle?") == [["blu"], ["bik"]]


def test_content_of_japanese_is_its_kanji_and_katakana():
    assert content("犬のカメラは") == [["犬"], ["かめ", "めら"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Where does my son live?", ["son", "live"]),
        ("Où habite mon fils, et son chien ?", ["habite", "fils", "chien"]),
        ("Wat kost een les bij mij?", ["kost", "les"]),
        ("Do I owe anybody money?", ["owe", "money"]),
        ("¿Qué crema me mandó el dermatólogo?", ["crema", "mandó", "dermatólogo"]),
    ],
)
def test_words_say_little_in_the_languages_of_their_text(text: str, words: list[str]) -> None:
    assert list(telling_words(text)) == words


def test_turkish_words_of_questions_carry_nothing_of_what_is_asked() -> None:
    assert content("Fuar ne zaman?") == [["fuar"]]
    assert content("Benim anahtarlar nerede") == [["anahtarlar"]]
