"""Many words at once: all of them are found, whatever they and the text are made of."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.text.keyword_search import KeywordSearch, has_controls
from clawkit.text.non_ascii import change_each, non_ascii

SETS = {
    "one": [b"needle"],
    "one beginning": [b"/etc/", b"/.ssh/", b"/.env/"],
    "short": [b"\\u", b"\\b", b"\\f"],
    "many": [f"word{number}.".encode() for number in range(300)],
    "letters beyond ASCII": ["\u5ffd\u7565".encode(), "caf\u00e9".encode(), b"plain"],
}


@pytest.mark.parametrize("words", SETS.values(), ids=SETS)
def test_every_word_is_found_where_it_is(words: list[bytes]) -> None:
    seed = random.Random(1)
    for length in (0, 3, 100, 5_000):
        filler = bytes(seed.choice(b"abcdef /.\\\n") for _ in range(length))
        text, expected = b"", list[tuple[int, int, int]]()
        for number, word in enumerate(words[:20]):
            text += b"~" + filler + b"~"
            expected.append((number, len(text), len(text) + len(word)))
            text += word
        found = KeywordSearch(words).places(text)
        assert [place for place in found if place in expected] == expected
        assert all(text[start:end] == words[number] for number, start, end in found)


def test_of_two_words_with_one_beginning_the_longer_is_found() -> None:
    assert KeywordSearch([b"you", b"your"]).places(b"you your") == [(0, 0, 3), (1, 4, 8)]


def test_a_text_without_any_has_none() -> None:
    assert KeywordSearch([b"/etc/"]).places(b"etc" * 100_000) == []
    assert KeywordSearch([b"/etc/"]).places(b"") == []


@pytest.mark.parametrize("words", SETS.values(), ids=SETS)
@pytest.mark.parametrize("before", [0, 4090, 4096, 4097, 266_235, 266_240, 600_000])
def test_a_word_is_seen_wherever_a_text_is_cut_into_pieces(words: list[bytes], before: int) -> None:
    search = KeywordSearch(words)
    assert not search.occur_in(b"~" * before)
    assert all(search.occur_in(b"~" * before + word + b"~" * 5000) for word in words[:20])


@pytest.mark.parametrize("code", [*range(32), 127])
@pytest.mark.parametrize("before", [0, 5000])
def test_every_control_is_seen_and_white_space_is_none(code: int, before: int) -> None:
    text = "\t\r\n ~\u2026\u0080".encode() + b"x" * before
    assert has_controls(text + bytes([code])) == (chr(code) not in "\t\r\n")
    assert has_controls(bytes([code]) + text) == (chr(code) not in "\t\r\n")


LETTERS = st.lists(
    st.sampled_from(["a", "\t\n", "\u00e9", "\u2026", "\U0001f600", "\ud800", "\x07"]).flatmap(
        lambda sign: st.sampled_from([sign, "x" * 4094 + sign, "x" * 700 + sign])
    )
).map("".join)


@given(LETTERS)
def test_letters_that_are_not_ordinary_are_found_wherever_they_are(text: str) -> None:
    found = "".join(sign for sign in text if not (sign in "\t\r\n" or " " <= sign <= "~"))
    assert non_ascii(text) == found
    names = {"\u2026": "...", "\ud800": "", "\x07": ""}
    assert change_each(text, lambda sign: names.get(sign, sign)) == text.translate(
        str.maketrans(names)
    )
