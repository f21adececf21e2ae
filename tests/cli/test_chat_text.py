"""An answer on its way to a terminal: harmless, dressed, and the same however it is cut up."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import SupportsIndex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawkit.cli.reply_screen import BOLD, CODE, DIM, PLAIN, Markdown, Stream, harmless
from tests.counting import calls

STYLE = re.compile(r"\x1b\[[0-9]+m")
WORDS = st.lists(
    st.sampled_from(
        ("# ", "**", "*", "`", "```", "\n", " ", "- ", "word", "日本語", "👩\u200d💻", "é", "\t")
    )
    | st.sampled_from(("> ", ">", "1. ", "2) ", "#", "-"))
    | st.sampled_from(
        ("MEDIA: a.png", "M", "\r\n", "\r", "\x1b[2J", "\x9b", "\u202e", "2 ** 3", "x" * 30)
    ),
    max_size=30,
).map("".join)


def streamed(text: str, cuts: list[int]) -> str:
    stream = Stream()
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return "".join(stream.feed(text[a:b]) for a, b in pairwise(places)) + stream.end()


def dressed(text: str, cuts: list[int], width: int = 40) -> str:
    markdown = Markdown(width)
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return "".join(markdown.feed(text[a:b]) for a, b in pairwise(places)) + markdown.end()


@given(WORDS, st.lists(st.integers(0, 1000), max_size=20))
@example("a👩\u200d💻b", [1, 2, 3])
@example("end\r\nnext", [4])
def test_it_does_not_matter_how_an_answer_is_cut_up(text: str, cuts: list[int]) -> None:
    assert streamed(text, cuts) == streamed(text, [])


@given(WORDS, st.lists(st.integers(0, 1000), max_size=20))
@example("**a** and `b`", [1, 2, 3])
def test_nor_does_it_for_its_dress(text: str, cuts: list[int]) -> None:
    shown = harmless(text)
    assert dressed(shown, cuts) == dressed(shown, [])


@given(WORDS)
def test_no_character_of_an_answer_can_command_a_terminal(text: str) -> None:
    for shown in (streamed(text, []), STYLE.sub("", dressed(streamed(text, []), []))):
        assert all(c.isprintable() or c in "\n\t\u200d" for c in shown), shown


@given(WORDS)
def test_the_dress_leaves_every_word_there(text: str) -> None:
    shown = harmless(text)
    letters = re.sub(r"[^\w]", "", STYLE.sub("", dressed(shown, [])))
    assert letters == re.sub(r"[^\w]", "", shown)


def test_a_line_that_names_a_file_to_send_is_left_out() -> None:
    assert streamed("Here:\n  MEDIA: a.png\nDone", [8, 12, 20]) == "Here:\nDone"
    assert streamed("MEDIA: a.png", [3]) == ""
    assert streamed("MEDIAN 5", [5]) == "MEDIAN 5"
    assert streamed("see MEDIA: a.png", []) == "see MEDIA: a.png"


def test_styles() -> None:
    assert dressed("# Title\nwords", []) == f"{PLAIN}{BOLD}Title{PLAIN}\nwords"
    assert dressed("a **b c** d", []) == f"a {PLAIN}{BOLD}b c{PLAIN} d"
    assert dressed("a `b` d", []) == f"a {PLAIN}{CODE}b{PLAIN} d"
    assert dressed("2 ** 3 * 4", []) == "2 ** 3 * 4"
    assert dressed("- one\n* two", []) == "• one\n• two"
    fenced = dressed("```py\nx = `1` # **no**\n```\nafter", [])
    assert fenced == (
        f"{PLAIN}{DIM}```py{PLAIN}\n{PLAIN}{CODE}x = `1` # **no**{PLAIN}\n"
        f"{PLAIN}{DIM}```{PLAIN}\nafter"
    )
    assert dressed("**never closed\nnext", []) == f"{PLAIN}{BOLD}never closed{PLAIN}\nnext"


def test_lines_break_between_words_and_not_in_code() -> None:
    text = "one two three four five six seven eight nine ten"
    lines = dressed(text, []).split("\n")
    assert [line.strip() for line in lines] == [
        "one two three four five six seven eight",
        "nine ten",
    ]
    assert dressed(f"- {text}", []).split("\n")[1] == "  eight nine ten"
    code = f"```\n{text}\n```"
    assert text in dressed(code, [])
    assert "x" * 90 in dressed("x" * 90, [])


def test_what_hangs_together_is_indented_together() -> None:
    text = "one two three four five six seven eight nine ten"
    assert dressed(f"12. {text}", []).split("\n")[1] == "    eight nine ten"
    quoted = dressed(f"> {text}\n>\nafter", []).split("\n")
    assert quoted[0].startswith("│ one")
    assert quoted[1:] == ["│ eight nine ten", "│ ", "after"]
    assert dressed("3.14 > 3", []) == "3.14 > 3"
    exact = dressed(f"- {'x' * 38} next", [])
    assert exact == f"• {'x' * 38}\n  next", "a word may end where the line does"


def test_wide_letters_can_be_bold() -> None:
    assert dressed("**日本** 語", []) == f"{PLAIN}{BOLD}日本{PLAIN} 語"


class Copied(str):
    """A text that counts the characters that are copied out of it."""

    __slots__ = ()
    characters = 0

    def __getitem__(self, key: SupportsIndex | slice) -> Copied:
        part = Copied(super().__getitem__(key))
        Copied.characters += len(part)
        return part

    def __radd__(self, before: str) -> Copied:
        return Copied(str(before) + str(self))


def test_a_large_piece_costs_in_proportion_to_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "some **words** and `code`\n" * 2000

    def cost(size: int) -> int:
        return calls(lambda: dressed(streamed(text[:size], []), []))

    cost(len(text))  # the widths of its letters are remembered
    assert cost(len(text)) < 2.2 * cost(len(text) // 2)
    monkeypatch.setattr(Copied, "characters", 0)
    dressed(Copied(text), [])
    assert len(text) <= Copied.characters < 10 * len(text)
