"""Many words at once: all of them are found, whatever they and the text are made of."""

from __future__ import annotations

import random

import pytest

from clawkit.guard.words import Words

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
        found = Words(words).places(text)
        assert [place for place in found if place in expected] == expected
        assert all(text[start:end] == words[number] for number, start, end in found)


def test_of_two_words_with_one_beginning_the_longer_is_found() -> None:
    assert Words([b"you", b"your"]).places(b"you your") == [(0, 0, 3), (1, 4, 8)]


def test_a_text_without_any_has_none() -> None:
    assert Words([b"/etc/"]).places(b"etc" * 100_000) == []
    assert Words([b"/etc/"]).places(b"") == []
