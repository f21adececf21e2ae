from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawkit.assistant.sessions.message_rows import asked, indexed
from clawkit.models.protocol import Message, Text, ToolOutcome
from tests.assistant.sessions.turns import assistant, keep, opened, say, texts, user


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


async def found(file: Path, said: str, wanted: str) -> bool:
    async with opened(file) as sessions, sessions.turn("k", origin="ask", named=True) as turn:
        await keep(turn, "something else entirely", said)
        return texts(await turn.search(wanted, 1)) == [said]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("My favourite colour is blue.", "What is my favourite COLOUR?"),
        ("the cats are sleeping", "cat sleep"),
        ("Ich wohne in Köln", "koln"),
        ("Straße 7", "strasse"),
        ("cafe\u0301 noir", "café"),
        ("我最喜欢的颜色是蓝色", "颜色"),
        ("我最喜欢的颜色是蓝色", "蓝"),
        ("東京タワーに行きました", "タワー"),
        ("고양이를 좋아해요", "고양이"),
        ("ฉันชอบสีฟ้า", "สีฟ้า"),
        ("मेरा नाम राम है", "राम"),
        ("Я живу в Москве", "москве"),
        ("great job 🎉", "🎉"),
        ("the 🦞 is red", "🦞"),
        ("user_name=claw_kit", "kit"),
        ("v2.3.1 of lib-foo", "foo"),
        ("ﬁne \uff21\uff22\uff23", "fine abc"),
        ('it\'s 100% "sure" (really)', 'NEAR("sure", 5)'),
        ("AND OR NOT", "NOT"),
    ],
)
async def test_words_are_found_in_any_script(file: Path, said: str, wanted: str) -> None:
    assert await found(file, said, wanted)


@pytest.mark.parametrize(
    "wanted",
    [
        "",
        " ",
        '"',
        "'",
        '" OR "2z0zsecret',
        "2z0zsecret",
        "z0zsecret",
        "*",
        "^",
        "NEAR(",
        "a AND",
        "{words} : secret",
        "-",
        "\0",
        "\ud800",
        "\u200b",
        "(" * 1000,
        "x" * 100_000,
        "word " * 50_000,
        "木" * 10_000,
    ],
    ids=lambda text: ascii(text)[:20],
)
async def test_no_text_breaks_or_escapes_the_search(file: Path, wanted: str) -> None:
    async with opened(file) as sessions:
        await say(sessions, "mine", "nothing of interest")
        await say(sessions, "other", "a secret x word 0zsecret 木 木木 words OR AND NEAR")
        async with sessions.turn("mine", origin="ask", named=True) as turn:
            assert set(texts(await turn.search(wanted, 50))) <= {"nothing of interest"}


async def test_what_tools_found_can_be_found_too(file: Path) -> None:
    outcome = ToolOutcome("c", (Text("the train leaves at 17:42"),))
    async with opened(file) as sessions, sessions.turn("k", origin="ask", named=True) as turn:
        await keep(turn, "when?", Message("tool", (outcome,)), assistant("soon"))
        hits = await turn.search("train")
    assert [one.message.role for one in hits] == ["tool"]


async def test_the_best_comes_first_and_no_more_than_wanted(file: Path) -> None:
    async with opened(file) as sessions, sessions.turn("k", origin="ask", named=True) as turn:
        fine = [f"the weather is fine, day {number}" for number in range(30)]
        bad = [f"the weather is bad, day {number}" for number in range(30)]
        await keep(turn, *fine, "my dog is called Rex", *bad)
        hits = await turn.search("what is the name of my dog", 3)
        assert texts(hits)[0] == "my dog is called Rex"
        assert len(hits) == 3
        assert await turn.search("dog", 0) == ()


async def test_words_of_every_message_do_not_hide_what_was_said_long_ago(file: Path) -> None:
    async with opened(file) as sessions, sessions.turn("k", origin="ask", named=True) as turn:
        await keep(turn, "the heron nests by the lake")
        await keep(turn, *(f"it is what it is, and that is the news {n}" for n in range(400)))
        hits = await turn.search("and what is it that the heron is at", 3)
        assert texts(hits)[0] == "the heron nests by the lake"
        newest = [f"it is what it is, and that is the news {n}" for n in (399, 398, 397)]
        assert texts(await turn.search("what is the news", 3)) == newest


async def test_a_name_that_came_up_again_and_again_is_found_where_it_was_first(file: Path) -> None:
    async with opened(file) as sessions, sessions.turn("k", origin="ask", named=True) as turn:
        await keep(turn, "Anna: my sister")
        await keep(turn, *(f"we met Anna on day {n}" for n in range(98)))
        assert "Anna: my sister" in texts(await turn.search("Anna", 100))


async def test_only_what_lies_before_a_message_is_found_if_that_is_wanted(file: Path) -> None:
    async with opened(file) as sessions, sessions.turn("k", origin="ask", named=True) as turn:
        await keep(turn, *(f"apple {number}" for number in range(6)))
        messages = (await turn.history(1000)).messages
        hits = await turn.search("apple", 10, outside=messages[2].id)
        assert sorted(texts(hits)) == ["apple 0", "apple 1"]


async def test_no_session_sees_another_however_many_there_are(file: Path) -> None:
    async with opened(file) as sessions:
        # Keys and numbers that begin alike, and the same words everywhere.
        keys = [f"user-{number}" for number in range(120)] + ["user", "user-1 ", "USER-1"]
        await asyncio.gather(*(say(sessions, key, f"the password of <{key}>") for key in keys))
        for key in keys:
            async with sessions.turn(key, origin="ask", named=True) as turn:
                assert texts(await turn.search("password user", 200)) == [
                    f"the password of <{key}>"
                ]
                assert texts((await turn.history(10**6)).messages) == [f"the password of <{key}>"]


async def test_a_loud_neighbour_does_not_crowd_out_a_quiet_session(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "quiet", "a needle, long ago")
        await say(sessions, "loud", *(f"needle needle {number}" for number in range(2000)))
        async with sessions.turn("quiet", origin="ask", named=True) as turn:
            assert texts(await turn.search("needle")) == ["a needle, long ago"]


async def test_a_very_long_message_is_kept_whole(file: Path) -> None:
    said = "start " + "x" * 1_000_000 + " end"
    async with opened(file) as sessions, sessions.turn("k", origin="ask", named=True) as turn:
        await keep(turn, user(said))
        assert texts(await turn.search("start")) == [said]


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        table = "CREATE VIRTUAL TABLE said USING fts5 (words, tokenize = 'porter ascii')"
        connection.execute(table)
        yield connection


@settings(max_examples=3 * settings().max_examples)
@given(said=st.text(max_size=60), wanted=st.text(max_size=60))
def test_any_text_can_be_asked_for(index: sqlite3.Connection, said: str, wanted: str) -> None:
    """Whoever asks for what was said finds it, whatever it is, and no text is an expression."""
    index.execute("DELETE FROM said")
    index.execute("INSERT INTO said VALUES (?)", (indexed(said),))
    for text in (wanted, said):
        words = asked(text)
        if words:
            match = " OR ".join(f'"{word}"' for word in words)
            hits = index.execute("SELECT 1 FROM said WHERE said MATCH ?", (match,)).fetchall()
            assert hits or text is not said


@given(st.text(max_size=200))
def test_no_word_contains_anything_but_letters_digits_and_signs_beyond_ascii(text: str) -> None:
    for word in (*asked(text), *indexed(text).split(" ")):
        assert all(letter.isalnum() or ord(letter) > 0x7F for letter in word)
